//! The outside judge. It sees the world's own events (what was written where, by whom, after which deliveries) and
//! the plain numbers and bytes that cross the engine's border, and shares no code with the engine.
//!
//! It keeps two kinds of knowledge. *Truth* is the set of messages that causally precede each message, from who
//! delivered what before sending: order, loss, duplicates and too small stamps are judged by it. *Numbers* are the
//! causes as stamped, once they were found right: what may be held back, covered or refused is predicted from them.

mod delivery;
mod history;
mod start;
mod violation;

use bytes::Bytes;

use crate::set::{MESSAGES_MAX, Set};
use crate::wire::{ChannelBytes, decode_causes, encode_causes};
use history::{NEVER, NONE, Positions, Witness};
pub(crate) use start::Subscription;
pub(crate) use violation::{Judged, demand};
pub use violation::{Rule, Violation};

/// Reasons by the names that operators see.
pub(crate) mod reason {
    pub(crate) const UNDECODABLE: &str = "UNDECODABLE_METADATA";
    pub(crate) const OVER_BUDGET: &str = "METADATA_BUDGET_EXCEEDED";
    pub(crate) const OUT_OF_ORDER: &str = "OUT_OF_ORDER_FEED";
    pub(crate) const BAD_STATE: &str = "UNKNOWN_ORDERING_STATE_FORMAT";
    pub(crate) const IDENTITY: &str = "CHANNEL_IDENTITY_CHANGED";
    pub(crate) const REMOVED: &str = "CHANNEL_REMOVED_WITH_HELD_MESSAGES";
    pub(crate) const DELETED: &str = "CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES";
}

/// A record in some log.
#[derive(Debug)]
struct Message {
    channel: usize,
    position: i64,
    /// Everything that causally precedes it.
    past: Set,
    /// Its causes as stamped.
    stamp: Vec<(usize, i64)>,
    content: Bytes,
    /// Of the causes header; 0 without one, and if it is null or repeated.
    header_bytes: usize,
    /// Its header was never readable.
    poisoned: bool,
    /// Whether readers are given it.
    committed: bool,
}

#[derive(Debug)]
struct Channel {
    id: ChannelBytes,
    deleted: bool,
    /// Ascending by position.
    messages: Vec<usize>,
}

/// What a process must answer to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It is taken in.
    Taken,
    /// It is dropped as a replay.
    Dropped,
    /// The process stops, for this reason.
    Refused(&'static str),
}

/// How the causes header of a record reaches a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carriage {
    /// As it was written.
    Intact,
    /// So damaged that it can't be read; so many bytes of it come, none if it is null or repeated.
    Broken(usize),
}

/// A message to be judged from now on.
pub(crate) struct Written {
    pub(crate) channel: usize,
    pub(crate) position: i64,
    pub(crate) content: Bytes,
    pub(crate) header_bytes: usize,
    pub(crate) poisoned: bool,
}

/// Keeps the truth about all processes and messages.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    messages: Vec<Message>,
    channels: Vec<Channel>,
    witnesses: Vec<Witness>,
}

impl Judge {
    pub(crate) fn process_added(&mut self) {
        self.witnesses.push(Witness::new());
    }

    pub(crate) fn channel_created(&mut self, id: ChannelBytes) {
        self.channels.push(Channel { id, deleted: false, messages: Vec::new() });
    }

    pub(crate) fn channel_deleted(&mut self, channel: usize) {
        self.channels[channel].deleted = true;
    }

    pub(crate) fn has_room(&self) -> bool {
        self.messages.len() < MESSAGES_MAX
    }

    /// A record from outside, which has no past.
    pub(crate) fn written(&mut self, written: Written, committed: bool) -> usize {
        self.add(written, committed, Set::default(), Vec::new())
    }

    /// A record sent by a process, under a stamp that was judged by [`Self::stamp`].
    pub(crate) fn sent(&mut self, process: usize, written: Written, stamp: Vec<(usize, i64)>) -> usize {
        let past = self.witnesses[process].now.known;
        self.add(written, false, past, stamp)
    }

