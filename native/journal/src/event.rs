//! What happened to mutations, for whoever listens. Advisory: what is durable is told by the journal itself.

use crate::names::{FailureKind, PendingState};
use crate::records::{Identity, Meta};
use std::sync::Arc;

/// One thing that happened, and is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in milliseconds of the Unix epoch.
    pub at: i64,
    /// The mutation; `None` for the checkpoint.
    pub sequence: Option<u64>,
    /// Its identity: where it was enqueued, later where its generation is pushed. Never rewritten by an alias.
    pub identity: Option<Identity>,
    /// What happened.
    pub kind: EventKind,
}

/// A failure as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureNote {
    /// What kind of thing failed.
    pub kind: FailureKind,
    /// What exactly.
    pub detail: Arc<str>,
    /// The text for people.
    pub message: Arc<str>,
    /// When.
    pub occurred_at: i64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An intent was accepted.
    Enqueued {
        /// Its mutator.
        mutator: Arc<str>,
    },
    /// A generation is about to be pushed.
    Attempted {
        /// The generation.
        generation: u32,
        /// Which push of this generation, from 1.
        attempt: u32,
    },
    /// The server signalled a conflict.
    ConflictObserved {
        /// The generation.
        generation: u32,
        /// What the server told of its value.
        server: Option<Meta>,
    },
    /// The server's answer is durable.
    Acknowledged {
        /// The generation.
        generation: u32,
        /// Whether the server has a value now.
        present: bool,
    },
    /// The answer is adopted.
    Adopted {
        /// The generation.
        generation: u32,
        /// Whether the server has a value now.
        present: bool,
    },
    /// An effect is done.
    EffectApplied {
        /// The generation.
        generation: u32,
        /// The effect.
        index: u32,
    },
    /// An effect will not be done.
    EffectSkipped {
        /// The generation.
        generation: u32,
        /// The effect.
        index: u32,
    },
    /// Something failed and will be tried again.
    Failed {
        /// The generation.
        generation: u32,
        /// Where the mutation stands.
        state: PendingState,
        /// The failure.
        failure: FailureNote,
    },
    /// The mutation became a dead letter.
    Parked {
        /// The generation.
        generation: u32,
        /// The failure.
        failure: FailureNote,
    },
    /// The mutation is done.
    Retired {
        /// The generation.
        generation: u32,
        /// The settled prefix.
        retired_through: u64,
    },
    /// The server confirmed a later checkpoint.
    CheckpointConfirmed {
        /// What was asked.
        requested: u64,
        /// What the server confirmed.
        confirmed: u64,
    },
    /// The checkpoint was not confirmed or not stored.
    CheckpointFailed {
        /// What was asked.
        requested: u64,
        /// The failure.
        failure: FailureNote,
    },
}
