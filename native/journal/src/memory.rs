//! Rows in memory, gone with the process: the storage of a journal that was given none.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;

use crate::keys::KeyRange;
use crate::storage::{Batch, RowVisitor, Rows, Storage, StorageError};

/// Rows in memory.
#[derive(Debug, Default)]
pub struct MemoryStorage(RwLock<BTreeMap<Vec<u8>, Bytes>>);

impl MemoryStorage {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every row, by key.
    pub fn rows(&self) -> BTreeMap<Vec<u8>, Bytes> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<BTreeMap<Vec<u8>, Bytes>> for MemoryStorage {
    fn from(rows: BTreeMap<Vec<u8>, Bytes>) -> Self {
        Self(RwLock::new(rows))
    }
}

// A panic while the lock was held can only have come from a visitor, which does not write.
impl Rows for MemoryStorage {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError> {
        if range.start >= range.end {
            return Ok(());
        }
        let rows = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let bounds = (Bound::Included(range.start.as_slice()), Bound::Excluded(range.end.as_slice()));
        for (key, value) in rows.range::<[u8], _>(bounds) {
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Storage for MemoryStorage {
    fn write(&self, batch: &Batch) -> Result<(), StorageError> {
        let mut rows = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in &batch.0 {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }
}
