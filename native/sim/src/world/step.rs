//! What a process does while it runs: it is fed, delivers, holds and sends, in the order in which the library does it.

use bytes::Bytes;
use parsley_core::{CausesHeader, ChannelId, Next, Position, Receipt, Refusal};
use parsley_store::TaskError;

use super::content::Causes;
use super::{Flow, World};
use crate::judge::{Carriage, Expected, Judged, Rule, Violation, demand};
use crate::process::{Running, Sent, Stopped};
use crate::wire::{decode_hold_key, encode_content};

impl World {
    /// A process reads its next record of some channel.
    pub(crate) fn polls(&mut self, process: usize) -> Judged {
        self.with(process, |world, running| world.poll(process, running).map(|(flow, _)| flow))
    }

    /// Tells also whether there was a record.
    pub(crate) fn poll(&mut self, process: usize, running: &mut Running) -> Judged<(Flow, bool)> {
        let mut readable = Vec::new();
        for (at, subscription) in running.subscriptions.iter().enumerate() {
            let channel = &self.brokers.channels[subscription.channel];
            if channel.deleted {
                continue;
            }
            if running.positions[at] < channel.start {
                self.trace.tell('O', [process, at], || {
                    format!("P{process} stops: positions it has not read were discarded")
                });
                return Ok((Flow::Stops, true));
            }
            if let Some((offset, message)) = channel.read(running.positions[at]) {
                readable.push((at, offset, message));
            }
        }
        // The consumer hardly gets to one of them, so what depends on its records piles up.
        if !self.quiet && self.random.chance(self.lag) {
            readable.retain(|(at, ..)| Some(*at) != running.slow);
        }
        if readable.is_empty() {
            return Ok((Flow::Goes, false));
        }
        let (at, offset, message) = self.random.pick(&readable);
        running.positions[at] = offset + 1;
        let causes = Causes::of(&self.contents[message]);
        // A second damage could mend the first.
        if !self.quiet && !self.judge.is_poisoned(message) && self.random.chance(6) {
            let causes = self.broken(&causes);
            let carriage = Carriage::Broken(causes.bytes());
            return self.feed(process, running, at, message, &causes, carriage).map(|flow| (flow, true));
        }
        let flow = self.feed(process, running, at, message, &causes, Carriage::Intact)?;
        Ok((flow, true))
    }

    /// A consumer gone wrong: something that was passed is fed once more, or something of a topic that is gone.
    pub(crate) fn is_fed_a_stray(&mut self, process: usize) -> Judged {
        self.with(process, |world, running| {
            if running.subscriptions.is_empty() {
                return Ok(Flow::Goes);
            }
            let at = world.random.below(running.subscriptions.len());
            let channel = &world.brokers.channels[running.subscriptions[at].channel];
            let first = channel.start;
            if running.positions[at] <= first {
                return Ok(Flow::Goes);
            }
            let from = world.random.between(first, running.positions[at] - 1);
            match world.brokers.channels[running.subscriptions[at].channel].read(from) {
                Some((offset, message)) if offset < running.positions[at] => {
                    let causes = Causes::of(&world.contents[message]);
                    world.feed(process, running, at, message, &causes, Carriage::Intact)
                }
                _ => Ok(Flow::Goes),
            }
        })
    }

    fn feed(
        &mut self,
        process: usize,
        running: &mut Running,
        at: usize,
        message: usize,
        causes: &Causes,
        carriage: Carriage,
    ) -> Judged<Flow> {
        let channel = running.subscriptions[at].channel;
        let offset = self.judge.position(message);
        let expected = self.judge.fed(process, message, carriage);
        let shown = self.show(channel, offset);
        self.trace.tell('R', [process, message], || match carriage {
            Carriage::Intact => format!("P{process} is fed {shown}"),
            Carriage::Broken(_) => format!("P{process} is fed {shown} with broken causes {causes:02x?}"),
        });
        let header = match causes {
            Causes::Absent => CausesHeader::Absent,
            Causes::Once(value) => CausesHeader::Once(value.as_deref()),
            Causes::Repeated => CausesHeader::Repeated,
        };
        let position = position(offset)?;
        let receipt = match running.task.receive(at, position, header) {
            Ok(receipt) => receipt,
            Err(error) => return self.stopped(process, running, error, expected, Some(message)),
        };
        self.judge.answered(message, expected, receipt == Receipt::Duplicate)?;
        let mut pending = None;
        match receipt {
            Receipt::Duplicate => {
                self.trace.tell('D', [process, message], || "   a replay, dropped".to_owned());
            }
            Receipt::Delivered => self.deliver(process, running, message)?,
            Receipt::Pending => pending = Some(message),
        }
        self.drain(process, running, pending)
    }

    /// Delivers all that can be, then holds the record that was fed last if it was not among them.
    fn drain(&mut self, process: usize, running: &mut Running, mut pending: Option<usize>) -> Judged<Flow> {
        loop {
            let must_ask = pending.is_some() || running.task.may_release() == Ok(true);
            if !must_ask && !self.random.chance(100) {
                break;
            }
            match running.task.next_delivery() {
                Ok(Next::None) => break,
                Ok(Next::Current) => {
                    let Some(message) = pending.take() else {
                        return Err(Violation::new(Rule::Once, "a record is released that nobody has"));
                    };
                    self.deliver(process, running, message)?;
                }
                Ok(Next::Held(released)) => {
                    let channel = running.subscriptions[released.channel].channel;
                    let Some(message) = self.judge.find(channel, released.position.get()) else {
                        return Err(Violation::new(Rule::Content, "a record is released that nobody wrote"));
                    };
                    self.judge.content(message, &released.record)?;
                    self.deliver(process, running, message)?;
                }
                Err(error) => {
                    return self.stopped(process, running, error, Expected::Taken, None);
                }
            }
        }
        self.judge.drained(process)?;
        if let Some(message) = pending {
            let part = Bytes::from(encode_content(&self.contents[message]));
            if let Err(error) = running.task.hold(&part) {
                return Err(Violation::new(Rule::NoFailure, error.to_string()));
            }
            self.trace.tell('H', [process, message], || "   held".to_owned());
        }
        self.judge.held_count(process, running.task.held_count().unwrap_or(usize::MAX))?;
        Ok(Flow::Goes)
    }

