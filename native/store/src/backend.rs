//! What the ordering store asks of the thing that keeps its committed rows.

use bytes::Bytes;
use parsley_core::rows::RowVisitor;

use crate::error::StoreError;
use crate::range::{Direction, KeyRange};

/// One changed row: its key, and its value or `None` where the row is deleted.
pub type RowChange<'a> = (&'a Bytes, Option<&'a Bytes>);

/// Changes that reach the backend together or not at all.
pub struct Batch<'batch, 'rows> {
    /// Changed rows by ascending key, each key once.
    pub rows: &'batch mut dyn Iterator<Item = RowChange<'rows>>,
    /// Changed changelog offsets by name; `None` forgets the offset.
    pub offsets: &'batch [(String, Option<i64>)],
}

/// Keeps committed rows and the changelog offset they stand for.
///
/// After a crash a backend shows a prefix of the batches that were written, never a part of one and never a later one
/// without the earlier ones. A batch that was written before a [`Backend::flush`] that returned is in that prefix.
pub trait Backend {
    /// The value of a row.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Shows the rows of a range, in order, until the visitor breaks. The visitor may not call the backend.
    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visitor: &mut RowVisitor<'_>,
    ) -> Result<(), StoreError>;

    /// About how many rows there are.
    fn approximate_entries(&self) -> Result<u64, StoreError>;

    /// Every stored offset.
    fn offsets(&self) -> Result<Vec<(String, i64)>, StoreError>;

    /// Applies a batch.
    fn write(&mut self, batch: Batch<'_, '_>) -> Result<(), StoreError>;

    /// Makes everything written survive a crash.
    fn flush(&mut self) -> Result<(), StoreError>;

    /// Drops every row and offset, durably.
    fn clear(&mut self) -> Result<(), StoreError>;
}
