//! What can go wrong, by what the caller can do about it.

use parsley_journal::JournalError;
use parsley_journal::names::FailureKind;
use parsley_journal::records::Identity;
use parsley_journal::report::Report;

/// An error of the application's own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store is closed.
    #[error("the mutation store is closed")]
    Closed,
    /// The caller gave up. What is durable stays; the next drain goes on from there.
    #[error("cancelled")]
    Cancelled,
    /// The resolver gave no key for where the mutation leads. Nothing is journaled.
    #[error("the key of {identity} was not found: {message}")]
    Unresolved {
        /// The identity.
        identity: Identity,
        /// Why.
        message: String,
        /// The resolver's own error, if it failed.
        source: Option<BoxError>,
    },
    /// The resolver can't tell now. Nothing is journaled; try again.
    #[error("{0}")]
    Unavailable(String),
    /// Arguments could not be encoded, or do not read back. Nothing is journaled.
    #[error("the arguments of mutator {mutator} can't be journaled: {source}")]
    Arguments {
        /// The mutator.
        mutator: String,
        /// The codec's error.
        source: BoxError,
    },
    /// This can't be done to that row. Nothing has changed.
    #[error("{0}")]
    WrongRow(String),
    /// A drain stopped; it says what it did.
    #[error("{0}")]
    Drain(#[from] Box<DrainFailed>),
    /// The journal could not be read or written, or is damaged.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The journal could not be read or written; whether it was written is not known.
    #[error("{0}")]
    Storage(String),
    /// The builder was given something that can't be.
    #[error("{0}")]
    Configuration(String),
}

/// A drain that stopped with an error of the application's, or of the storage.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct DrainFailed {
    /// ADOPTION, EFFECT or IDENTITY: kept as a row, and tried again by the next drain. PERSISTENCE: a local port or the
    /// storage failed.
    pub kind: FailureKind,
    /// The text for people.
    pub message: String,
    /// The application's own error, where one failed.
    pub source: Option<BoxError>,
    /// Other failures of the same pass over a row's effects.
    pub others: Vec<BoxError>,
    /// What the drain did.
    pub report: Report,
}
