//! What the application gives to a store: its keys, its codec, its server, its local state.
//!
//! Every callback may fail with any error, which comes back as itself, and may be called from any thread that calls the
//! store, never while the store writes. A callback that panics leaves everything as it is, and the panic goes on in the
//! caller.

use std::sync::Arc;

use parsley_journal::records::{Identity, Meta};

use crate::cancellation::Cancellation;
use crate::error::BoxError;

/// A key of the application's. Its durable identity is exactly the pair of texts, compared verbatim.
pub trait StoreKey: Clone + Send + Sync + 'static {
    /// The namespace; also the lane in which mutations are pushed.
    fn namespace(&self) -> &str;

    /// The id within the namespace.
    fn canonical_id(&self) -> &str;

    /// Both.
    fn identity(&self) -> Identity {
        Identity::new(self.namespace(), self.canonical_id())
    }
}

impl StoreKey for Identity {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn canonical_id(&self) -> &str {
        &self.id
    }
}

/// What a resolver answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution<K> {
    /// The key, whose identity must be the one that was asked for.
    Key(K),
    /// There is no such key: its mutations become dead letters.
    Unknown,
    /// It can't be told now: its mutations wait for the next drain.
    Unavailable,
}

/// Makes keys of identities, after a restart.
pub trait KeyResolver<K>: Send + Sync {
    /// The key of an identity. May do I/O.
    fn resolve(&self, identity: &Identity, cancellation: &Cancellation) -> Result<Resolution<K>, BoxError>;
}

impl<K, F> KeyResolver<K> for F
where
    F: Fn(&Identity) -> Resolution<K> + Send + Sync,
{
    fn resolve(&self, identity: &Identity, _: &Cancellation) -> Result<Resolution<K>, BoxError> {
        Ok(self(identity))
    }
}

/// Makes bytes of values and values of bytes, for as long as a journal holds them.
pub trait Codec<T>: Send + Sync {
    /// The version that [`Codec::encode`] writes, at least 1.
    fn version(&self) -> u32;

    /// The bytes of a value, in the current version.
    fn encode(&self, value: &T) -> Result<Vec<u8>, BoxError>;

    /// The value of bytes in any version that a journal may still hold.
    fn decode(&self, version: u32, bytes: &[u8]) -> Result<T, BoxError>;
}

/// What is pushed. All of it is the same on every transmission of a generation.
#[derive(Clone, Debug)]
pub struct Push<K, V> {
    /// The key.
    pub key: K,
    /// The identity that the generation was frozen with.
    pub identity: Identity,
    /// The client.
    pub client: Arc<str>,
    /// The mutation, counted from 1.
    pub sequence: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// All mutations up to here were settled when the generation was prepared: their keys need not be remembered.
    pub retired_through: u64,
    /// The key by which the server recognises what it has seen.
    pub idempotency_key: Arc<str>,
    /// What the mutation was computed from; `None` is "there must be none".
    pub base: Option<V>,
    /// What the mutation wants; `None` deletes.
    pub mine: Option<V>,
    /// What the server must still have.
    pub base_meta: Option<Meta>,
}

/// The server's answer to a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushOutcome<V> {
    /// It has it.
    Accepted(Accepted<V>),
    /// Its base is another: what it tells of its own.
    Conflict(Option<Meta>),
    /// It will never take it, and why: the mutation becomes a dead letter.
    Rejected(String),
}

/// An answer to an accepted push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted<V> {
    /// What the server has now; `None` if it has nothing.
    pub value: Option<V>,
    /// The version that the server gave it.
    pub etag: Option<Arc<str>>,
    /// The identity that the server has it under, if it is another: the pushed one becomes its alias.
    pub target: Option<Identity>,
}

/// The other side. It must give the same answer to the same idempotency key, and reads begun after the answer to a deletion
/// must see it.
pub trait Server<K, V>: Send + Sync {
    /// Pushes one generation, once. An error means that it is not known whether the server has it.
    fn push(&self, push: Push<K, V>, cancellation: &Cancellation) -> Result<PushOutcome<V>, BoxError>;

    /// Tells that all mutations up to `through` are settled; answers up to where the server has forgotten them.
    fn retire(&self, client: &str, through: u64, cancellation: &Cancellation) -> Result<u64, BoxError>;
}

/// The application's own copy of what the server has. All of it must be idempotent: after a crash it is done again.
pub trait LocalState<K, V>: Send + Sync {
    /// Metadata of the confirmed value.
    fn status(&self, key: &K) -> Result<Option<Meta>, BoxError>;

    /// The confirmed value, without any pending mutation and without fetching.
    fn read(&self, key: &K) -> Result<Option<V>, BoxError>;

    /// Fetches the confirmed value anew, after a conflict. That there is none is no error.
    fn fresh_read(&self, key: &K, cancellation: &Cancellation) -> Result<(), BoxError>;

    /// Adopts the server's value.
    fn apply(&self, key: &K, value: V) -> Result<(), BoxError>;

    /// Notes that the adopted value is the server's.
    fn confirm_fresh(&self, key: &K, etag: Option<&str>) -> Result<(), BoxError>;

    /// Adopts that there is no value.
    fn clear(&self, key: &K) -> Result<(), BoxError>;

    /// Marks a key as stale.
    fn mark_stale(&self, key: &K) -> Result<(), BoxError>;

    /// Marks a namespace as stale.
    fn invalidate_namespace(&self, namespace: &str) -> Result<(), BoxError>;
}

/// How a conflict ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge<V> {
    /// Push this instead, on the fresh base; `None` deletes.
    Retry(Option<V>),
    /// The server's value stands, and the mutation is done.
    ServerWins,
}

/// What is done about conflicts. Without one the server wins.
pub trait MergePolicy<K, V>: Send + Sync {
    /// Merges what the mutation wanted with what the server has now.
    fn merge(
        &self,
        key: &K,
        base: Option<V>,
        mine: Option<V>,
        theirs: Option<V>,
    ) -> Result<Merge<V>, BoxError>;

    /// What the server must still have for a push to be taken; that of the base unless this chooses another.
    fn precondition(
        &self,
        key: &K,
        base: Option<V>,
        mine: Option<V>,
        base_meta: Option<Meta>,
    ) -> Result<Option<Meta>, BoxError> {
        let _ = (key, base, mine);
        Ok(base_meta)
    }
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Milliseconds of the Unix epoch. May go back.
    fn now_ms(&self) -> i64;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Draws the wait of a head that failed.
pub trait Jitter: Send + Sync {
    /// A number from 0 to `window_ms`, both included.
    fn draw(&self, window_ms: u64) -> u64;
}

impl<F: Fn(u64) -> u64 + Send + Sync> Jitter for F {
    fn draw(&self, window_ms: u64) -> u64 {
        self(window_ms)
    }
}
