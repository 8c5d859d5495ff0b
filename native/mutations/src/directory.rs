//! A journal in a directory without its application: to look at, and to decide about what will not go on by itself.

use std::path::Path;
use std::sync::Arc;

use parsley_journal::action::{Action, Answer, Call};
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::inspect::{DeadLetter, Dump, LaneRow, PendingRow};
use parsley_journal::records::{Client, Identity};
use parsley_journal::report::{Outcome, Refused, RefusedKind};
use parsley_journal::storage::Storage;
use parsley_journal::{Config, JournalError};

use crate::error::Error;
use crate::ports::{Clock, SystemClock};
use crate::rocks::RocksStorage;

/// The journal of a directory that no store has open.
pub struct JournalDirectory {
    storage: Arc<RocksStorage>,
    engine: Engine,
}

impl JournalDirectory {
    /// Opens a journal to look at it; no file of it changes.
    pub fn look_at(directory: &Path) -> Result<Self, Error> {
        Self::of(RocksStorage::open_read_only(directory))
    }

    /// Opens a journal to retry or discard.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        Self::of(RocksStorage::open_existing(directory))
    }

    fn of(storage: Result<RocksStorage, parsley_journal::storage::StorageError>) -> Result<Self, Error> {
        let storage = Arc::new(storage.map_err(JournalError::from)?);
        let client = Engine::client_of(&*storage)?;
        let config = Config {
            client: client.map_or_else(|| "".into(), |client| client.id),
            // Used only by a first mutation, which is never made here; nor is anything drained.
            epoch: 0,
            codec_version: 0,
            chooses_preconditions: false,
            lanes_max: 1,
            attempts_max: None,
            age_max_ms: None,
        };
        let engine = Engine::open(storage.clone(), config)?;
        Ok(Self { storage, engine })
    }

    /// The client; `None` before its first mutation.
    pub fn client(&self) -> Option<Client> {
        self.engine.client()
    }

    /// All pending mutations, by sequence.
    pub fn pending_writes(&self) -> Result<Vec<PendingRow>, Error> {
        Ok(self.engine.pending_writes()?)
    }

    /// The mutations that were given up, by the time they were parked.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, Error> {
        Ok(self.engine.dead_letters()?)
    }

    /// The lanes that have work, by namespace.
    pub fn lanes(&self) -> Result<Vec<LaneRow>, Error> {
        Ok(self.engine.lanes()?)
    }

    /// Every row.
    pub fn dump(&self) -> Result<Dump, Error> {
        Ok(self.engine.dump()?)
    }

    /// Repeats a dead letter as a new mutation, whose sequence it returns.
    pub fn retry(&mut self, sequence: u64) -> Result<u64, Error> {
        match self.run(Operation::Retry(sequence))? {
            Outcome::Retried(new) => Ok(new),
            Outcome::Refused(refused) => Err(refusal(refused)),
            other => Err(Error::Storage(format!("the engine ended a retry with {other:?}"))),
        }
    }

    /// Dismisses a row. Returns the identity to read afresh, where the server's answer was not adopted.
    pub fn discard(&mut self, sequence: u64, note: &str) -> Result<Option<Identity>, Error> {
        match self.run(Operation::Discard { sequence, note: note.into() })? {
            Outcome::Discarded { refresh, .. } => Ok(refresh),
            Outcome::Refused(refused) => Err(refusal(refused)),
            other => Err(Error::Storage(format!("the engine ended a discard with {other:?}"))),
        }
    }

    fn run(&mut self, operation: Operation) -> Result<Outcome, Error> {
        self.engine.start(operation);
        while let Some(action) = self.engine.next(SystemClock.now_ms()) {
            match action {
                Action::Finished { outcome, .. } => return Ok(outcome),
                Action::Call { id, call, .. } => {
                    let done = match &call {
                        Call::Commit { batch, .. } => self.storage.write(batch),
                        Call::Sync => self.storage.sync(),
                        other => Err(parsley_journal::storage::StorageError(format!(
                            "neither a retry nor a discard asks for {other:?}"
                        ))),
                    };
                    let answer =
                        done.map_or_else(|error| Answer::Threw(error.to_string()), |()| Answer::Done);
                    self.engine.answer(id, answer);
                }
                Action::Emit(_) | Action::Poison { .. } | Action::Abandon(_) => {}
            }
        }
        Err(Error::Storage("the engine stopped before the operation had ended".to_owned()))
    }
}

fn refusal(refused: Refused) -> Error {
    match refused.kind {
        RefusedKind::WrongRow => Error::WrongRow(refused.message),
        _ => Error::Storage(refused.message),
    }
}
