//! How transactions and executions end: commit, abort, clean close, crash, and what lies between.

use bytes::Bytes;

use super::{Flow, World, sound};
use crate::judge::{Judged, Rule, Violation};
use crate::log::State;
use crate::process::Running;

/// Where a crash cuts a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The store is flushed, the transaction is not committed.
    Flushed,
    /// The transaction is committed, the store does not know.
    Committed,
}

impl World {
    /// A process commits, and crashes on the way if it is cut.
    pub(crate) fn commits(&mut self, process: usize, cut: Option<Cut>) -> Judged {
        let Some(mut running) = self.processes[process].running.take() else { return Ok(()) };
        if running.spoiled {
            return self.close_dirty(process, running);
        }
        if self.commit(process, &mut running, cut)? {
            self.processes[process].running = Some(running);
        } else {
            self.crash(process, running);
        }
        Ok(())
    }

    /// False if it was cut.
    fn commit(&mut self, process: usize, running: &mut Running, cut: Option<Cut>) -> Judged<bool> {
        let owner = &mut self.processes[process];
        if !owner.transactional {
            sound(running.task.store_mut().settle())?;
            if std::mem::take(&mut owner.unsettled) {
                // Rows went to disk without an offset, so none is left there.
                owner.durable = None;
            }
        }
        let chunk_bytes = 1 + self.random.below(400);
        let flushed = &mut owner.flushed;
        loop {
            let before = flushed.len();
            let flush = running.task.flush(chunk_bytes, &mut |key, value| {
                flushed.push((Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice)));
            });
            flush.map_err(|error| Violation::new(Rule::NoFailure, error.to_string()))?;
            if flushed.len() == before {
                break;
            }
        }
        let rows = flushed.len();
        if cut == Some(Cut::Flushed) {
            self.trace.say(|| format!("P{process} flushes {rows} rows"));
            return Ok(false);
        }
        self.commit_transaction(process, running);
        self.trace.tell('M', [process, rows], || format!("P{process} commits, {rows} rows changed"));
        if cut == Some(Cut::Committed) {
            return Ok(false);
        }
        let owner = &mut self.processes[process];
        if owner.transactional {
            sound(running.task.store_mut().commit(&owner.offsets()))?;
            owner.offset_written(owner.changelog.last());
        } else {
            owner.unsettled |= rows > 0;
        }
        Ok(true)
    }

    fn commit_transaction(&mut self, process: usize, running: &Running) {
        self.settle_sends(process, State::Committed);
        for (at, subscription) in running.subscriptions.iter().enumerate() {
            let channel = &self.brokers.channels[subscription.channel];
            // Markers and aborted records that were passed over may be counted as read, or not.
            let position = running.positions[at];
            let read_on = !channel.deleted && position >= channel.start && self.random.chance(500);
            let position = if read_on { channel.advanced(position) } else { position };
            self.processes[process].group[subscription.channel] = Some(position);
        }
        let owner = &mut self.processes[process];
        let rows = std::mem::take(&mut owner.flushed);
        owner.changelog.commit(rows);
        self.judge.committed(process);
    }

    pub(crate) fn abort_transaction(&mut self, process: usize) {
        self.settle_sends(process, State::Aborted);
        let owner = &mut self.processes[process];
        owner.changelog.abort(owner.flushed.len());
        owner.flushed.clear();
    }

    /// Ends the sends of the open transaction; each partition gets a marker.
    fn settle_sends(&mut self, process: usize, state: State) {
        let sent = std::mem::take(&mut self.processes[process].sent);
        let mut touched: Vec<usize> = Vec::new();
        for sent in sent {
            self.brokers.channels[sent.channel].settle(sent.offset, state);
            if state == State::Committed {
                self.judge.message_committed(sent.message);
            }
            if !touched.contains(&sent.channel) {
                touched.push(sent.channel);
            }
        }
        for channel in touched {
            self.append_marker(channel);
        }
    }

    /// The transaction aborts, and the process is closed dirty.
    pub(crate) fn aborts(&mut self, process: usize) -> Judged {
        self.with(process, |world, _| {
            world.trace.tell('A', [process, 0], || format!("P{process}: its transaction is aborted"));
            Ok(Flow::Stops)
        })
    }

    pub(crate) fn close_dirty(&mut self, process: usize, running: Running) -> Judged {
        self.abort_transaction(process);
        self.judge.ended(process);
        self.close(process, running)?;
        if !self.processes[process].transactional {
            // Kafka Streams wipes the directory of a task that was closed dirty.
            self.processes[process].lose_disk();
        }
        Ok(())
    }

    fn close(&mut self, process: usize, running: Running) -> Judged {
        let owner = &mut self.processes[process];
        let offset = sound(running.task.store().committed_offset(crate::process::CHANGELOG))?;
        sound(running.task.close())?;
        owner.durable = offset;
        owner.unsettled = false;
        Ok(())
    }

    pub(crate) fn stops_cleanly(&mut self, process: usize) -> Judged {
        let Some(mut running) = self.processes[process].running.take() else { return Ok(()) };
        if running.spoiled {
            return self.close_dirty(process, running);
        }
        self.commit(process, &mut running, None)?;
        let owner = &mut self.processes[process];
        sound(running.task.store_mut().commit(&owner.offsets()))?;
        self.trace.tell('E', [process, 0], || format!("P{process} stops"));
        self.judge.ended(process);
        self.close(process, running)
    }

    pub(crate) fn crashes(&mut self, process: usize) {
        if let Some(running) = self.processes[process].running.take() {
            self.crash(process, running);
        }
    }

    fn crash(&mut self, process: usize, running: Running) {
        self.trace.tell('K', [process, 0], || format!("P{process} crashes"));
        self.judge.ended(process);
        self.lose_memory(process);
        drop(running);
    }

    /// A crash leaves some of the newest writes on disk.
    pub(crate) fn lose_memory(&mut self, process: usize) {
        let kept = if self.random.chance(500) { usize::MAX } else { self.random.below(6) };
        let written = self.processes[process].disk.crash(kept);
        self.processes[process].unsettled = false;
        self.trace.say(|| format!("   of {written} unflushed writes {} are left", kept.min(written)));
        // Time passes until somebody starts it again.
        if self.random.chance(500) {
            self.compact(process);
        }
    }
}
