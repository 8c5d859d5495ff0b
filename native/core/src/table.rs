//! What a process knows of every channel: its frontier and its delivered past, and the frontier's encoding.
//!
//! One sorted table holds both, so the causes of a record are looked up once: a slot is an entry's place, good until the
//! table's generation changes. The encoding of the frontier is kept
//! whole and patched in place, because positions have a fixed width: a stamp is a copy of it, and its width is known.

use bytes::Bytes;

use crate::causes::{Cause, Encoder};
use crate::channel::{ChannelId, Position};
use crate::keys::{frontier_key, past_key};
use crate::sabotage;

#[derive(Clone, Debug)]
struct Entry {
    channel: ChannelId,
    frontier: Option<Position>,
    past: Option<Position>,
    /// Where the frontier's position begins in the encoding; means nothing while `frontier` is `None`.
    encoded_at: usize,
    frontier_changed: bool,
    past_changed: bool,
}

impl Entry {
    fn new(channel: ChannelId) -> Self {
        Self {
            channel,
            frontier: None,
            past: None,
            encoded_at: 0,
            frontier_changed: false,
            past_changed: false,
        }
    }
}

/// The slot of one channel, kept between uses.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    known: Option<(usize, u64)>,
}

impl Slot {
    /// Looks `channel` up, the same one at each call, only if the table has changed its slots.
    pub(crate) fn find(&mut self, channel: ChannelId, table: &mut ChannelTable) -> usize {
        match self.known {
            Some((slot, generation)) if generation == table.generation => slot,
            _ => {
                let slot = table.slot(channel);
                self.known = Some((slot, table.generation));
                slot
            }
        }
    }
}

/// Frontier and delivered past per channel.
#[derive(Debug)]
pub(crate) struct ChannelTable {
    /// Ascending by channel.
    entries: Vec<Entry>,
    encoder: Encoder,
    /// Rows of channels that were dropped and have to be deleted from the store.
    dropped_keys: Vec<Bytes>,
    changed: bool,
    generation: u64,
}

