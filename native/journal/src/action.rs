//! What the engine asks of its driver, and what the driver answers.
//!
//! The engine has no I/O of its own: it hands out [`Action`]s, the driver does them and answers each [`Call`] once.

use std::sync::Arc;

use bytes::Bytes;

use crate::event::Event;
use crate::names::Transition;
use crate::records::{Identity, Meta, Presence};
use crate::report::Outcome;
use crate::storage::Batch;

/// A running operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// A call that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// What the driver is to do next.
#[derive(Debug)]
pub enum Action {
    /// Do `call` and answer it.
    Call {
        /// The operation that waits for it.
        task: TaskId,
        /// What to answer with.
        id: CallId,
        /// What to do.
        call: Call,
    },
    /// The answer to this call is no longer waited for: interrupt it if that is possible.
    Abandon(CallId),
    /// Tell whoever listens. What it tells is durable.
    Emit(Event),
    /// Tell whoever listens of an error of the application's own code, as it is.
    Poison {
        /// The mutation.
        sequence: u64,
        /// The call that failed, by which the driver knows the error.
        call: CallId,
    },
    /// An operation has ended.
    Finished {
        /// The operation.
        task: TaskId,
        /// How it ended.
        outcome: Outcome,
    },
}

/// Something that the engine can't do itself. Each says which answers it takes, besides [`Answer::Threw`],
/// [`Answer::Cancelled`] and [`Answer::Fatal`].
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Write a transaction: [`Answer::Done`]. Not to be cancelled.
    Commit {
        /// The transaction.
        batch: Batch,
        /// Its name.
        transition: Transition,
        /// The mutation that it is about; `None` for those of the checkpoint.
        sequence: Option<u64>,
    },
    /// Make all transactions durable: [`Answer::Done`]. Not to be cancelled.
    Sync,
    /// Draw a number from 0 to the window, both included: [`Answer::Drawn`].
    Draw {
        /// The greatest number, in milliseconds.
        window_ms: u64,
    },
    /// Find the key of an identity: [`Answer::Known`], [`Answer::Unknown`], [`Answer::Mismatch`] or
    /// [`Answer::Unavailable`].
    Resolve(Identity),
    /// Read the metadata of the confirmed base: [`Answer::Meta`].
    Status(Identity),
    /// Read the confirmed base, without fetching it: [`Answer::Value`] or [`Answer::Codec`].
    Read(Identity),
    /// Compute what the mutation wants: [`Answer::Value`], [`Answer::Declined`], [`Answer::Codec`], or
    /// [`Answer::ArgsCodec`] or [`Answer::MutatorMissing`].
    Project {
        /// The mutation.
        sequence: u64,
        /// The effective identity.
        key: Identity,
        /// The mutator and its arguments.
        mutator: Mutator,
        /// What to compute it from.
        base: Presence,
    },
    /// Choose the precondition of a generation: [`Answer::Meta`]. Asked only where there is a choice.
    Precondition {
        /// The effective identity.
        key: Identity,
        /// What it was computed from.
        base: Presence,
        /// The wanted value.
        mine: Presence,
        /// The base's metadata.
        base_meta: Option<Meta>,
    },
    /// Tell what else becomes stale: [`Answer::Stales`].
    Stales {
        /// The mutation.
        sequence: u64,
        /// The effective identity.
        key: Identity,
        /// The mutator and its arguments.
        mutator: Mutator,
    },
    /// Read all bytes of a generation before it is pushed: [`Answer::Done`], [`Answer::Codec`], [`Answer::ArgsCodec`] or
    /// [`Answer::MutatorMissing`].
    Decode {
        /// The mutation.
        sequence: u64,
        /// The mutator and its arguments.
        mutator: Mutator,
        /// The generation.
        generation: u32,
        /// The version of both values' encoding.
        codec_version: u32,
        /// The base.
        base: Presence,
        /// The wanted value.
        mine: Presence,
    },
    /// Push: [`Answer::Accepted`], [`Answer::Conflict`] or [`Answer::Rejected`].
    Push(Box<PushRequest>),
    /// Fetch the confirmed base anew; that it is missing is success: [`Answer::Done`].
    FreshRead(Identity),
    /// Merge after a conflict: [`Answer::Value`], [`Answer::ServerWins`] or [`Answer::Codec`].
    Merge {
        /// The effective identity.
        key: Identity,
        /// The version of the encoding of base and mine; theirs has the current one.
        codec_version: u32,
        /// The base of the generation that met the conflict.
        base: Presence,
        /// What it wanted.
        mine: Presence,
        /// The fresh base.
        theirs: Presence,
    },
    /// Adopt the server's value: [`Answer::Done`] or [`Answer::Codec`].
    Apply {
        /// Where.
        key: Identity,
        /// The value.
        value: Bytes,
        /// The version of its encoding.
        codec_version: u32,
    },
    /// Note that the adopted value is fresh: [`Answer::Done`].
    ConfirmFresh {
        /// Where.
        key: Identity,
        /// The server's version of the value.
        etag: Option<Arc<str>>,
    },
    /// Adopt that there is no value: [`Answer::Done`].
    Clear(Identity),
    /// Mark a key as stale: [`Answer::Done`].
    MarkStale(Identity),
    /// Mark a namespace as stale: [`Answer::Done`].
    Invalidate(Arc<str>),
    /// Tell the server that all up to here is settled: [`Answer::Confirmed`].
    Retire {
        /// The settled prefix.
        through: u64,
    },
}

