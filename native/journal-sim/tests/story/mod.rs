//! A story over the parts of a world: every call is answered as it should be, but where the story says otherwise.

use parsley_journal::action::Call;
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::inspect::Dump;
use parsley_journal::mutate::Mutation;
use parsley_journal::report::Outcome;
use parsley_journal_sim::app::{Doing, Request};
use parsley_journal_sim::stage::{Reply, Stage, called};

use crate::common::{config, honest, key};

pub struct Story {
    pub stage: Stage,
}

impl Story {
    pub fn new() -> Self {
        Self::with_lanes(1)
    }

    pub fn with_lanes(lanes_max: usize) -> Self {
        let mut stage = Stage::new("c", false);
        stage.open(config(lanes_max)).unwrap();
        Self { stage }
    }

    /// Mutates a key, and nothing else becomes stale.
    pub fn mutate(&mut self, at: &str, doing: Doing) -> u64 {
        self.mutate_with(at, Request { doing, keys: Vec::new(), namespaces: Vec::new() })
    }

    pub fn mutate_with(&mut self, at: &str, request: Request) -> u64 {
        let mutator = self.stage.app.request(request);
        self.run(Operation::Mutate(Mutation { key: key(at), mutator }), honest);
        match self.stage.outcomes.last() {
            Some((_, Outcome::Mutated(sequence))) => *sequence,
            other => panic!("not accepted: {other:?}"),
        }
    }

    pub fn drain(&mut self, at: &str, reply: impl FnMut(&Call) -> Reply) -> Vec<String> {
        self.run(Operation::Drain(key(at)), reply)
    }

    pub fn drain_all(&mut self, reply: impl FnMut(&Call) -> Reply) -> Vec<String> {
        self.run(Operation::DrainAll, reply)
    }

    /// Runs an operation to its end, and gives the calls that it made, in words.
    pub fn run(&mut self, operation: Operation, mut reply: impl FnMut(&Call) -> Reply) -> Vec<String> {
        self.stage.start(operation).unwrap();
        let mut calls = Vec::new();
        while let Some(out) = self.stage.calls.first() {
            calls.push(called(&out.call));
            let reply = reply(&out.call);
            self.stage.reply(0, &reply).unwrap();
        }
        calls
    }

    /// Starts an operation and answers what comes until a call of this name is out.
    pub fn run_until(&mut self, operation: Operation, name: &str) {
        self.stage.start(operation).unwrap();
        while !called(&self.stage.calls[0].call).starts_with(name) {
            self.stage.reply(0, &Reply::Honest).unwrap();
        }
    }

    pub fn engine(&self) -> &Engine {
        self.stage.engine.as_ref().unwrap()
    }

    pub fn dump(&self) -> Dump {
        self.engine().dump().unwrap()
    }

    /// Closes the journal and opens it again.
    pub fn reopen(&mut self) {
        self.stage.kill(None);
        self.stage.open(config(1)).unwrap();
    }
}

/// The calls that begin so.
pub fn only(calls: &[String], names: &[&str]) -> Vec<String> {
    calls.iter().filter(|call| names.iter().any(|name| call.starts_with(name))).cloned().collect()
}