impl ChannelTable {
    /// A table over what was restored, in any order.
    pub(crate) fn new(frontier: &[Cause], past: &[Cause]) -> Self {
        let mut table = Self {
            entries: Vec::new(),
            encoder: Encoder::default(),
            dropped_keys: Vec::new(),
            changed: false,
            generation: 0,
        };
        let mut channels: Vec<ChannelId> = frontier.iter().chain(past).map(|cause| cause.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        table.entries = channels.into_iter().map(Entry::new).collect();
        for cause in frontier {
            let at = table.find(cause.channel).expect("every restored channel has an entry");
            table.entries[at].frontier = Some(cause.position);
        }
        for cause in past {
            let at = table.find(cause.channel).expect("every restored channel has an entry");
            table.entries[at].past = Some(cause.position);
        }
        table.encode();
        table
    }

    /// The encoded frontier: what a send is stamped with.
    pub(crate) fn stamp(&self) -> &[u8] {
        self.encoder.bytes()
    }

    pub(crate) fn past(&self, channel: ChannelId) -> Option<Position> {
        self.find(channel).and_then(|at| self.entries[at].past)
    }

    pub(crate) fn channels(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.entries.iter().map(|entry| entry.channel)
    }

    /// Changes whenever a slot may mean another channel than before.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Gives the slot of each channel of `causes`, which ascend; new channels get one.
    pub(crate) fn find_slots(&mut self, causes: &[Cause], slots: &mut Vec<usize>) {
        slots.clear();
        let mut from = 0;
        for cause in causes {
            let Some(slot) = self.find_from(from, cause.channel) else {
                self.admit(causes);
                return self.find_slots(causes, slots);
            };
            slots.push(slot);
            from = slot + 1;
        }
    }

    fn slot(&mut self, channel: ChannelId) -> usize {
        match self.entries.binary_search_by_key(&channel, |entry| entry.channel) {
            Ok(slot) => slot,
            Err(slot) => {
                self.entries.insert(slot, Entry::new(channel));
                self.generation += 1;
                slot
            }
        }
    }

    /// Raises the frontier at each slot; never lowers it.
    pub(crate) fn raise_frontier(&mut self, raises: impl Iterator<Item = (usize, Position)>) {
        let mut grown = false;
        for (slot, position) in raises {
            let entry = &mut self.entries[slot];
            match entry.frontier {
                Some(known) if known >= position => continue,
                Some(_) => self.encoder.patch(entry.encoded_at, position),
                None => grown = true,
            }
            entry.frontier = Some(position);
            entry.frontier_changed = true;
            self.changed = true;
        }
        if grown {
            self.encode();
        }
    }

    /// Raises the delivered past at each slot; never lowers it.
    pub(crate) fn raise_past(&mut self, raises: impl Iterator<Item = (usize, Position)>) {
        for (slot, position) in raises {
            let entry = &mut self.entries[slot];
            if entry.past < Some(position) {
                entry.past = Some(position);
                entry.past_changed = true;
                self.changed = true;
            }
        }
    }

    /// Forgets what is known of a channel that no longer exists; its rows are deleted by the next flush.
    pub(crate) fn drop_channel(&mut self, channel: ChannelId) {
        let Some(at) = self.find(channel) else { return };
        if sabotage::is("keep-dead-frontier") {
            return;
        }
        let entry = self.entries.remove(at);
        self.generation += 1;
        if entry.frontier.is_some() {
            self.dropped_keys.push(Bytes::copy_from_slice(&frontier_key(channel)));
        }
        if entry.past.is_some() {
            self.dropped_keys.push(Bytes::copy_from_slice(&past_key(channel)));
        }
        self.encode();
    }

    /// Hands every changed row to `sink`, deletions first, and counts them as written.
    pub(crate) fn flush(&mut self, sink: &mut dyn FnMut(Bytes, Option<Bytes>)) {
        for key in self.dropped_keys.drain(..) {
            sink(key, None);
        }
        if !std::mem::take(&mut self.changed) {
            return;
        }
        for entry in &mut self.entries {
            if std::mem::take(&mut entry.frontier_changed) {
                sink(
                    Bytes::copy_from_slice(&frontier_key(entry.channel)),
                    entry.frontier.map(position_value),
                );
            }
            if std::mem::take(&mut entry.past_changed) {
                sink(Bytes::copy_from_slice(&past_key(entry.channel)), entry.past.map(position_value));
            }
        }
    }

    fn find(&self, channel: ChannelId) -> Option<usize> {
        self.entries.binary_search_by_key(&channel, |entry| entry.channel).ok()
    }

    /// Looks at `from` and after. Causes mostly name neighbours, so the search widens from there.
    fn find_from(&self, from: usize, channel: ChannelId) -> Option<usize> {
        let rest = &self.entries[from..];
        let mut width = 1;
        while width < rest.len() && rest[width - 1].channel < channel {
            width *= 2;
        }
        let low = width / 2;
        let window = &rest[low..width.min(rest.len())];
        window.binary_search_by_key(&channel, |entry| entry.channel).ok().map(|at| from + low + at)
    }

    /// Gives every channel of `causes`, which ascend, an entry. All new ones go in with one merge.
    fn admit(&mut self, causes: &[Cause]) {
        self.generation += 1;
        let old = std::mem::take(&mut self.entries);
        self.entries.reserve(old.len() + causes.len());
        let mut new = causes.iter().map(|cause| cause.channel).peekable();
        for entry in old {
            while let Some(channel) = new.next_if(|channel| *channel < entry.channel) {
                self.entries.push(Entry::new(channel));
            }
            new.next_if_eq(&entry.channel);
            self.entries.push(entry);
        }
        self.entries.extend(new.map(Entry::new));
    }

    fn encode(&mut self) {
        let mut places = Vec::with_capacity(self.entries.len());
        let causes = self
            .entries
            .iter()
            .filter_map(|entry| entry.frontier.map(|position| Cause { channel: entry.channel, position }));
        self.encoder.encode(causes, |place| places.push(place));
        let known = self.entries.iter_mut().filter(|entry| entry.frontier.is_some());
        for (entry, place) in known.zip(places) {
            entry.encoded_at = place;
        }
    }
}

/// The value of a row that holds a position.
fn position_value(position: Position) -> Bytes {
    Bytes::copy_from_slice(&position.get().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::encode;

    fn cause(topic: u8, partition: u32, position: i64) -> Cause {
        let channel = format!("{topic:032x}:{partition}").parse().unwrap();
        Cause { channel, position: Position::new(position).unwrap() }
    }

    fn raise_frontier(table: &mut ChannelTable, causes: &[Cause]) {
        let mut slots = Vec::new();
        table.find_slots(causes, &mut slots);
        table.raise_frontier(slots.into_iter().zip(causes.iter().map(|cause| cause.position)));
    }

    fn raise_past(table: &mut ChannelTable, causes: &[Cause]) {
        let mut slots = Vec::new();
        table.find_slots(causes, &mut slots);
        table.raise_past(slots.into_iter().zip(causes.iter().map(|cause| cause.position)));
    }

    fn flushed(table: &mut ChannelTable) -> Vec<(Bytes, Option<Bytes>)> {
        let mut rows = Vec::new();
        table.flush(&mut |key, value| rows.push((key, value)));
        rows
    }

    #[test]
    fn patched_stamp_equals_an_encoding_from_nothing() {
        // The slow way: a plain list, encoded whole after every step.
        let mut table = ChannelTable::new(&[], &[]);
        let mut model: Vec<Cause> = Vec::new();
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            let mut causes = Vec::new();
            for topic in 1..=9 {
                for partition in 0..4 {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    if seed >> 61 == 0 {
                        causes.push(cause(topic, partition, i64::try_from(seed >> 48).unwrap()));
                    }
                }
            }
            raise_frontier(&mut table, &causes);
            for cause in causes {
                match model.binary_search_by_key(&cause.channel, |known| known.channel) {
                    Ok(at) => model[at].position = model[at].position.max(cause.position),
                    Err(at) => model.insert(at, cause),
                }
            }
            assert_eq!(table.stamp(), encode(&model));
        }
    }

    #[test]
    fn only_changes_are_flushed_and_only_once() {
        let mut table = ChannelTable::new(&[cause(1, 0, 5), cause(2, 0, 9)], &[cause(2, 0, 3)]);
        assert_eq!(flushed(&mut table), []);
        raise_frontier(&mut table, &[cause(1, 0, 5), cause(2, 0, 10)]);
        raise_past(&mut table, &[cause(1, 0, 4), cause(2, 0, 2)]);
        let value = |position: i64| Some(Bytes::copy_from_slice(&position.to_be_bytes()));
        let key = |key: [u8; 21]| Bytes::copy_from_slice(&key);
        assert_eq!(
            flushed(&mut table),
            [
                (key(past_key(cause(1, 0, 0).channel)), value(4)),
                (key(frontier_key(cause(2, 0, 0).channel)), value(10)),
            ]
        );
        assert_eq!(flushed(&mut table), []);
    }

    #[test]
    fn a_dropped_channel_leaves_the_stamp_and_the_store() {
        let mut table =
            ChannelTable::new(&[cause(1, 0, 5), cause(2, 0, 9)], &[cause(2, 0, 3), cause(3, 0, 1)]);
        table.drop_channel(cause(2, 0, 0).channel);
        table.drop_channel(cause(4, 0, 0).channel);
        assert_eq!(table.stamp(), encode(&[cause(1, 0, 5)]));
        let rows = flushed(&mut table);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|(_, value)| value.is_none()));
    }
}
