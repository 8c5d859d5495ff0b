//! What the journal asks of the thing that keeps its rows.

use std::ops::ControlFlow;

use bytes::Bytes;

use crate::keys::KeyRange;

/// Receives rows in the order of their keys, until it breaks.
pub type RowVisitor<'v> = dyn FnMut(&[u8], &Bytes) -> ControlFlow<()> + 'v;

/// An I/O failure. Whether a write that failed has happened is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(pub String);

/// Rows that are written together or not at all, by ascending key, each key once. `None` deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch(pub Vec<(Vec<u8>, Option<Bytes>)>);

/// Reads of committed rows.
pub trait Rows: Send + Sync {
    /// The value of a row.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError>;

    /// Shows the rows of a range, in order, until the visitor breaks. The visitor may not call the storage.
    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError>;
}

/// Keeps rows. One journal at a time uses it.
///
/// Batches are written one after the other. After a crash the storage shows a prefix of those that were written, never a
/// part of one, and at least those that were written before a [`Storage::sync`] that returned.
pub trait Storage: Rows {
    /// Writes a batch, which reads see from now on.
    fn write(&self, batch: &Batch) -> Result<(), StorageError>;

    /// Makes everything that was written durable. May be called while others read and write.
    fn sync(&self) -> Result<(), StorageError>;
}
