//! The causal hold-back engine of one task: what has been fed, what is held, what may be delivered.
//!
//! One record goes `receive` -> (`next` ...) -> `hold` if it was not delivered. The engine decides and remembers; the
//! caller keeps the record's content until it is delivered or held, and writes what `flush` hands out in the same
//! transaction as the read positions and the sends. Nothing is taken back: after a refusal the engine is dead, and
//! everything since the last commit goes with the aborted transaction.

use bytes::Bytes;

use crate::causes::{self, Cause};
use crate::channel::{ChannelId, Position, TopicId};
use crate::header::LastHeader;
use crate::held::{self, HeldError, VERSION_1, VERSION_2};
use crate::holds::Head;
use crate::keys::{VERSION_KEY, fed_up_to_key, hold_key, name_key};
pub use crate::received::Received;
use crate::received::{Channel, DELETED, bind, covered, refuse_removed, restored_channel};
use crate::refusal::{Fault, Reason, Refusal};
use crate::restore::restore;
use crate::rows::Rows;
use crate::sabotage;
use crate::table::ChannelTable;

/// Most bytes of causes that a record may carry, unless configured otherwise.
pub const BUDGET_BYTES_DEFAULT: usize = 262_144;

/// The `parsley.causes` headers of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CausesHeader<'a> {
    /// There is none: no causes.
    Absent,
    /// One, with its value or null.
    Once(Option<&'a [u8]>),
    /// Two or more, whatever they hold.
    Repeated,
}

/// What became of a record that was fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// A replay of what was fed before: drop it.
    Duplicate,
    /// Deliver it now; it is marked delivered.
    Delivered,
    /// Ask [`Engine::next`] until it answers [`Next::None`]; if it was not [`Next::Current`], [`Engine::hold`] it.
    Pending,
}

/// What to deliver next. It is marked delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until another record is fed.
    None,
    /// The record that was fed last, which the caller still has.
    Current,
    /// A held record.
    Held(Released),
}

/// A held record to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Index of its channel in the list given to [`Engine::open`].
    pub channel: usize,
    /// Its position there.
    pub position: Position,
    /// Its record part, see [`crate::held`].
    pub record: Bytes,
}

/// A head that waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The head's channel.
    pub channel: ChannelId,
    /// The head's position.
    pub position: Position,
    /// Its unmet causes in channel order: cause, and what its channel has settled, if that is known.
    pub causes: Vec<(Cause, Option<i64>)>,
}

/// A record taken in whose content the caller still has.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Place in `channels`.
    place: usize,
    position: Position,
}

/// Causal ordering of one task, from its initialisation to its close.
#[derive(Debug)]
pub struct Engine {
    /// In channel order; `ids` and `headers` have the same places.
    channels: Vec<Channel>,
    ids: Vec<ChannelId>,
    headers: Vec<LastHeader>,
    /// Place in `channels` of each index given to `open`.
    places: Vec<usize>,
    table: ChannelTable,
    budget_bytes: usize,
    pending: Option<Pending>,
    held_count: usize,
    /// Nothing is deliverable until something is fed.
    quiet: bool,
    version_changed: bool,
    new_names: Vec<(String, ChannelId)>,
    /// Kept for its memory only.
    slots: Vec<usize>,
    refused: Option<Refusal>,
}

