//! The records of the journal: what is durable about each mutation.
//!
//! Times are milliseconds of the Unix epoch. A sequence counts a client's mutations from 1, without gaps.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::names::{AliasState, Disposition, FailureKind, Phase, TombstoneState};

/// What a mutation is about: a namespace and an id in it, compared verbatim. The derived order is that of the UTF-8
/// bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The namespace; also the lane in which mutations are pushed.
    pub namespace: Arc<str>,
    /// The id within the namespace.
    pub id: Arc<str>,
}

impl Identity {
    /// An identity of two texts.
    pub fn new(namespace: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), id: id.into() }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.id)
    }
}

/// A value, or that there must be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// An encoded value.
    Present(Bytes),
    /// No value.
    Absent,
}

/// What a server or a cache tells about a value besides its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// When the value was written.
    pub written_at: Option<i64>,
    /// The version that the server gave it.
    pub etag: Option<Arc<str>>,
}

/// The one client of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The name that the user chose, for ever.
    pub id: Arc<str>,
    /// Drawn when the row is first written, so that a journal begun anew can't reuse an idempotency key.
    pub epoch: u64,
    /// The last sequence given to an intent.
    pub allocated: u64,
    /// Everything up to here is retired or dismissed.
    pub retired_through: u64,
    /// The server has confirmed the checkpoint up to here.
    pub confirmed_through: u64,
    /// When the row was first written.
    pub created_at: i64,
}

impl Client {
    /// The first row of a journal.
    pub fn new(id: Arc<str>, epoch: u64, created_at: i64) -> Self {
        Self { id, epoch, allocated: 0, retired_through: 0, confirmed_through: 0, created_at }
    }

    /// `<clientId>:<epoch>:<seq>`: what all generations of a mutation have in common.
    pub fn idempotency_root(&self, sequence: u64) -> String {
        format!("{}:{:016x}:{sequence}", self.id, self.epoch)
    }

    /// `<clientId>:<epoch>:<seq>:g<generation>`: the same on every transmission of a generation.
    pub fn idempotency_key(&self, sequence: u64, generation: u32) -> String {
        format!("{}:{:016x}:{sequence}:g{generation}", self.id, self.epoch)
    }
}

/// `mutation-<seq>`, the name of a mutation for people.
pub fn mutation_id(sequence: u64) -> String {
    format!("mutation-{sequence}")
}

/// An accepted write request. Never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The terminal identity when it was accepted.
    pub identity: Identity,
    /// The name of the mutator.
    pub mutator: Arc<str>,
    /// The version of the encoding of the arguments, at least 1.
    pub mutator_version: u32,
    /// The encoded arguments.
    pub args: Bytes,
    /// The dead letter that this one repeats.
    pub retry_of: Option<u64>,
    /// When it was accepted.
    pub created_at: i64,
}

/// Who dismissed a row by hand, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dismissal {
    /// When.
    pub at: i64,
    /// What was said; for a retry, its new sequence.
    pub note: Arc<str>,
}

/// The state of a mutation: the one row that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Where it stands.
    pub phase: Phase,
    /// The current generation; 0 before the first.
    pub generation: u32,
    /// Completed pushes of the current generation.
    pub attempt: u32,
    /// When the last of them was answered.
    pub last_attempt_at: Option<i64>,
    /// Why it was parked.
    pub active_failure: Option<u64>,
    /// The server may have applied a mutation that was parked.
    pub remote_outcome_unknown: bool,
    /// When it was retired.
    pub retired_at: Option<i64>,
    /// Set once a person has discarded or retried it.
    pub dismissed: Option<Dismissal>,
}

impl Execution {
    /// The row of an intent that was just accepted.
    pub fn new() -> Self {
        Self {
            phase: Phase::Unprepared,
            generation: 0,
            attempt: 0,
            last_attempt_at: None,
            active_failure: None,
            remote_outcome_unknown: false,
            retired_at: None,
            dismissed: None,
        }
    }

