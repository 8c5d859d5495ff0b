//! Runs the operations of a scenario on one engine at a time, over a store in memory.
//!
//! The store is the one that tasks run on, over rows in memory. A commit writes what is staged, and everything else
//! that ends an execution drops it, so the next open finds what was last committed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use parsley_core::causes::CAUSES_HEADER;
use parsley_core::channel::{ChannelId, Position};
use parsley_core::engine::{CausesHeader, Engine, Next, Receipt, Received};
use parsley_core::held::Record;
use parsley_core::refusal::{Fault, Refusal};
use parsley_core::rows::{Rows, RowsError};
use parsley_store::{MemoryBackend, MemoryDisk, OrderingStore, StoreError};

use crate::event::Event;
use crate::scenario::{NotAScenario, Operation, Step};

type Store = OrderingStore<MemoryBackend>;

/// Why a replay ends before its scenario does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The operation can't come where it stands.
    #[error(transparent)]
    NotAScenario(#[from] NotAScenario),
    /// The store in memory failed, which is a fault of this program.
    #[error(transparent)]
    Store(#[from] RowsError),
}

/// Why an operation did not go through.
enum Failure {
    Refused(Refusal),
    Stopped(Stop),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) => Self::Refused(refusal),
            Fault::Rows(error) => Self::Stopped(error.into()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Stopped(RowsError::from(error).into())
    }
}

impl From<RowsError> for Failure {
    fn from(error: RowsError) -> Self {
        Self::Stopped(error.into())
    }
}

fn misplaced<T>(what: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Stopped(NotAScenario(what.into()).into()))
}

/// A scenario as far as it has been run.
pub(crate) struct Replay {
    store: Store,
    execution: Execution,
    opened_once: bool,
    /// Of the last open, refused or not: the index that its engine knows each channel by.
    received: BTreeMap<ChannelId, usize>,
}

enum Execution {
    /// Nothing was opened yet, or it was closed.
    Closed,
    Open(Box<Running>),
    /// Ended by a refusal. Lines are still judged, and otherwise ignored.
    Refused,
}

struct Running {
    engine: Engine,
    /// By the index that the engine knows them by.
    channels: Vec<ChannelId>,
    fed: bool,
}

impl Replay {
    /// An empty store, and nothing open.
    pub(crate) fn new() -> Result<Self, Stop> {
        let store = committed(Vec::new()).map_err(RowsError::from)?;
        Ok(Self { store, execution: Execution::Closed, opened_once: false, received: BTreeMap::new() })
    }

    /// Runs one operation and adds what it answers to `events`.
    pub(crate) fn apply(&mut self, operation: Operation, events: &mut Vec<Event>) -> Result<(), Stop> {
        let applied = match operation {
            Operation::Rows(rows) => self.set_rows(rows),
            Operation::Open { received, budget_bytes } => self.open(&received, budget_bytes),
            Operation::Step(step) => self.step(step, events),
        };
        match applied {
            Ok(()) => Ok(()),
            Err(Failure::Stopped(stop)) => Err(stop),
            Err(Failure::Refused(refusal)) => {
                self.end(Execution::Refused);
                events.push(Event::Refused { reason: refusal.reason, text: refusal.to_string() });
                Ok(())
            }
        }
    }

    fn set_rows(&mut self, rows: Vec<(Bytes, Bytes)>) -> Result<(), Failure> {
        if self.opened_once {
            return misplaced("rows come before the first open");
        }
        self.store = committed(rows)?;
        Ok(())
    }

    /// Starts from what was last committed, whatever was going on.
    fn open(&mut self, received: &[Received], budget_bytes: usize) -> Result<(), Failure> {
        self.opened_once = true;
        self.end(Execution::Closed);
        let channels: Vec<ChannelId> = received.iter().map(|received| received.channel).collect();
        self.received = channels.iter().enumerate().map(|(index, channel)| (*channel, index)).collect();
        let engine = Engine::open(received, budget_bytes, &self.store)?;
        self.execution = Execution::Open(Box::new(Running { engine, channels, fed: false }));
        Ok(())
    }

    /// Drops everything since the last commit.
    fn end(&mut self, end: Execution) {
        self.store.discard_staged();
        self.execution = end;
    }

