//! The storage double: what is written is there, what was not synced may be lost, and reads can fail.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use parsley_journal::keys::KeyRange;
use parsley_journal::storage::{Batch, RowVisitor, Rows, StorageError};

type Table = BTreeMap<Vec<u8>, Bytes>;

/// A disk that outlives the processes that use it.
#[derive(Debug, Default)]
pub struct Disk {
    state: RwLock<State>,
    reads_fail: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    written: Table,
    durable: Table,
    /// Batches since the last sync, the oldest first.
    unsynced: Vec<Batch>,
}

fn apply(table: &mut Table, batch: &Batch) {
    for (key, value) in &batch.0 {
        match value {
            Some(value) => table.insert(key.clone(), value.clone()),
            None => table.remove(key),
        };
    }
}

impl Disk {
    /// Writes a batch.
    pub fn write(&self, batch: &Batch) {
        let state = &mut *self.state.write().unwrap_or_else(PoisonError::into_inner);
        apply(&mut state.written, batch);
        state.unsynced.push(batch.clone());
    }

    /// Makes all that was written durable.
    pub fn sync(&self) {
        let state = &mut *self.state.write().unwrap_or_else(PoisonError::into_inner);
        for batch in state.unsynced.drain(..) {
            apply(&mut state.durable, &batch);
        }
    }

    /// Batches that a loss of power can take.
    pub fn unsynced(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).unsynced.len()
    }

    /// The power goes: of the batches that were not synced only the first `kept` are left, and those are durable now.
    pub fn lose_power(&self, kept: usize) {
        let state = &mut *self.state.write().unwrap_or_else(PoisonError::into_inner);
        for batch in state.unsynced.drain(..).take(kept) {
            apply(&mut state.durable, &batch);
        }
        state.written = state.durable.clone();
    }

    /// Whether reads fail from now on.
    pub fn fail_reads(&self, fail: bool) {
        self.reads_fail.store(fail, Ordering::Relaxed);
    }

    /// Every row, by key.
    pub fn rows(&self) -> BTreeMap<Vec<u8>, Bytes> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).written.clone()
    }

    fn readable(&self) -> Result<(), StorageError> {
        if self.reads_fail.load(Ordering::Relaxed) {
            return Err(StorageError("the disk does not answer".to_owned()));
        }
        Ok(())
    }
}

impl Rows for Disk {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.readable()?;
        Ok(self.state.read().unwrap_or_else(PoisonError::into_inner).written.get(key).cloned())
    }

    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError> {
        self.readable()?;
        if range.start >= range.end {
            return Ok(());
        }
        let bounds = (Bound::Included(range.start.as_slice()), Bound::Excluded(range.end.as_slice()));
        for (key, value) in
            self.state.read().unwrap_or_else(PoisonError::into_inner).written.range::<[u8], _>(bounds)
        {
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}
