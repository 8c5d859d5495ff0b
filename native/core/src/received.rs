//! The channels that a task receives: what has been fed of each, and how that is restored.

use crate::channel::{ChannelId, Position};
use crate::engine::Receipt;
use crate::holds::HoldQueue;
use crate::refusal::{Reason, Refusal};
use crate::restore::Restored;
use crate::sabotage;
use crate::table::{ChannelTable, Slot};

/// fedUpTo of a channel whose topic is confirmed deleted: nothing will ever come, so everything is settled.
pub(crate) const DELETED: i64 = i64::MAX;

/// One channel that a task is fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The topic's name, whose identity is recorded.
    pub name: String,
    /// The channel behind the name.
    pub channel: ChannelId,
    /// The offset that the group has committed: everything below is covered. 0 or less covers nothing.
    pub start: i64,
}

/// One received channel.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    /// Index in the list given to `open`.
    pub(crate) index: usize,
    /// Everything at or below it has been fed or will never come.
    pub(crate) fed_up_to: Option<i64>,
    pub(crate) fed_up_to_changed: bool,
    /// `fed_up_to` when this execution began: what may be fed again as a replay.
    pub(crate) floor: Option<i64>,
    /// The last position fed in this execution.
    pub(crate) fed_now: Option<Position>,
    pub(crate) holds: HoldQueue,
    pub(crate) slot: Slot,
}

impl Channel {
    /// Raises, never lowers.
    pub(crate) fn raise_fed_up_to(&mut self, position: i64) {
        if self.fed_up_to < Some(position) {
            self.fed_up_to = Some(position);
            self.fed_up_to_changed = true;
        }
    }

    /// The highest position below which nothing is outstanding; -1 below a held position 0, `None` if unknown.
    pub(crate) fn settled(&self) -> Option<i64> {
        match self.holds.front() {
            Some(head) => Some(head.get() - 1),
            None => self.fed_up_to,
        }
    }
}

/// Judges the record at or below fedUpTo of its channel.
pub(crate) fn covered(channel: &Channel, position: Position) -> Result<Receipt, Refusal> {
    let refuse = |reason, detail: &str, bound| {
        Err(Refusal::new(reason, detail).at(channel.id).position(position).bound(bound))
    };
    if channel.fed_up_to == Some(DELETED) {
        return refuse(Reason::OutOfOrderFeed, "fed on a channel whose topic is confirmed deleted", DELETED);
    }
    match channel.floor {
        Some(floor) if position.get() <= floor => Ok(Receipt::Duplicate),
        floor => refuse(
            Reason::CoveredPositionFed,
            "fed although this execution has covered it",
            channel.fed_up_to.or(floor).unwrap_or(-1),
        ),
    }
}

/// Names seen for the first time, in channel order; refuses a name that is bound to another channel.
pub(crate) fn bind(
    order: &[usize],
    received: &[Received],
    restored: &Restored,
) -> Result<Vec<(String, ChannelId)>, Refusal> {
    let mut new = Vec::new();
    for Received { name, channel, .. } in order.iter().map(|index| &received[*index]) {
        match restored.names.get(name) {
            None => new.push((name.clone(), *channel)),
            Some(bound) if bound == channel || sabotage::is("ignore-recreated-topic") => {}
            Some(bound) => {
                let detail =
                    format!("the ordering state knows topic {name:?} as {bound}, now it is {channel}");
                return Err(Refusal::new(Reason::ChannelIdentityChanged, detail).at(*channel));
            }
        }
    }
    Ok(new)
}

/// A hold of a channel that is not received any more can never be delivered.
pub(crate) fn refuse_removed(received: &[Received], restored: &Restored) -> Result<(), Refusal> {
    for (channel, positions) in &restored.holds {
        if !received.iter().any(|received| received.channel == *channel) {
            let detail =
                format!("{} messages are held of a channel that is not received any more", positions.len());
            let refusal = Refusal::new(Reason::ChannelRemovedWithHeldMessages, detail).at(*channel);
            return Err(positions.first().map_or(refusal.clone(), |first| refusal.position(*first)));
        }
    }
    Ok(())
}

/// The channel as the rows have it, covered up to what was read or delivered before.
pub(crate) fn restored_channel(
    received: &Received,
    index: usize,
    restored: &mut Restored,
    table: &ChannelTable,
) -> Channel {
    let id = received.channel;
    let mut channel = Channel {
        id,
        index,
        fed_up_to: restored.fed_up_to.get(&id).copied(),
        fed_up_to_changed: false,
        floor: None,
        fed_now: None,
        holds: HoldQueue::default(),
        slot: Slot::default(),
    };
    // Never deliver below an effect that was delivered while this channel was not received.
    if let Some(past) = table.past(id)
        && !sabotage::is("skip-join-clamp")
    {
        channel.raise_fed_up_to(past.get());
    }
    if received.start > 0 && !sabotage::is("ignore-start") {
        channel.raise_fed_up_to(received.start - 1);
    }
    channel.floor = channel.fed_up_to;
    for position in restored.holds.remove(&id).unwrap_or_default() {
        channel.holds.push_stored(position);
    }
    channel
}