/// A mutator and its encoded arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutator {
    /// The name of the mutator.
    pub name: Arc<str>,
    /// The version of the arguments' encoding.
    pub version: u32,
    /// The arguments.
    pub args: Bytes,
}

/// What is pushed. All of it is the same on every transmission of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRequest {
    /// The effective identity.
    pub key: Identity,
    /// The client.
    pub client: Arc<str>,
    /// The mutation.
    pub sequence: u64,
    /// The generation.
    pub generation: u32,
    /// The settled prefix when the generation was prepared.
    pub retired_through: u64,
    /// The key by which the server recognises a transmission that it has seen.
    pub idempotency_key: Arc<str>,
    /// The version of both values' encoding.
    pub codec_version: u32,
    /// What the mutation was computed from.
    pub base: Presence,
    /// What the mutation wants.
    pub mine: Presence,
    /// What the server must still have.
    pub base_meta: Option<Meta>,
}

/// The answer to a [`Call`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// It failed with this text. The driver keeps the error itself.
    Threw(String),
    /// The caller of the operation gave it up while the call was out.
    Cancelled,
    /// It panicked, or failed in a way that must end the process; nothing is noted, and the driver rethrows it.
    Fatal,
    /// The number drawn.
    Drawn(u64),
    /// The resolver has the key, with exactly this identity.
    Known,
    /// The resolver knows no such key.
    Unknown,
    /// The resolver's key has another identity.
    Mismatch(String),
    /// The resolver can't tell now.
    Unavailable,
    /// Metadata, if there is any.
    Meta(Option<Meta>),
    /// A value, or none.
    Value(Presence),
    /// The mutator has nothing to do on this base, for now.
    Declined,
    /// A value could not be read or written.
    Codec(String),
    /// The arguments could not be read.
    ArgsCodec(String),
    /// There is no such mutator, or not in this version.
    MutatorMissing(String),
    /// What else becomes stale.
    Stales {
        /// Keys.
        keys: Vec<Identity>,
        /// Namespaces.
        namespaces: Vec<Arc<str>>,
    },
    /// The server has it.
    Accepted(Accepted),
    /// The server's base is another.
    Conflict(Option<Meta>),
    /// The server will never take it.
    Rejected(String),
    /// The conflict ends here: the server's value stands.
    ServerWins,
    /// The server has settled everything up to here.
    Confirmed(u64),
}

/// The server's answer to a push that it has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What the server has now.
    pub value: Presence,
    /// The version of the value's encoding.
    pub codec_version: u32,
    /// The version that the server gave it.
    pub etag: Option<Arc<str>>,
    /// The identity that the server has it under, if it named one. Dropped beside an absent value.
    pub target: Option<Identity>,
}
