//! The causes of the last record of one channel, and what has been done with them.
//!
//! Most records carry the header of the record before, or one that differs in a few positions. Equal bytes cost one
//! comparison. The same channels at other positions are not decoded again: only what lies between the first and the
//! last difference is looked at. What was met stays met, what was merged stays merged, so the rest needs no second look
//! either.

use std::ops::Range;

use crate::causes::{self, Cause, CausesError};
use crate::channel::Position;
use crate::sabotage;
use crate::table::ChannelTable;

/// Which of the causes something has still to be done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Open {
    #[default]
    Nothing,
    /// Those that differ from the header before, for which everything is done.
    Changed,
    All,
}

impl Open {
    /// Of the next header, given what is open of this one.
    fn after_change(self) -> Self {
        if self == Self::Nothing { Self::Changed } else { Self::All }
    }
}

/// The causes of a channel's last record.
#[derive(Debug, Default)]
pub(crate) struct LastHeader {
    /// The encoded value; empty stands for no header.
    bytes: Vec<u8>,
    causes: Vec<Cause>,
    /// Where in `bytes` the position of each cause begins.
    places: Vec<usize>,
    /// The slot of each cause in the table, as of `generation`.
    slots: Vec<usize>,
    generation: u64,
    /// Causes on received channels: index of the cause, place of the channel.
    received: Vec<(usize, usize)>,
    /// Indices of the causes that moved with the last change that kept the channels.
    changed: Vec<usize>,
    /// What is not known to be met.
    unmet: Open,
    /// What is not part of the delivered past.
    undelivered: Open,
}

