//! The mutation journals that are open in this process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use jni::jni_str;
use parsley_journal::action::{Action, Answer, Call};
use parsley_journal::engine::Engine;
use parsley_journal::keys::KeyRange;
use parsley_journal::storage::{Batch, RowVisitor, Rows, Storage, StorageError};

use crate::guard::{Family, Fault};
use crate::handles::Registry;
use crate::journal_answers::Opening;
use crate::journal_calls::action;
use crate::wire::Writer;

pub(crate) static JOURNALS: Registry<OpenJournal> = Registry::new();

pub(crate) const FAMILY: Family = Family {
    close: |journal| {
        let _ = JOURNALS.close(journal, OpenJournal::close);
    },
    failed: jni_str!("dev/parsley/mutations/JournalException"),
    gone: jni_str!("dev/parsley/mutations/StoreClosedException"),
};

/// Uses the journal behind a number.
pub(crate) fn with_journal<R>(
    handle: i64,
    call: impl FnOnce(&mut OpenJournal) -> Result<R, Fault>,
) -> Result<R, Fault> {
    JOURNALS.with(handle, call)?
}

/// What one number stands for.
pub(crate) struct OpenJournal {
    pub(crate) engine: Engine,
    pub(crate) storage: Arc<Held>,
    hands_out_commits: bool,
    /// Transactions that Java was handed and has not said the word for.
    held_back: HashMap<u64, Batch>,
}

impl OpenJournal {
    pub(crate) fn open(storage: Box<dyn Storage>, opening: Opening) -> Result<Self, Fault> {
        let storage = Arc::new(Held(RwLock::new(Some(storage))));
        let engine = Engine::open(storage.clone(), opening.config)?;
        Ok(Self { engine, storage, hands_out_commits: opening.hands_out_commits, held_back: HashMap::new() })
    }

    /// Has the engine go on to where it waits for Java, and writes its transactions meanwhile.
    pub(crate) fn next(&mut self, now_ms: i64, to: &mut Writer) {
        while let Some(next) = self.engine.next(now_ms) {
            match next {
                Action::Call { id, call: Call::Commit { batch, .. }, .. } if !self.hands_out_commits => {
                    let written = self.write(&batch);
                    self.engine.answer(id, written);
                }
                next => {
                    action(to, &next);
                    if let Action::Call { id, call: Call::Commit { batch, .. }, .. } = next {
                        self.held_back.insert(id.0, batch);
                    }
                }
            }
        }
    }

    /// Writes a transaction that was handed out, for Java to answer.
    pub(crate) fn commit(&mut self, call: u64) -> Result<(), Fault> {
        let batch = self.held_back.remove(&call);
        let batch = batch.ok_or_else(|| Fault::argument(format!("call {call} is no commit that waits")))?;
        Ok(self.storage.write(&batch)?)
    }

    fn write(&self, batch: &Batch) -> Answer {
        match self.storage.write(batch) {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Threw(error.to_string()),
        }
    }

    /// Ends it. Its directory is free when this returns.
    pub(crate) fn close(self) {
        let Self { engine, storage, .. } = self;
        drop(engine);
        storage.close();
    }
}

/// A storage that can be closed while others still know of it: a sync runs outside the lock of its journal.
pub(crate) struct Held(RwLock<Option<Box<dyn Storage>>>);

impl Held {
    /// Waits for reads and syncs that run, and frees what the storage has.
    fn close(&self) {
        let storage = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(storage);
    }

    /// No code runs under the lock that leaves anything half done.
    fn guard(&self) -> RwLockReadGuard<'_, Option<Box<dyn Storage>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn closed() -> StorageError {
    StorageError("the journal is closed".to_owned())
}

impl Rows for Held {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.guard().as_ref().ok_or_else(closed)?.get(key)
    }

    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError> {
        self.guard().as_ref().ok_or_else(closed)?.scan(range, visitor)
    }
}

impl Storage for Held {
    fn write(&self, batch: &Batch) -> Result<(), StorageError> {
        self.guard().as_ref().ok_or_else(closed)?.write(batch)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.guard().as_ref().ok_or_else(closed)?.sync()
    }
}
