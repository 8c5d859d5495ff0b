//! What the engine asks of the store that keeps its rows.

use std::ops::ControlFlow;

use bytes::Bytes;

/// Is shown a row's key and value, and says whether to go on.
pub type RowVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Reads of one store. They see everything staged, also what is not committed yet.
pub trait Rows {
    /// The value of `key`, or `None` when there is no such row.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, RowsError>;

    /// Shows every row, in unsigned byte order of the keys, until the visitor breaks.
    fn visit(&self, visitor: &mut RowVisitor<'_>) -> Result<(), RowsError>;
}

/// The store could not be read. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ordering store can't be read: {0}")]
pub struct RowsError(pub String);
