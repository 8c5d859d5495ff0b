//! What operators do: to topics, to groups, and after a refusal.

use bytes::Bytes;

use super::World;
use crate::judge::{Judged, reason};
use crate::log::Brokers;
use crate::wire::{decode_hold_key, encode_content, encode_version_1};

impl World {
    /// Retention or an operator discards the beginning of a log.
    pub(crate) fn truncate(&mut self) {
        let channel = self.any_live_channel();
        let facts = &mut self.brokers.channels[channel];
        let end = facts.stable_end(facts.start);
        if end > facts.start {
            facts.start = self.random.between(facts.start + 1, end);
            let shown = self.show(channel, self.brokers.channels[channel].start);
            self.trace.tell('t', [channel, 0], || format!("what lies before {shown} is discarded"));
        }
    }

    pub(crate) fn delete_topic(&mut self) {
        let live = self.brokers.live();
        if live.len() > 2 {
            let name = self.random.pick(&live);
            for channel in self.brokers.delete(name) {
                self.judge.channel_deleted(channel);
            }
            self.trace.tell('d', [name, 0], || format!("{} is deleted", Brokers::topic_name(name)));
        }
    }

    pub(crate) fn recreate_topic(&mut self) {
        let gone: Vec<usize> = (0..self.brokers.topics.len())
            .filter(|name| self.brokers.topics[*name].channels.is_empty())
            .collect();
        if !gone.is_empty() && self.brokers.has_room() {
            let name = self.random.pick(&gone);
            self.trace.say(|| format!("{} is created again", Brokers::topic_name(name)));
            self.create_topic(name);
        }
    }

    /// The broker compacts the changelog of a process.
    pub(crate) fn compact(&mut self, process: usize) {
        let Self { processes, trace, .. } = self;
        let owner = &mut processes[process];
        owner.changelog.compact(owner.durable);
        trace.tell('c', [process, 0], || {
            format!("the changelog of P{process} is compacted, tombstones up to {:?}", owner.durable)
        });
    }

    /// The group's offsets are moved back; the process reads again what it has read.
    pub(crate) fn rewinds(&mut self, process: usize) -> Judged {
        self.stops_cleanly(process)?;
        for channel in 0..self.brokers.channels.len() {
            let first = self.brokers.channels[channel].start;
            if let Some(offset) = self.processes[process].group[channel]
                && offset > first
                && self.random.chance(600)
            {
                let earlier = self.random.between(first, offset);
                self.processes[process].group[channel] = Some(earlier);
                let shown = self.show(channel, earlier);
                self.trace.tell('w', [process, channel], || {
                    format!("the group of P{process} is moved back from {offset} to {shown}")
                });
            }
        }
        Ok(())
    }

    /// The application is deployed again with other topics.
    pub(crate) fn changes_names(&mut self, process: usize) -> Judged {
        if self.random.chance(500) {
            self.stops_cleanly(process)?;
        } else {
            self.crashes(process);
        }
        let names = self.some_names(self.processes[process].partition);
        let shown: Vec<&str> = names.iter().map(|name| Brokers::topic_name(*name)).collect();
        self.trace
            .tell('n', [process, names.len()], || format!("P{process} is to receive {}", shown.join(" ")));
        self.processes[process].names = names;
        Ok(())
    }

    /// The state turns out to have been written by the first version of the format.
    pub(crate) fn turns_old(&mut self, process: usize) -> Judged {
        self.stops_cleanly(process)?;
        let mut old = Vec::new();
        for (key, value) in self.processes[process].changelog.rows() {
            if key[..] == *b"v" {
                old.push((key.clone(), Some(Bytes::from_static(&[1]))));
            } else if let Some((channel, offset)) = decode_hold_key(key)
                && let Some(message) = self.judge.find_by_id(channel, offset)
                && value[0] != 1
            {
                let part = encode_content(&self.contents[message]);
                let row = encode_version_1(&part, &self.judge.causes(message));
                old.push((key.clone(), Some(Bytes::from(row))));
            }
        }
        self.trace.tell('1', [process, old.len()], || format!("the state of P{process} is of version 1"));
        self.processes[process].changelog.commit(old);
        self.processes[process].lose_disk();
        Ok(())
    }

    /// Does what a refusal advises.
    pub(crate) fn operator_mends(&mut self, process: usize) {
        let Some(stopped) = self.processes[process].stopped.take() else { return };
        match stopped.reason {
            reason::UNDECODABLE | reason::OVER_BUDGET => {
                let poison = stopped.message.filter(|message| self.judge.is_poisoned(*message));
                if let Some(message) = poison {
                    let (channel, offset) = (self.judge.channel(message), self.judge.position(message));
                    self.processes[process].group[channel] = Some(offset + 1);
                    let shown = self.show(channel, offset);
                    self.trace.tell('s', [process, message], || {
                        format!("the group of P{process} is moved past {shown}")
                    });
                }
            }
            reason::REMOVED => {
                for channel in 0..self.brokers.channels.len() {
                    let name = self.brokers.channels[channel].name;
                    let names = &mut self.processes[process].names;
                    if self.judge.holds_of(process, channel) && !names.contains(&name) {
                        names.push(name);
                        self.trace.say(|| format!("P{process} receives {} again", Brokers::topic_name(name)));
                    }
                }
            }
            reason::IDENTITY => self.mend_identity(process),
            reason::DELETED => self.reset(process),
            _ => {}
        }
    }

    /// A topic that is another one now is received no more; if something of the old one waits, all is given up.
    fn mend_identity(&mut self, process: usize) {
        let is_other = |name: &usize| {
            let bound = self.judge.bound(process, *name);
            let live = self.brokers.topics[*name].channels.get(self.processes[process].partition);
            bound.is_some() && live.is_some() && bound.as_ref() != live
        };
        let (others, names): (Vec<usize>, Vec<usize>) =
            self.processes[process].names.iter().copied().partition(is_other);
        let waits = |name: &usize| {
            self.judge.bound(process, *name).is_some_and(|channel| self.judge.holds_of(process, channel))
        };
        if names.is_empty() || others.is_empty() || others.iter().any(waits) || self.random.chance(300) {
            self.reset(process);
        } else {
            self.processes[process].names = names;
            self.trace.say(|| format!("P{process} receives no more topics that were made again"));
        }
    }

    fn reset(&mut self, process: usize) {
        self.trace.tell('r', [process, 0], || format!("the state of P{process} is thrown away"));
        self.abort_transaction(process);
        self.processes[process].reset();
        self.judge.reset(process);
    }
}
