//! How operations end.

use crate::action::CallId;
use crate::names::FailureKind;
use crate::records::Identity;

/// The end of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The intent is durable under this sequence.
    Mutated(u64),
    /// The dead letter is a new intent under this sequence.
    Retried(u64),
    /// The row is dismissed.
    Discarded {
        /// The row.
        sequence: u64,
        /// The key to read afresh: the server's value for it was not adopted.
        refresh: Option<Identity>,
    },
    /// It is not possible, and nothing has changed.
    Refused(Refused),
    /// A drain went through, or stopped as its error says.
    Drained(Report, Option<DrainError>),
}

/// Why a mutate, retry or discard is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// What kind of reason.
    pub kind: RefusedKind,
    /// The text for people.
    pub message: String,
    /// The call that failed, if one did, by which the driver knows the error itself.
    pub call: Option<CallId>,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedKind {
    /// The resolver knows no key, failed, or answered another one.
    Unresolved,
    /// The resolver can't tell now: try again.
    Unavailable,
    /// The caller gave up.
    Cancelled,
    /// A callback panicked, or failed in a way that must end the process.
    Fatal,
    /// The row is not one that this can be done to.
    WrongRow,
    /// The journal could not be read or written; whether it was written is not known.
    Storage,
}

/// What a drain did and what it could not do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One for each visit of an identity, in order.
    pub identities: Vec<IdentityReport>,
    /// How far the checkpoint is.
    pub checkpoint: Checkpoint,
}

/// What a drain did for one identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityReport {
    /// The identity.
    pub identity: Identity,
    /// Pushes made.
    pub pushes: u32,
    /// Answers made durable.
    pub acks: u32,
    /// Mutations retired.
    pub retired: u32,
    /// Mutations that became dead letters.
    pub parked: Vec<u64>,
    /// What keeps the rest from going on.
    pub blocked: Option<Blocked>,
}

impl IdentityReport {
    /// Nothing done yet.
    pub fn new(identity: Identity) -> Self {
        Self { identity, pushes: 0, acks: 0, retired: 0, parked: Vec::new(), blocked: None }
    }
}

/// What keeps an identity from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Another identity owns the lane, by this mutation.
    Owner {
        /// The mutation.
        sequence: u64,
    },
    /// Another operation is at work in the lane.
    Busy,
    /// The head waits for its next try.
    Backoff {
        /// The head.
        sequence: u64,
        /// When it may be tried.
        eligible_at: i64,
    },
    /// The head's mutator has nothing to do on the base, for now.
    Declined {
        /// The head.
        sequence: u64,
    },
    /// The resolver can't tell the key now.
    Unavailable {
        /// Whose key.
        identity: Identity,
    },
    /// The resolver gave no key, and there was nothing to park for it.
    Unresolved {
        /// Whose key.
        identity: Identity,
        /// Why.
        message: String,
    },
    /// A callback or the storage failed.
    Failed {
        /// The head; `None` if none was chosen.
        sequence: Option<u64>,
        /// What kind of thing failed.
        kind: FailureKind,
        /// The text for people.
        message: String,
    },
    /// The push met a conflict: the next drain settles it.
    Conflict {
        /// The head.
        sequence: u64,
    },
}

/// How far settled mutations are confirmed by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The settled prefix.
    pub retired_through: u64,
    /// What the server has confirmed.
    pub confirmed_through: u64,
    /// The last try to tell the server failed.
    pub failed: bool,
}

/// Why a drain throws.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DrainError {
    /// What kind of reason.
    pub kind: DrainErrorKind,
    /// The text for people.
    pub message: String,
    /// The call that failed, if one did, by which the driver knows the error itself.
    pub call: Option<CallId>,
    /// Other failures of the same kind of step, in order.
    pub others: Vec<(String, Option<CallId>)>,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainErrorKind {
    /// A failure after the answer, kept as a row: ADOPTION, EFFECT or IDENTITY.
    Kept(FailureKind),
    /// A local port or the storage failed: PERSISTENCE, never a row.
    Persistence,
    /// The caller gave up.
    Cancelled,
    /// A callback panicked, or failed in a way that must end the process.
    Fatal,
}
