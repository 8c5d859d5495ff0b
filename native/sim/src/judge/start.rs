//! Judging the start of an execution: what must be refused, and what is covered from now on.

use super::history::{Execution, NEVER, NONE, raise};
use super::{Judge, reason};
use crate::log::CHANNELS_MAX;
use crate::set::Set;

/// A channel that a process is to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) name: usize,
    pub(crate) channel: usize,
    /// The group's committed offset.
    pub(crate) start: i64,
}

impl Judge {
    /// A process starts on its committed state. Returns the reason for which it must refuse, if it must.
    pub(crate) fn started(
        &mut self,
        process: usize,
        subscriptions: &[Subscription],
        budget: usize,
        damaged: bool,
    ) -> Option<&'static str> {
        let mut received: Vec<usize> = subscriptions.iter().map(|received| received.channel).collect();
        received.sort_by_key(|channel| self.channels[*channel].id);
        let witness = &mut self.witnesses[process];
        witness.now = witness.committed.clone();
        let fed_now = [NONE; CHANNELS_MAX];
        witness.execution = Execution { received, fed_now, budget, damaged: Set::default() };
        if damaged {
            return Some(reason::BAD_STATE);
        }
        for Subscription { name, channel, .. } in subscriptions {
            if *witness.now.names[*name].get_or_insert(*channel) != *channel {
                return Some(reason::IDENTITY);
            }
        }
        let is_removed = |message: usize| !witness.receives(self.messages[message].channel);
        if witness.now.held().iter().any(is_removed) {
            return Some(reason::REMOVED);
        }
        for Subscription { channel, start, .. } in subscriptions {
            let past = self.witnesses[process].now.past[*channel];
            // A group at 0 has skipped nothing.
            self.cover(process, *channel, past.max(start - 1));
        }
        None
    }

    /// A starting process hears of topics that are gone, and of those that came back as others under their names.
    /// Returns the reason for which it must refuse, if it must.
    pub(crate) fn told(
        &mut self,
        process: usize,
        dead: &[usize],
        recreated: &[usize],
    ) -> Option<&'static str> {
        let witness = &self.witnesses[process];
        if recreated.iter().any(|channel| witness.receives(*channel)) {
            return Some(reason::IDENTITY);
        }
        let gone: Vec<usize> = dead.iter().copied().filter(|channel| witness.receives(*channel)).collect();
        let held = witness.now.held();
        if held.iter().any(|message| gone.contains(&self.messages[message].channel)) {
            return Some(reason::DELETED);
        }
        for channel in gone {
            self.cover(process, channel, NEVER);
        }
        let now = &mut self.witnesses[process].now;
        for channel in dead.iter().chain(recreated) {
            now.learned[*channel] = NONE;
            now.past[*channel] = NONE;
        }
        None
    }

    /// What is at or below a position and was not taken in never comes.
    fn cover(&mut self, process: usize, channel: usize, up_to: i64) {
        let now = &mut self.witnesses[process].now;
        raise(&mut now.fed_up_to, channel, up_to);
        for message in &self.channels[channel].messages {
            if self.messages[*message].position <= now.fed_up_to[channel] && !now.fed.has(*message) {
                now.covered.insert(*message);
            }
        }
    }

    /// Channels that a process knows of: received, or named by what it sends, or by what it delivered.
    pub(crate) fn knows(&self, process: usize, channel: usize) -> bool {
        let witness = &self.witnesses[process];
        let now = &witness.now;
        witness.receives(channel) || now.learned[channel] != NONE || now.past[channel] != NONE
    }
}