    fn step(&mut self, step: Step, events: &mut Vec<Event>) -> Result<(), Failure> {
        if matches!(self.execution, Execution::Closed) {
            return misplaced("nothing is open: an open has to come first");
        }
        if let Step::Feed { channel, .. } = &step
            && !self.received.contains_key(channel)
        {
            return misplaced(format!("{channel} is fed, but the last open does not receive it"));
        }
        let Execution::Open(running) = &mut self.execution else { return Ok(()) };
        match step {
            Step::Feed { channel, position, record } => {
                running.feed(self.received[&channel], position, &record, &self.store, events)?;
            }
            Step::Identities { dead, recreated } => {
                if running.fed {
                    return misplaced("identities come between an open and its first feed");
                }
                running.engine.identities(&dead, &recreated)?;
            }
            Step::Stamp => events.push(Event::Stamp(running.engine.stamp().to_vec())),
            Step::Status => events.push(Event::Status {
                held: running.engine.held_counts().filter(|(_, count)| *count > 0).collect(),
                blocked: running.engine.blocked(),
            }),
            Step::Store => {
                // Staged rows go with the next commit, or with whatever ends the execution before it, exactly as they
                // would have from the engine.
                stage(&mut running.engine, &mut self.store)?;
                events.push(Event::Store(all_rows(&self.store)?));
            }
            Step::Commit => {
                stage(&mut running.engine, &mut self.store)?;
                commit(&mut self.store)?;
            }
            Step::Abort | Step::Crash => self.end(Execution::Closed),
        }
        Ok(())
    }
}

impl Running {
    /// Feeds one record and drains what it releases.
    fn feed(
        &mut self,
        index: usize,
        position: Position,
        record: &Record,
        store: &Store,
        events: &mut Vec<Event>,
    ) -> Result<(), Failure> {
        self.fed = true;
        let channel = self.channels[index];
        let receipt = self.engine.receive(index, position, causes_header(record))?;
        match receipt {
            Receipt::Duplicate => events.push(Event::Duplicate(channel, position)),
            Receipt::Delivered => events.push(Event::Delivered(channel, position)),
            Receipt::Pending => {}
        }
        let mut waits = receipt == Receipt::Pending;
        loop {
            match self.engine.next(store)? {
                Next::None => break,
                Next::Current => {
                    waits = false;
                    events.push(Event::Delivered(channel, position));
                }
                Next::Held(released) => {
                    events.push(Event::Delivered(self.channels[released.channel], released.position));
                }
            }
        }
        if waits {
            let Some(record) = record.encode() else {
                return misplaced("the record has a field of more than 2147483647 bytes");
            };
            self.engine.hold(&record).expect("an encoded record is a record part");
            events.push(Event::Held(channel, position));
        }
        Ok(())
    }
}

fn causes_header(record: &Record) -> CausesHeader<'_> {
    let mut found = record.headers.iter().filter(|header| header.name == CAUSES_HEADER);
    match (found.next(), found.next()) {
        (None, _) => CausesHeader::Absent,
        (Some(header), None) => CausesHeader::Once(header.value.as_deref()),
        (Some(_), Some(_)) => CausesHeader::Repeated,
    }
}

/// A store in which exactly these rows are committed; of two with one key, the later one.
fn committed(rows: Vec<(Bytes, Bytes)>) -> Result<Store, StoreError> {
    let mut store = OrderingStore::open(MemoryBackend::open(&MemoryDisk::new())?)?;
    for (key, value) in rows {
        store.put(key, Some(value))?;
    }
    commit(&mut store)?;
    Ok(store)
}

/// No changelog stands behind this store, so there is no offset to keep.
fn commit(store: &mut Store) -> Result<(), StoreError> {
    store.commit(&[])
}

fn stage(engine: &mut Engine, store: &mut Store) -> Result<(), StoreError> {
    let mut changes = Vec::new();
    engine.flush(&mut |key, value| changes.push((key, value)));
    changes.into_iter().try_for_each(|(key, value)| store.put(key, value))
}

fn all_rows(store: &Store) -> Result<Vec<(Bytes, Bytes)>, RowsError> {
    let mut rows = Vec::new();
    store.visit(&mut |key, value| {
        rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}