    fn add(&mut self, written: Written, committed: bool, past: Set, stamp: Vec<(usize, i64)>) -> usize {
        let Written { channel, position, content, header_bytes, poisoned } = written;
        let number = self.messages.len();
        let message = Message { channel, position, past, stamp, content, header_bytes, poisoned, committed };
        self.messages.push(message);
        self.channels[channel].messages.push(number);
        number
    }

    /// The transaction of a message has committed.
    pub(crate) fn message_committed(&mut self, message: usize) {
        self.messages[message].committed = true;
    }

    /// The transaction of a process has committed: what it did is history.
    pub(crate) fn committed(&mut self, process: usize) {
        let witness = &mut self.witnesses[process];
        witness.committed = witness.now.clone();
    }

    /// The execution has ended; what was not committed never happened.
    pub(crate) fn ended(&mut self, process: usize) {
        let witness = &mut self.witnesses[process];
        witness.now = witness.committed.clone();
        witness.execution.damaged = Set::default();
    }

    /// The operator threw the state of a process away: it is a new one.
    pub(crate) fn reset(&mut self, process: usize) {
        self.witnesses[process] = Witness::new();
    }

    /// The channel that a topic name stands for in the committed state of a process.
    pub(crate) fn bound(&self, process: usize, name: usize) -> Option<usize> {
        self.witnesses[process].committed.names[name]
    }

    /// Whether committed holds of a channel wait in a process.
    pub(crate) fn holds_of(&self, process: usize, channel: usize) -> bool {
        let held = self.witnesses[process].committed.held();
        held.iter().any(|message| self.messages[message].channel == channel)
    }

    /// Whether every reader refuses a message.
    pub(crate) fn is_poisoned(&self, message: usize) -> bool {
        self.messages[message].poisoned
    }

    /// The channel of a message.
    pub(crate) fn channel(&self, message: usize) -> usize {
        self.messages[message].channel
    }

    /// The causes of a message as stamped, in channel order.
    pub(crate) fn causes(&self, message: usize) -> Vec<(ChannelBytes, i64)> {
        let stamp = &self.messages[message].stamp;
        stamp.iter().map(|(channel, position)| (self.channels[*channel].id, *position)).collect()
    }

    /// The position of a message.
    pub(crate) fn position(&self, message: usize) -> i64 {
        self.messages[message].position
    }

    /// The message at a place.
    pub(crate) fn find(&self, channel: usize, position: i64) -> Option<usize> {
        let messages = &self.channels[channel].messages;
        let found = messages.binary_search_by_key(&position, |message| self.messages[*message].position);
        found.ok().map(|at| messages[at])
    }

    /// The message at a place.
    pub(crate) fn find_by_id(&self, id: ChannelBytes, position: i64) -> Option<usize> {
        let channel = self.channels.iter().position(|channel| channel.id == id)?;
        self.find(channel, position)
    }

    /// A held row was damaged under a running process.
    pub(crate) fn row_damaged(&mut self, process: usize, channel: ChannelBytes, position: i64) {
        if let Some(message) = self.find_by_id(channel, position) {
            self.witnesses[process].execution.damaged.insert(message);
        }
    }

    /// Judges the stamp that a process would put on a send now, and reads it.
    pub(crate) fn stamp(&self, process: usize, stamp: &[u8]) -> Judged<Vec<(usize, i64)>> {
        let now = &self.witnesses[process].now;
        let Some(causes) = decode_causes(stamp) else {
            return Err(Violation::new(
                Rule::StampTooLarge,
                format!("the stamp {stamp:02x?} is no encoding"),
            ));
        };
        let mut read = Vec::with_capacity(causes.len());
        for (id, position) in causes {
            let Some(channel) = self.channels.iter().position(|channel| channel.id == id) else {
                return Err(Violation::new(Rule::StampTooLarge, "the stamp names a channel that never was"));
            };
            read.push((channel, position));
            demand(self.is_assigned(channel, position), Rule::StampTooLarge, || {
                format!("the stamp names {}, where no committed record lies", place(channel, position))
            })?;
            demand(position <= now.learned[channel], Rule::StampTooLarge, || {
                format!(
                    "the stamp names {}, of which only {} was received or delivered",
                    place(channel, position),
                    now.learned[channel]
                )
            })?;
        }
        let stamped = |channel: usize| {
            read.iter().find(|(at, _)| *at == channel).map_or(NONE, |(_, position)| *position)
        };
        for (channel, facts) in self.channels.iter().enumerate() {
            // A process that was told of a deletion forgets the topic, and so do those that it sends to.
            demand(
                facts.deleted || stamped(channel) >= now.known_up_to[channel],
                Rule::StampTooSmall,
                || format!("the stamp lacks the cause {}", place(channel, now.known_up_to[channel])),
            )?;
            demand(stamped(channel) >= now.learned[channel], Rule::StampTooSmall, || {
                format!("the stamp lacks {}, which was received", place(channel, now.learned[channel]))
            })?;
        }
        Ok(read)
    }