    /// Whether it holds the lane of its namespace: transport was possible, or its result is uncertain.
    pub fn owns_lane(&self) -> bool {
        match self.phase {
            Phase::Inflight | Phase::RefreshRequired | Phase::Acked | Phase::EffectsPending => true,
            Phase::Ready => self.attempt > 0 || self.generation > 1,
            Phase::Unprepared | Phase::Parked | Phase::Retired => false,
        }
    }

    /// Whether the prefix of settled rows may pass over it.
    pub fn is_settled(&self) -> bool {
        self.phase == Phase::Retired || (self.phase == Phase::Parked && self.dismissed.is_some())
    }
}

impl Default for Execution {
    fn default() -> Self {
        Self::new()
    }
}

/// The receipt of a conflict, written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What the server told of its value, if anything.
    pub meta: Option<Meta>,
    /// When the conflict came.
    pub received_at: i64,
}

impl Conflict {
    /// What two receipts are compared by: without meta, both are null.
    pub fn version(&self) -> (Option<&str>, Option<i64>) {
        self.meta.as_ref().map_or((None, None), |meta| (meta.etag.as_deref(), meta.written_at))
    }
}

/// One prepared generation of an intent. Only its receipt is ever added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The identity that it is pushed for, whatever aliases come later.
    pub identity: Identity,
    /// The version of the encoding of both values.
    pub codec_version: u32,
    /// What the mutation was computed from.
    pub base: Presence,
    /// What the mutation wants.
    pub mine: Presence,
    /// What the server must still have.
    pub precondition: Option<Meta>,
    /// The settled prefix when it was prepared.
    pub retired_through: u64,
    /// The same on each transmission.
    pub idempotency_key: Arc<str>,
    /// When it was prepared.
    pub prepared_at: i64,
    /// The conflict that it met.
    pub conflict: Option<Conflict>,
}

/// The server's answer, written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// What the server has now.
    pub value: Presence,
    /// The version of the value's encoding.
    pub codec_version: u32,
    /// The version that the server gave it.
    pub etag: Option<Arc<str>>,
    /// The identity that the server has it under, if it named one.
    pub target: Option<Identity>,
    /// When the answer came.
    pub received_at: i64,
}

/// Evidence of failures of one kind and detail, on one generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The generation; 0 before the first.
    pub generation: u32,
    /// What kind of thing failed.
    pub kind: FailureKind,
    /// What exactly, at most 128 bytes.
    pub detail: Arc<str>,
    /// The text of the last one, at most 1,024 bytes.
    pub message: Arc<str>,
    /// When the first one came.
    pub first_at: i64,
    /// When the last one came.
    pub last_at: i64,
    /// How many came.
    pub count: u32,
}

/// What an effect touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectTarget {
    /// A whole namespace becomes stale. These come first.
    Namespace(Arc<str>),
    /// One key becomes stale.
    Key(Identity),
}

/// One effect of a mutation on other keys, captured before the first push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What it touches.
    pub target: EffectTarget,
    /// When it was captured.
    pub created_at: i64,
    /// What has become of it.
    pub disposition: Disposition,
    /// When it was applied or skipped.
    pub completed_at: Option<i64>,
}

/// The server keeps one identity under another name. Never deleted, never retargeted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Where the source leads.
    pub target: Identity,
    /// Whether it routes yet.
    pub state: AliasState,
    /// The mutation whose answer named it.
    pub created_by: u64,
    /// When the answer came.
    pub created_at: i64,
    /// When its creator retired.
    pub activated_at: Option<i64>,
}

/// A deletion that the server confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Whether it stands.
    pub state: TombstoneState,
    /// When the answer came.
    pub created_at: i64,
    /// When its creator retired.
    pub activated_at: Option<i64>,
    /// The mutation that brought the identity back.
    pub superseded_by: Option<u64>,
    /// When that was.
    pub superseded_at: Option<i64>,
}