impl LastHeader {
    pub(crate) fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// The encoded value; empty when there was no header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes in the header of the next record, empty for none, and raises the frontier to what it names.
    ///
    /// `place_of` gives the place of a cause's channel among the received ones.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        table: &mut ChannelTable,
        place_of: impl Fn(&Cause) -> Option<usize>,
    ) -> Result<(), CausesError> {
        if self.bytes.len() != bytes.len() {
            return self.replace(bytes, table, place_of);
        }
        let Some(difference) = difference(&self.bytes, bytes) else { return Ok(()) };
        if !self.move_positions(bytes, difference) {
            return self.replace(bytes, table, place_of);
        }
        self.unmet = self.unmet.after_change();
        self.undelivered = self.undelivered.after_change();
        self.refresh_slots(table);
        let learned = if sabotage::is("skip-merge-at-receipt") { &[][..] } else { &self.changed[..] };
        table.raise_frontier(learned.iter().map(|at| (self.slots[*at], self.causes[*at].position)));
        Ok(())
    }

    /// Takes in a header of which nothing is known.
    fn replace(
        &mut self,
        bytes: &[u8],
        table: &mut ChannelTable,
        place_of: impl Fn(&Cause) -> Option<usize>,
    ) -> Result<(), CausesError> {
        self.decode(bytes)?;
        self.received.clear();
        let received = |(at, cause)| place_of(cause).map(|place| (at, place));
        self.received.extend(self.causes.iter().enumerate().filter_map(received));
        self.unmet = if self.received.is_empty() { Open::Nothing } else { Open::All };
        self.undelivered = if self.causes.is_empty() { Open::Nothing } else { Open::All };
        table.find_slots(&self.causes, &mut self.slots);
        self.generation = table.generation();
        if !sabotage::is("skip-merge-at-receipt") {
            table.raise_frontier(self.raises());
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Moves the positions that `bytes` has other than the header before, and lists them. They are equally long and
    /// equal outside of `difference`. False, and nothing is moved, if they differ in more than valid positions.
    fn move_positions(&mut self, bytes: &[u8], difference: Range<usize>) -> bool {
        self.changed.clear();
        let mut compared = difference.start;
        // A position that begins here or before ends before the difference.
        let untouched = difference.start.saturating_sub(POSITION_BYTES);
        for (at, place) in self.places.iter().copied().enumerate() {
            if place <= untouched {
                continue;
            }
            if place >= difference.end {
                break;
            }
            // What lies between two positions names channels. It is mostly one byte, which is not worth a call.
            let same_channels = match place.saturating_sub(compared) {
                0 => true,
                1 => self.bytes[compared] == bytes[compared],
                _ => self.bytes[compared..place] == bytes[compared..place],
            };
            if !same_channels {
                return false;
            }
            compared = place + POSITION_BYTES;
            if self.bytes[place..].first_chunk::<POSITION_BYTES>() != bytes[place..].first_chunk() {
                // A wrong position is left to the decoder to name.
                if read_position(bytes, place).is_none() {
                    return false;
                }
                self.changed.push(at);
            }
        }
        let rest = compared.min(difference.end)..difference.end;
        if self.bytes[rest.clone()] != bytes[rest] {
            return false;
        }
        for at in &self.changed {
            let place = self.places[*at];
            let moved = place..place + POSITION_BYTES;
            self.bytes[moved.clone()].copy_from_slice(&bytes[moved]);
            if let Some(position) = read_position(bytes, place) {
                self.causes[*at].position = position;
            }
        }
        true
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<(), CausesError> {
        self.places.clear();
        self.causes.clear();
        if bytes.is_empty() {
            return Ok(());
        }
        causes::decode_placed(bytes, &mut self.causes, |place| self.places.push(place))
    }

    fn refresh_slots(&mut self, table: &mut ChannelTable) {
        if self.generation != table.generation() {
            table.find_slots(&self.causes, &mut self.slots);
            self.generation = table.generation();
        }
    }

    fn raises(&self) -> impl Iterator<Item = (usize, Position)> + '_ {
        self.slots.iter().copied().zip(self.causes.iter().map(|cause| cause.position))
    }

    /// True if every cause on a received channel is settled; `is_settled` judges one place and position.
    pub(crate) fn is_met(&mut self, is_settled: impl Fn(usize, Position) -> bool) -> bool {
        let open = self.unmet;
        let met = open == Open::Nothing
            || self
                .received
                .iter()
                .filter(|(at, _)| open == Open::All || self.changed.contains(at))
                .all(|(at, place)| is_settled(*place, self.causes[*at].position));
        if met {
            self.unmet = Open::Nothing;
        }
        met
    }

    /// Makes the causes part of the delivered past.
    pub(crate) fn deliver(&mut self, table: &mut ChannelTable) {
        let open = std::mem::take(&mut self.undelivered);
        if open == Open::Nothing || sabotage::is("forget-delivered-past") {
            return;
        }
        self.refresh_slots(table);
        match open {
            Open::Changed => {
                table.raise_past(self.changed.iter().map(|at| (self.slots[*at], self.causes[*at].position)));
            }
            Open::All | Open::Nothing => table.raise_past(self.raises()),
        }
    }
}

const POSITION_BYTES: usize = 8;

/// How much is compared at a time: what the processor compares at once.
const BLOCK_BYTES: usize = 16;

/// A range with every byte in which two equally long encodings differ, to a block; `None` if they are equal.
fn difference(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    let (old_blocks, old_rest) = old.as_chunks::<BLOCK_BYTES>();
    let (new_blocks, new_rest) = new.as_chunks::<BLOCK_BYTES>();
    let blocks = old_blocks.len();
    let differs = |at: &usize| old_blocks[*at] != new_blocks[*at];
    let first = (0..blocks).find(differs);
    if old_rest != new_rest {
        return Some(first.unwrap_or(blocks) * BLOCK_BYTES..old.len());
    }
    let first = first?;
    let last = (first..blocks).rfind(differs)?;
    Some(first * BLOCK_BYTES..(last + 1) * BLOCK_BYTES)
}

fn read_position(bytes: &[u8], place: usize) -> Option<Position> {
    let number = bytes.get(place..place + POSITION_BYTES)?.try_into().ok()?;
    Position::new(i64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(topic: u8, position: i64) -> Cause {
        Cause {
            channel: format!("{topic:032x}:0").parse().unwrap(),
            position: Position::new(position).unwrap(),
        }
    }

    /// A header that was read and delivered, with the first channel received.
    fn delivered(causes: &[Cause]) -> (LastHeader, ChannelTable) {
        let mut header = LastHeader::default();
        let mut table = ChannelTable::new(&[], &[]);
        read(&mut header, &mut table, causes).unwrap();
        assert!(header.is_met(|_, _| true));
        header.deliver(&mut table);
        (header, table)
    }

    fn read(header: &mut LastHeader, table: &mut ChannelTable, causes: &[Cause]) -> Result<(), CausesError> {
        let bytes = causes::encode(causes);
        header.read(&bytes, table, |cause| (cause.channel == self::cause(1, 0).channel).then_some(0))
    }

    #[test]
    fn only_a_moved_cause_is_judged_again() {
        let (mut header, mut table) = delivered(&[cause(1, 5), cause(2, 5)]);
        read(&mut header, &mut table, &[cause(1, 5), cause(2, 9)]).unwrap();
        assert!(header.is_met(|_, _| false), "the received channel's cause did not move");
        read(&mut header, &mut table, &[cause(1, 6), cause(2, 9)]).unwrap();
        assert!(!header.is_met(|_, position| position < Position::new(6).unwrap()));
        assert!(header.is_met(|_, position| position <= Position::new(6).unwrap()));
    }

    #[test]
    fn a_cause_that_was_not_met_stays_open_when_another_moves() {
        let (mut header, mut table) = delivered(&[cause(1, 5), cause(2, 5)]);
        read(&mut header, &mut table, &[cause(1, 6), cause(2, 5)]).unwrap();
        assert!(!header.is_met(|_, _| false));
        read(&mut header, &mut table, &[cause(1, 6), cause(2, 6)]).unwrap();
        assert!(!header.is_met(|_, _| false));
    }

    #[test]
    fn a_cause_that_was_not_delivered_is_delivered_with_the_next() {
        let (mut header, mut table) = delivered(&[cause(1, 5), cause(2, 5)]);
        read(&mut header, &mut table, &[cause(1, 6), cause(2, 5)]).unwrap();
        read(&mut header, &mut table, &[cause(1, 6), cause(2, 6)]).unwrap();
        header.deliver(&mut table);
        assert_eq!(table.past(cause(1, 0).channel), Position::new(6));
        assert_eq!(table.past(cause(2, 0).channel), Position::new(6));
    }

    #[test]
    fn slots_are_found_again_when_the_table_has_grown() {
        let (mut header, mut table) = delivered(&[cause(2, 5), cause(3, 5)]);
        let mut other = LastHeader::default();
        read(&mut other, &mut table, &[cause(1, 1)]).unwrap();
        read(&mut header, &mut table, &[cause(2, 6), cause(3, 5)]).unwrap();
        header.deliver(&mut table);
        assert_eq!(table.stamp(), causes::encode(&[cause(1, 1), cause(2, 6), cause(3, 5)]));
        assert_eq!(table.past(cause(2, 0).channel), Position::new(6));
    }

    /// Headers of up to 40 channels, so that differences begin and end in any byte of a block.
    #[test]
    fn a_header_read_after_another_says_what_one_read_from_nothing_says() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let (mut kept, mut table) = (LastHeader::default(), ChannelTable::new(&[], &[]));
            let mut slow_table = ChannelTable::new(&[], &[]);
            let mut settled = 0;
            let mut bytes = Vec::new();
            for _ in 0..50 {
                bytes = random.next_header(bytes);
                let mut slow = LastHeader::default();
                let received = |cause: &Cause| (cause.channel.partition.get() == 60).then_some(0);
                let outcome = slow.read(&bytes, &mut slow_table, received);
                assert_eq!(kept.read(&bytes, &mut table, received), outcome, "seed {seed}: {bytes:x?}");
                if outcome.is_err() {
                    break;
                }
                assert_eq!((kept.causes(), kept.bytes()), (slow.causes(), slow.bytes()), "seed {seed}");
                assert_eq!(table.stamp(), slow_table.stamp(), "seed {seed}: {bytes:x?}");
                settled += random.below(1 << 18);
                let is_settled = |_, position: Position| usize::try_from(position.get()).unwrap() <= settled;
                let met = slow.is_met(is_settled);
                assert_eq!(kept.is_met(is_settled), met, "seed {seed}: {bytes:x?}");
                if met {
                    kept.deliver(&mut table);
                    slow.deliver(&mut slow_table);
                    assert!(
                        kept.causes()
                            .iter()
                            .all(|cause| table.past(cause.channel) == slow_table.past(cause.channel)),
                        "seed {seed}: {bytes:x?}"
                    );
                }
            }
        }
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % bound
        }

        /// A header that follows `last`: the same one, or with positions moved, or a byte broken, or any other.
        fn next_header(&mut self, last: Vec<u8>) -> Vec<u8> {
            let mut causes = causes::decode(&last).unwrap_or_default();
            let moves = self.below(4);
            match self.below(20) {
                0 => return last,
                1 if !last.is_empty() => {
                    let mut broken = last;
                    let at = self.below(broken.len());
                    broken[at] ^= 1 << self.below(8);
                    return broken;
                }
                2 => {
                    causes.clear();
                    for topic in 1..=8 {
                        for partition in 0..5 {
                            let channel = format!("{topic:032x}:{}", partition * 60).parse().unwrap();
                            let position = Position::new(i64::try_from(self.below(1_000)).unwrap()).unwrap();
                            if self.below(2) == 0 {
                                causes.push(Cause { channel, position });
                            }
                        }
                    }
                }
                _ if causes.is_empty() => {}
                _ => {
                    for _ in 0..=moves {
                        let at = self.below(causes.len());
                        causes[at].position =
                            Position::new(i64::try_from(self.below(1 << 20)).unwrap()).unwrap();
                    }
                }
            }
            causes::encode(&causes)
        }
    }

    #[test]
    fn a_wrong_position_in_a_known_header_is_refused() {
        let (mut header, mut table) = delivered(&[cause(1, 5), cause(2, 5)]);
        let mut bytes = causes::encode(&[cause(1, 5), cause(2, 5)]);
        let last = bytes.len() - 8;
        bytes[last] = 0x80;
        assert_eq!(header.read(&bytes, &mut table, |_| None), Err(CausesError::Position));
    }

    #[test]
    fn an_equally_long_header_of_other_channels_is_decoded() {
        let (mut header, mut table) = delivered(&[cause(1, 5), cause(2, 5)]);
        read(&mut header, &mut table, &[cause(1, 5), cause(3, 7)]).unwrap();
        assert_eq!(header.causes(), [cause(1, 5), cause(3, 7)]);
        assert_eq!(table.stamp(), causes::encode(&[cause(1, 5), cause(2, 5), cause(3, 7)]));
    }
}