impl Engine {
    /// Reads and judges the store, binds the received channels, and covers what was read or delivered before.
    ///
    /// # Panics
    /// If a channel is given twice.
    pub fn open(received: &[Received], budget_bytes: usize, rows: &dyn Rows) -> Result<Self, Fault> {
        let mut restored = restore(rows)?;
        let mut order: Vec<usize> = (0..received.len()).collect();
        order.sort_by_key(|index| received[*index].channel);
        let new_names = bind(&order, received, &restored)?;
        if !sabotage::is("ignore-removed-channel") {
            refuse_removed(received, &restored)?;
        }
        let table = ChannelTable::new(&restored.frontier, &restored.past);
        let mut channels = Vec::with_capacity(order.len());
        let mut places = vec![0; order.len()];
        for (place, index) in order.into_iter().enumerate() {
            places[index] = place;
            channels.push(restored_channel(&received[index], index, &mut restored, &table));
        }
        assert!(
            channels.windows(2).all(|pair| pair[0].id < pair[1].id),
            "a channel is received under one name"
        );
        let mut engine = Self {
            held_count: channels.iter().map(|channel| channel.holds.len()).sum(),
            ids: channels.iter().map(|channel| channel.id).collect(),
            headers: channels.iter().map(|_| LastHeader::default()).collect(),
            channels,
            places,
            table,
            budget_bytes,
            pending: None,
            quiet: false,
            version_changed: restored.version != Some(VERSION_2),
            new_names,
            slots: Vec::new(),
            refused: None,
        };
        if restored.version == Some(VERSION_1) {
            engine.upgrade(rows)?;
        }
        for place in 0..engine.channels.len() {
            engine.load_head(place, rows)?;
        }
        Ok(engine)
    }

    /// Rewrites every held message in the current format; the rows go with the first flush, in one batch.
    fn upgrade(&mut self, rows: &dyn Rows) -> Result<(), Fault> {
        let mut causes = Vec::new();
        let mut rewritten = Vec::new();
        for (place, channel) in self.channels.iter().enumerate() {
            for position in channel.holds.positions() {
                let key = hold_key(channel.id, position);
                let row = stored_row(channel.id, position, rows)?;
                let parts = held::decode_into(&key, &row, &mut causes)
                    .map_err(|error| damaged(channel.id, position, error))?;
                let row = held::encode(&key, &causes::encode(&causes), &row[parts.record]);
                rewritten.push((place, position, row));
            }
        }
        if sabotage::is("forget-row-in-upgrade") {
            rewritten.pop();
        }
        for (place, position, row) in rewritten {
            self.channels[place].holds.put_row(position, row);
        }
        Ok(())
    }