    fn deliver(&mut self, process: usize, running: &mut Running, message: usize) -> Judged {
        let (channel, offset) = (self.judge.channel(message), self.judge.position(message));
        let shown = self.show(channel, offset);
        self.trace.tell('C', [process, message], || format!("   P{process} delivers {shown}"));
        self.judge.delivered(process, message)?;
        let sends = match self.random.below(100) {
            0..=54 => 0,
            55..=89 => 1,
            _ => 2,
        };
        for _ in 0..sends {
            self.send(process, running)?;
        }
        Ok(())
    }

    /// The application forwards a record.
    fn send(&mut self, process: usize, running: &mut Running) -> Judged {
        if self.quiet || !self.judge.has_room() {
            return Ok(());
        }
        let stamp =
            running.task.stamp().map_err(|error| Violation::new(Rule::NoFailure, error.to_string()))?;
        let stamp = stamp.to_vec();
        let read = self.judge.stamp(process, &stamp)?;
        let channel = self.any_live_channel();
        let causes = read.clone();
        let (message, offset) = self.append_sent(process, channel, stamp, read);
        self.processes[process].sent.push(Sent { channel, offset, message });
        let shown = self.show(channel, offset);
        let brokers = &self.brokers;
        self.trace.tell('S', [process, message], || {
            let causes: Vec<String> =
                causes.iter().map(|(channel, at)| format!("{}@{at}", brokers.show(*channel))).collect();
            format!("   P{process} sends {shown} after [{}]", causes.join(" "))
        });
        Ok(())
    }

    /// A timer of the application: what a restart made deliverable goes now, and it may send.
    pub(crate) fn punctuates(&mut self, process: usize) -> Judged {
        self.with(process, |world, running| {
            world.trace.tell('U', [process, 0], || format!("P{process} has a punctuation"));
            let flow = world.drain(process, running, None)?;
            if flow == Flow::Goes && world.random.chance(400) {
                world.send(process, running)?;
            }
            Ok(flow)
        })
    }

    /// A held row is damaged or lost under a running process.
    pub(crate) fn loses_a_row(&mut self, process: usize) -> Judged {
        self.with(process, |world, running| {
            let mut rows = super::start::rows_of(running.task.store())?;
            rows.retain(|(key, _)| key[0] == b'h');
            if rows.is_empty() {
                return Ok(Flow::Goes);
            }
            let (key, value) = rows.swap_remove(world.random.below(rows.len()));
            let damaged = world.random.chance(500).then(|| {
                let mut value = value.to_vec();
                let at = world.random.below(value.len());
                value[at] ^= 1 << world.random.below(8);
                Bytes::from(value)
            });
            let Some((channel, offset)) = decode_hold_key(&key) else { return Ok(Flow::Goes) };
            world.judge.row_damaged(process, channel, offset);
            world.trace.tell('L', [process, usize::from(damaged.is_some())], || {
                let how = if damaged.is_some() { "damaged" } else { "lost" };
                format!("P{process}: the stored row of a hold at {offset} is {how} while it runs")
            });
            super::sound(running.task.store_mut().put(key, damaged))?;
            running.spoiled = true;
            Ok(Flow::Goes)
        })
    }

    /// A process refused.
    pub(crate) fn stopped(
        &mut self,
        process: usize,
        running: &mut Running,
        error: TaskError,
        expected: Expected,
        message: Option<usize>,
    ) -> Judged<Flow> {
        let TaskError::Refused(refusal) = error else {
            return Err(Violation::new(Rule::NoFailure, error.to_string()));
        };
        self.tell_refusal(process, &refusal);
        self.judge.refused(process, expected, refusal.reason.name(), refusal.position)?;
        demand(
            running.task.next_delivery() == Err(TaskError::Refused(refusal.clone())),
            Rule::MissingRefusal,
            || "the first refusal did not stick".to_owned(),
        )?;
        self.processes[process].stopped = Some(Stopped { reason: refusal.reason.name(), message });
        Ok(Flow::Stops)
    }

    pub(crate) fn tell_refusal(&mut self, process: usize, refusal: &Refusal) {
        self.trace
            .tell('X', [process, refusal.reason as usize], || format!("   P{process} refuses: {refusal}"));
    }
}

/// The engine's form of an offset.
pub(crate) fn position(offset: i64) -> Judged<Position> {
    Position::new(offset).ok_or_else(|| Violation::new(Rule::NoFailure, "the offset is no position"))
}

/// The engine's form of a channel.
pub(crate) fn channel_id(bytes: &[u8; 20]) -> Judged<ChannelId> {
    ChannelId::from_bytes(bytes)
        .ok_or_else(|| Violation::new(Rule::NoFailure, "the channel is not taken for one"))
}
