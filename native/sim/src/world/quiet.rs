//! The end of a run: nothing goes wrong any more, everything is read, and all that can be delivered must be.

use super::World;
use crate::judge::{Judged, Rule, Violation};

/// Starts of one process until it has to run: each refusal is mended before the next.
const STARTS_MAX: usize = 12;

impl World {
    pub(crate) fn come_to_rest(&mut self) -> Judged {
        self.quiet = true;
        self.trace.say(|| "everything comes to rest".to_owned());
        for process in 0..self.processes.len() {
            self.stops_cleanly(process)?;
            self.start_surely(process)?;
        }
        let mut moved = true;
        while moved {
            moved = false;
            for process in 0..self.processes.len() {
                moved |= self.read_to_end(process)?;
            }
        }
        for process in 0..self.processes.len() {
            self.judge.quiet(process)?;
        }
        Ok(())
    }

    fn start_surely(&mut self, process: usize) -> Judged {
        for _ in 0..STARTS_MAX {
            if self.processes[process].running.is_some() {
                return Ok(());
            }
            self.start(process)?;
        }
        Err(Violation::new(Rule::NothingLost, format!("P{process} can't be started, whatever is done")))
    }

    /// Reads everything that can be read. True if there was anything.
    fn read_to_end(&mut self, process: usize) -> Judged<bool> {
        self.start_surely(process)?;
        self.punctuates(process)?;
        let mut moved = false;
        loop {
            let mut found = false;
            self.with(process, |world, running| {
                let (flow, any) = world.poll(process, running)?;
                found = any;
                Ok(flow)
            })?;
            moved |= found;
            if self.processes[process].running.is_none() {
                self.start_surely(process)?;
            } else if !found {
                break;
            }
            if self.random.chance(30) {
                self.commits(process, None)?;
            }
        }
        self.commits(process, None)?;
        Ok(moved)
    }
}