    /// The topics that the frontier, the delivered past or the received set speak of, each once.
    pub fn known_topics(&self) -> Vec<TopicId> {
        let mut topics: Vec<TopicId> = self.known_channels().map(|channel| channel.topic).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    fn known_channels(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.table.channels().chain(self.channels.iter().map(|channel| channel.id))
    }

    /// [`Self::identities`] for every known channel of topics that are confirmed deleted.
    pub fn topics_gone(&mut self, topics: &[TopicId]) -> Result<(), Refusal> {
        let dead: Vec<ChannelId> =
            self.known_channels().filter(|channel| topics.contains(&channel.topic)).collect();
        self.identities(&dead, &[])
    }

    /// Takes note of channels whose topic is confirmed deleted, or now has another identity under the same name.
    ///
    /// # Panics
    /// If a record was fed already: identities are judged at task initialisation only.
    pub fn identities(&mut self, dead: &[ChannelId], recreated: &[ChannelId]) -> Result<(), Refusal> {
        assert!(
            self.channels.iter().all(|channel| channel.fed_now.is_none()),
            "identities come before the first feed"
        );
        self.alive()?;
        let judged = self.judge_identities(dead, recreated);
        self.remember(judged)
    }

    fn judge_identities(&mut self, dead: &[ChannelId], recreated: &[ChannelId]) -> Result<(), Refusal> {
        if let Some(channel) = self.channels.iter().find(|channel| recreated.contains(&channel.id))
            && !sabotage::is("ignore-recreated-topic")
        {
            let detail = "the received topic was deleted and created again under its name";
            return Err(Refusal::new(Reason::ChannelIdentityChanged, detail).at(channel.id));
        }
        for channel in self.channels.iter_mut().filter(|channel| dead.contains(&channel.id)) {
            if let Some(head) = channel.holds.front()
                && !sabotage::is("deliver-past-dead-channel")
            {
                let detail =
                    format!("the topic was deleted while {} of its messages are held", channel.holds.len());
                let refusal = Refusal::new(Reason::ChannelDeletedWithUndeliveredMessages, detail);
                return Err(refusal.at(channel.id).position(head));
            }
            channel.raise_fed_up_to(DELETED);
        }
        for channel in dead.iter().chain(recreated) {
            self.table.drop_channel(*channel);
        }
        self.quiet = false;
        Ok(())
    }

    /// Takes in the record at `position` of the channel with this index in the list given to [`Self::open`].
    ///
    /// # Panics
    /// If the content of the last pending record was neither delivered nor given to [`Self::hold`], or if there is no
    /// such channel.
    pub fn receive(
        &mut self,
        channel: usize,
        position: Position,
        header: CausesHeader<'_>,
    ) -> Result<Receipt, Refusal> {
        assert!(self.pending.is_none(), "the record before was neither delivered nor held");
        self.alive()?;
        let place = self.places[channel];
        let judged = self.judge(place, position, header);
        self.remember(judged)
    }

    fn judge(
        &mut self,
        place: usize,
        position: Position,
        header: CausesHeader<'_>,
    ) -> Result<Receipt, Refusal> {
        let bytes = self.header_bytes(place, position, header)?;
        // What is stamped includes causes learned from replays and from records still held. A feed that is refused below
        // leaves no trace, whatever was learned.
        self.learn(place, position, bytes)?;
        let channel = &mut self.channels[place];
        if let Some(last) = channel.fed_now.filter(|last| position <= *last) {
            let detail = format!("fed after position {last} of the same execution");
            let refusal = Refusal::new(Reason::OutOfOrderFeed, detail);
            return Err(refusal.at(channel.id).position(position).bound(last.get()));
        }
        channel.fed_now = Some(position);
        within_budget(&self.table, self.budget_bytes, channel.id, position)?;
        if channel.fed_up_to >= Some(position.get()) && !sabotage::is("redeliver-covered-replay") {
            return covered(channel, position);
        }
        channel.raise_fed_up_to(position.get());
        let is_alone = self.held_count == 0 || sabotage::is("deliver-behind-the-head");
        if is_alone && self.header_is_met(place, position) {
            self.deliver_at_once(place, position)?;
            return Ok(Receipt::Delivered);
        }
        self.channels[place].holds.push(position);
        self.held_count += 1;
        self.quiet = false;
        if self.channels[place].holds.len() == 1 {
            // The record is its channel's head: only a lower channel's head may go first.
            if self.first_deliverable(..place).is_none() && self.header_is_met(place, position) {
                let popped = self.channels[place].holds.pop();
                assert!(popped.is_none(), "a record delivered at once has no head");
                self.held_count -= 1;
                self.deliver_at_once(place, position)?;
                return Ok(Receipt::Delivered);
            }
            let causes = self.headers[place].causes().to_vec();
            self.channels[place].holds.head = Some(self.head(position, causes, None));
        }
        self.quiet = self.first_deliverable(..).is_none();
        self.pending = Some(Pending { place, position });
        Ok(Receipt::Pending)
    }

    /// The encoded causes, empty for none. Judges what can be judged without decoding.
    fn header_bytes<'a>(
        &self,
        place: usize,
        position: Position,
        header: CausesHeader<'a>,
    ) -> Result<&'a [u8], Refusal> {
        let refuse = |reason, detail: String| {
            Err(Refusal::new(reason, detail).at(self.channels[place].id).position(position))
        };
        match header {
            CausesHeader::Absent => Ok(&[]),
            CausesHeader::Repeated if sabotage::is("repeated-causes-as-none") => Ok(&[]),
            CausesHeader::Once(value)
                if sabotage::is("undecodable-as-none")
                    && value.is_none_or(|value| causes::decode(value).is_err()) =>
            {
                Ok(&[])
            }
            CausesHeader::Repeated => {
                refuse(Reason::UndecodableMetadata, "the parsley.causes header is repeated".to_owned())
            }
            CausesHeader::Once(None) => {
                refuse(Reason::UndecodableMetadata, "the parsley.causes header is null".to_owned())
            }
            CausesHeader::Once(Some([])) => {
                refuse(Reason::UndecodableMetadata, "the parsley.causes header is empty".to_owned())
            }
            CausesHeader::Once(Some(bytes)) if bytes.len() > self.budget_bytes => {
                let detail =
                    format!("the causes take {} bytes, the budget is {}", bytes.len(), self.budget_bytes);
                Err(over_budget(detail, self.budget_bytes).at(self.channels[place].id).position(position))
            }
            CausesHeader::Once(Some(bytes)) => Ok(bytes),
        }
    }

    /// Raises the frontier to the causes of a record.
    fn learn(&mut self, place: usize, position: Position, bytes: &[u8]) -> Result<(), Refusal> {
        let place_of = |cause: &Cause| self.ids.binary_search(&cause.channel).ok();
        self.headers[place].read(bytes, &mut self.table, place_of).map_err(|error| {
            let refusal = Refusal::new(Reason::UndecodableMetadata, error.to_string());
            refusal.at(self.ids[place]).position(position)
        })
    }

    /// Judges the causes of the record that was just taken in at `position`, which is its channel's head.
    fn header_is_met(&mut self, place: usize, position: Position) -> bool {
        if sabotage::is("ignore-causes") {
            return true;
        }
        let channels = &self.channels;
        self.headers[place].is_met(|at, required| {
            // Its own channel is settled up to the record, whether or not it is in the buffer yet.
            let settled = if at == place { Some(position.get() - 1) } else { channels[at].settled() };
            settled >= Some(required.get())
        })
    }

    /// The fast path: no head is built, nothing is stored and nothing but the causes is looked at.
    fn deliver_at_once(&mut self, place: usize, position: Position) -> Result<(), Refusal> {
        let channel = &mut self.channels[place];
        let own = channel.slot.find(channel.id, &mut self.table);
        self.table.raise_frontier(std::iter::once((own, position)));
        self.headers[place].deliver(&mut self.table);
        within_budget(&self.table, self.budget_bytes, channel.id, position)
    }

    /// False when [`Self::next`] would certainly answer [`Next::None`].
    pub fn may_release(&self) -> bool {
        self.held_count > 0 && !self.quiet
    }

    /// The lowest channel whose head is deliverable, marked delivered. Ask again until there is none.
    pub fn next(&mut self, rows: &dyn Rows) -> Result<Next, Fault> {
        self.alive()?;
        let released = self.release(rows);
        if let Err(Fault::Refused(refusal)) = &released {
            self.refused = Some(refusal.clone());
        }
        released
    }

    fn release(&mut self, rows: &dyn Rows) -> Result<Next, Fault> {
        let Some(place) = self.first_deliverable(..) else {
            self.quiet = true;
            return Ok(Next::None);
        };
        let channel = &mut self.channels[place];
        let head = channel.holds.pop().expect("a deliverable channel has a head");
        self.held_count -= 1;
        let own = channel.slot.find(channel.id, &mut self.table);
        let fed = channel.fed_up_to.and_then(Position::new).filter(|_| sabotage::is("stamp-fed-up-to"));
        self.table.raise_frontier(std::iter::once((own, fed.unwrap_or(head.position))));
        self.table.find_slots(&head.causes, &mut self.slots);
        self.table.raise_past(self.slots.iter().copied().zip(head.causes.iter().map(|cause| cause.position)));
        within_budget(&self.table, self.budget_bytes, channel.id, head.position)?;
        let index = channel.index;
        self.load_head(place, rows)?;
        let current =
            self.pending.take_if(|pending| pending.place == place && pending.position == head.position);
        Ok(match (current, head.record) {
            (Some(_), _) => Next::Current,
            (None, Some(record)) => Next::Held(Released { channel: index, position: head.position, record }),
            (None, None) => unreachable!("only the pending record's content is with the caller"),
        })
    }

    /// Gives the content of the pending record, its record part, once [`Self::next`] has answered [`Next::None`].
    ///
    /// # Panics
    /// If no record is pending.
    pub fn hold(&mut self, record: &Bytes) -> Result<(), HeldError> {
        let Pending { place, position } = self.pending.expect("a record is pending");
        held::validate_record(record)?;
        #[cfg(feature = "sabotage")]
        let record = &sabotage::kept(record);
        self.pending = None;
        let channel = &mut self.channels[place];
        // Nothing was fed since, so the channel's last header is this record's.
        let none = causes::encode(&[]);
        let bytes = self.headers[place].bytes();
        let causes = if bytes.is_empty() { &none } else { bytes };
        let row = held::encode(&hold_key(channel.id, position), causes, record);
        channel.holds.put_row(position, row);
        if let Some(head) = channel.holds.head.as_mut().filter(|head| head.position == position) {
            head.record = Some(record.clone());
        }
        Ok(())
    }

    /// The encoded frontier, to be sent with everything that the application forwards now.
    pub fn stamp(&self) -> &[u8] {
        self.table.stamp()
    }

    /// Messages held on all channels.
    pub fn held_count(&self) -> usize {
        self.held_count
    }

    /// Received channels in channel order, with their number of held messages.
    pub fn held_counts(&self) -> impl Iterator<Item = (ChannelId, usize)> + '_ {
        self.channels.iter().map(|channel| (channel.id, channel.holds.len()))
    }

    /// The heads that can't be delivered now, in channel order.
    pub fn blocked(&self) -> Vec<Blocked> {
        let heads = self
            .channels
            .iter()
            .filter_map(|channel| channel.holds.head.as_ref().map(|head| (channel, head)));
        heads
            .map(|(channel, head)| Blocked {
                channel: channel.id,
                position: head.position,
                causes: head
                    .causes
                    .iter()
                    .filter(|cause| !self.is_met(**cause))
                    .map(|cause| {
                        (*cause, self.place_of(cause.channel).and_then(|at| self.channels[at].settled()))
                    })
                    .collect(),
            })
            .filter(|blocked| !blocked.causes.is_empty())
            .collect()
    }

    /// Bytes of held messages that the next flush will write.
    pub fn unflushed_bytes(&self) -> usize {
        self.channels.iter().map(|channel| channel.holds.unflushed_bytes()).sum()
    }

    /// Hands every row changed since the last flush to `sink`, the format version first; `None` deletes.
    ///
    /// Costs nothing that grows with the buffer.
    ///
    /// # Panics
    /// If the content of the pending record is still with the caller: its row could not be written.
    pub fn flush(&mut self, sink: &mut dyn FnMut(Bytes, Option<Bytes>)) {
        assert!(self.pending.is_none(), "the pending record was neither delivered nor held");
        if std::mem::take(&mut self.version_changed) {
            sink(Bytes::from_static(&VERSION_KEY), Some(Bytes::from_static(&[VERSION_2])));
        }
        for (name, channel) in self.new_names.drain(..) {
            sink(Bytes::from(name_key(&name)), Some(Bytes::copy_from_slice(&channel.to_bytes())));
        }
        for channel in &mut self.channels {
            if std::mem::take(&mut channel.fed_up_to_changed) {
                let value = channel.fed_up_to.map(|position| Bytes::copy_from_slice(&position.to_be_bytes()));
                sink(Bytes::copy_from_slice(&fed_up_to_key(channel.id)), value);
            }
        }
        self.table.flush(sink);
        for channel in &mut self.channels {
            let id = channel.id;
            channel
                .holds
                .flush(&mut |position, row| sink(Bytes::copy_from_slice(&hold_key(id, position)), row));
        }
    }

    /// The place in `channels` of the lowest one whose head is deliverable.
    fn first_deliverable(
        &mut self,
        places: impl std::slice::SliceIndex<[Channel], Output = [Channel]>,
    ) -> Option<usize> {
        if self.held_count == 0 {
            return None;
        }
        let count = self.channels[places].len();
        if sabotage::is("scan-from-last-channel") {
            return (0..count).rev().find(|place| self.head_is_met(*place));
        }
        (0..count).find(|place| self.head_is_met(*place))
    }

    /// Forgets what is met, from the end, until something is not.
    fn head_is_met(&mut self, place: usize) -> bool {
        let Some(mut head) = self.channels[place].holds.head.take() else { return false };
        while head
            .unmet
            .last()
            .is_some_and(|(at, required)| self.channels[*at].settled() >= Some(required.get()))
        {
            head.unmet.pop();
        }
        let met = head.unmet.is_empty() || sabotage::is("ignore-causes");
        self.channels[place].holds.head = Some(head);
        met
    }

    /// True if the cause lies on a channel that is not received, or is settled there.
    fn is_met(&self, cause: Cause) -> bool {
        self.place_of(cause.channel)
            .is_none_or(|at| self.channels[at].settled() >= Some(cause.position.get()))
    }

    fn place_of(&self, channel: ChannelId) -> Option<usize> {
        self.ids.binary_search(&channel).ok()
    }

    fn head(&self, position: Position, causes: Vec<Cause>, record: Option<Bytes>) -> Head {
        let unmet = causes
            .iter()
            .filter_map(|cause| self.place_of(cause.channel).map(|place| (place, cause.position)))
            .collect();
        Head { position, causes, unmet, record }
    }

    /// Decodes the first held message of a channel, which has become its head, unless that is done.
    fn load_head(&mut self, place: usize, rows: &dyn Rows) -> Result<(), Fault> {
        let channel = &self.channels[place];
        let Some(position) = channel.holds.front() else { return Ok(()) };
        let is_pending =
            self.pending.is_some_and(|pending| pending.place == place && pending.position == position);
        let head = if is_pending {
            self.head(position, self.headers[place].causes().to_vec(), None)
        } else {
            let row = match channel.holds.unflushed_front_row() {
                Some(row) => row.clone(),
                None => stored_row(channel.id, position, rows)?,
            };
            let mut causes = Vec::new();
            let parts = held::decode_into(&hold_key(channel.id, position), &row, &mut causes)
                .map_err(|error| damaged(channel.id, position, error))?;
            self.head(position, causes, Some(row.slice(parts.record)))
        };
        self.channels[place].holds.head = Some(head);
        Ok(())
    }

    /// The first refusal wins: every later call gives it again.
    fn alive(&self) -> Result<(), Refusal> {
        match &self.refused {
            None => Ok(()),
            Some(first) => Err(first.clone()),
        }
    }

    fn remember<T>(&mut self, judged: Result<T, Refusal>) -> Result<T, Refusal> {
        if let Err(refusal) = &judged {
            self.refused = Some(refusal.clone());
        }
        judged
    }
}