    fn is_assigned(&self, channel: usize, position: i64) -> bool {
        self.find(channel, position).is_some_and(|message| self.messages[message].committed)
    }

    /// How many bytes the stamp of a process has to take.
    fn width(&self, learned: &Positions) -> usize {
        let mut causes: Vec<(ChannelBytes, i64)> = (0..self.channels.len())
            .filter(|channel| learned[*channel] != NONE)
            .map(|channel| (self.channels[channel].id, learned[channel]))
            .collect();
        causes.sort_unstable();
        encode_causes(&causes).len()
    }

    /// Judges what is held once a process says that nothing can be delivered now.
    pub(crate) fn drained(&self, process: usize) -> Judged {
        let witness = &self.witnesses[process];
        for (channel, head) in self.heads(witness) {
            demand(!self.is_deliverable(witness, head), Rule::NothingLost, || {
                format!("{} could be delivered and is not", place(channel, self.messages[head].position))
            })?;
        }
        Ok(())
    }

    /// Judges how many messages a process says it holds.
    pub(crate) fn held_count(&self, process: usize, count: usize) -> Judged {
        let held = self.witnesses[process].now.held().len();
        demand(count == held, Rule::NothingLost, || format!("{count} messages are held, not {held}"))
    }

    /// Judges the end: everything was read, so everything that was not covered is delivered.
    pub(crate) fn quiet(&self, process: usize) -> Judged {
        let witness = &self.witnesses[process];
        let known = witness.now.delivered.with(&witness.now.covered);
        for channel in &witness.execution.received {
            if self.channels[*channel].deleted {
                continue;
            }
            let mut messages = self.channels[*channel].messages.iter();
            let lost = messages.find(|message| self.messages[**message].committed && !known.has(**message));
            demand(lost.is_none(), Rule::NothingLost, || {
                let position = lost.map_or(NONE, |message| self.messages[*message].position);
                format!("{} was never delivered, although everything is quiet", place(*channel, position))
            })?;
        }
        let held = witness.now.held();
        demand(held.is_empty(), Rule::NothingLost, || format!("{} messages are held for ever", held.len()))
    }

    /// The lowest held message of each received channel that has one, in channel order.
    fn heads<'a>(&'a self, witness: &'a Witness) -> impl Iterator<Item = (usize, usize)> + 'a {
        let held = witness.now.held();
        let lowest = move |channel: &usize| {
            // Messages are numbered as they are written, so they ascend on each channel.
            let first = held.iter().find(|message| self.messages[*message].channel == *channel);
            first.map(|message| (*channel, message))
        };
        witness.execution.received.iter().filter_map(lowest)
    }

    /// Whether everything named in its stamp, on channels that are received, was delivered or will never come.
    fn is_deliverable(&self, witness: &Witness, message: usize) -> bool {
        let held = witness.now.held();
        self.messages[message].stamp.iter().all(|(channel, position)| {
            if !witness.receives(*channel) {
                return true;
            }
            let blocks = |held: usize| {
                self.messages[held].channel == *channel && self.messages[held].position <= *position
            };
            witness.now.fed_up_to[*channel] >= *position && !held.iter().any(blocks)
        })
    }
}

/// A place for people who read a violation; the trace has the names of channels.
fn place(channel: usize, position: i64) -> String {
    match position {
        NEVER => format!("channel {channel} at its end"),
        position => format!("channel {channel} at {position}"),
    }
}

#[cfg(test)]
mod tests;
