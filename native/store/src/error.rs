//! What can go wrong with a store.

use std::fmt::Display;
use std::path::PathBuf;

use parsley_core::rows::RowsError;

/// Why the store gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another store, of this process or of another one, has the directory open.
    #[error(
        "{} is in use by another store: close it or stop the process that has it, then open this one again",
        directory.display()
    )]
    InUse {
        /// The directory asked for.
        directory: PathBuf,
    },
    /// Reading or writing failed; the store refuses every call until it is reopened.
    #[error("{action} failed: {cause}; close the store and open it again")]
    Io {
        /// What the store was doing.
        action: &'static str,
        /// What the layer below said.
        cause: String,
    },
    /// A call came when the rules of this crate do not allow it. Nothing was changed.
    #[error("{0}")]
    Misuse(&'static str),
    /// An earlier call failed, and the store refuses since then.
    #[error("the store refuses since an earlier failure, close it and open it again: {first}")]
    Refusing {
        /// The text of the first failure.
        first: String,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, cause: &dyn Display) -> Self {
        Self::Io { action, cause: cause.to_string() }
    }
}

impl From<StoreError> for RowsError {
    fn from(error: StoreError) -> Self {
        RowsError(error.to_string())
    }
}