/// Applied to the frontier after each receipt and each delivery, whether or not it grew.
fn within_budget(
    table: &ChannelTable,
    budget_bytes: usize,
    channel: ChannelId,
    position: Position,
) -> Result<(), Refusal> {
    let width = table.stamp().len();
    if width <= budget_bytes || sabotage::is("budget-of-incoming-only") {
        return Ok(());
    }
    let detail = format!("the causes of this task's sends take {width} bytes, the budget is {budget_bytes}");
    Err(over_budget(detail, budget_bytes).at(channel).position(position))
}

fn over_budget(detail: String, budget_bytes: usize) -> Refusal {
    // A budget that no i64 holds bounds nothing that memory holds.
    Refusal::new(Reason::MetadataBudgetExceeded, detail)
        .bound(i64::try_from(budget_bytes).unwrap_or(i64::MAX))
}

fn stored_row(channel: ChannelId, position: Position, rows: &dyn Rows) -> Result<Bytes, Fault> {
    match rows.get(&hold_key(channel, position))? {
        Some(row) => Ok(row),
        None => Err(damaged(channel, position, "the message is missing from the store").into()),
    }
}

fn damaged(channel: ChannelId, position: Position, what: impl std::fmt::Display) -> Refusal {
    let detail = format!("held message: {what}");
    Refusal::new(Reason::UnknownOrderingStateFormat, detail).at(channel).position(position)
}

#[cfg(test)]
mod tests;
