//! The mutation store: what applications call.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parsley_journal::Config;
use parsley_journal::action::Mutator;
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::event::Event;
use parsley_journal::inspect::{DeadLetter, Dump, LaneRow, PendingRow};
use parsley_journal::memory::MemoryStorage;
use parsley_journal::mutate::Mutation;
use parsley_journal::records::Identity;
use parsley_journal::report::{Outcome, Refused, RefusedKind, Report};
use parsley_journal::storage::Storage;

use crate::cancellation::Cancellation;
use crate::error::{BoxError, Error};
use crate::feed::{Feed, Poison};
use crate::mutators::{MutatorHandle, Mutators};
use crate::ports::{
    Clock, Codec, Jitter, KeyResolver, LocalState, MergePolicy, Server, StoreKey, SystemClock,
};
use crate::work::{Ended, Hub};

/// Lanes that a drain of everything works on at once, unless told otherwise.
const LANES_DEFAULT: usize = 4;

/// Everything that the application gives.
pub(crate) struct Ports<K, V> {
    pub(crate) client: Arc<str>,
    pub(crate) resolver: Box<dyn KeyResolver<K>>,
    pub(crate) codec: Box<dyn Codec<V>>,
    pub(crate) mutators: Mutators<K, V>,
    pub(crate) server: Box<dyn Server<K, V>>,
    pub(crate) local: Box<dyn LocalState<K, V>>,
    pub(crate) merge: Option<Box<dyn MergePolicy<K, V>>>,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) jitter: Box<dyn Jitter>,
    pub(crate) storage: Arc<dyn Storage>,
    /// The keys that the application has named or resolved, until the store is closed.
    pub(crate) keys: Mutex<HashMap<Identity, K>>,
}

/// Puts a store together.
pub struct Builder<K, V> {
    ports: Ports<K, V>,
    lanes_max: usize,
    attempts_max: Option<u32>,
    age_max_ms: Option<i64>,
}

impl<K: StoreKey, V: Send + Sync + 'static> Builder<K, V> {
    /// The mutators, without which nothing can be journaled.
    #[must_use]
    pub fn mutators(mut self, mutators: Mutators<K, V>) -> Self {
        self.ports.mutators = mutators;
        self
    }

    /// What is done about conflicts; without it the server wins.
    #[must_use]
    pub fn merge(mut self, merge: impl MergePolicy<K, V> + 'static) -> Self {
        self.ports.merge = Some(Box::new(merge));
        self
    }

    /// Where the journal is kept. In memory, and gone with the process, unless told otherwise.
    #[must_use]
    pub fn storage(mut self, storage: impl Storage + 'static) -> Self {
        self.ports.storage = Arc::new(storage);
        self
    }

    /// Lanes that a drain of everything works on at once: 4 unless told otherwise.
    #[must_use]
    pub fn lanes(mut self, lanes_max: usize) -> Self {
        self.lanes_max = lanes_max;
        self
    }

    /// Gives a generation up after this many failed pushes. Without a limit it is tried for ever.
    #[must_use]
    pub fn attempts(mut self, attempts_max: u32) -> Self {
        self.attempts_max = Some(attempts_max);
        self
    }

    /// Gives a mutation up whose push fails past this age. Without a limit it is tried for ever.
    #[must_use]
    pub fn age(mut self, age_max: std::time::Duration) -> Self {
        self.age_max_ms = Some(i64::try_from(age_max.as_millis()).unwrap_or(i64::MAX));
        self
    }

    /// Another clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.ports.clock = Box::new(clock);
        self
    }

    /// Another source of randomness.
    #[must_use]
    pub fn jitter(mut self, jitter: impl Jitter + 'static) -> Self {
        self.ports.jitter = Box::new(jitter);
        self
    }

    /// Opens the journal: reads and judges all of it, calls nothing. A damaged journal is an error that names the rule and
    /// the row.
    pub fn open(self) -> Result<MutationStore<K, V>, Error> {
        if self.ports.client.is_empty() || self.lanes_max == 0 || self.attempts_max == Some(0) {
            let what = "a store needs a client name, and at least one lane and one attempt";
            return Err(Error::Configuration(what.to_owned()));
        }
        let config = Config {
            client: self.ports.client.clone(),
            epoch: random_epoch(),
            codec_version: self.ports.codec.version(),
            chooses_preconditions: self.ports.merge.is_some(),
            lanes_max: self.lanes_max,
            attempts_max: self.attempts_max,
            age_max_ms: self.age_max_ms,
        };
        let engine = Engine::open(self.ports.storage.clone(), config)?;
        let lanes_max = self.lanes_max;
        Ok(MutationStore { hub: Arc::new(Hub::new(engine)), ports: Arc::new(self.ports), lanes_max })
    }
}

/// Random bits of the operating system, which the standard library seeds its hash maps with.
fn random_epoch() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// A journal of writes, and the drains that push them. Clones are one store; any thread may use it.
pub struct MutationStore<K, V> {
    hub: Arc<Hub>,
    ports: Arc<Ports<K, V>>,
    lanes_max: usize,
}

impl<K, V> Clone for MutationStore<K, V> {
    fn clone(&self) -> Self {
        Self { hub: self.hub.clone(), ports: self.ports.clone(), lanes_max: self.lanes_max }
    }
}

impl<K: StoreKey, V: Send + Sync + 'static> MutationStore<K, V> {
    /// A store for `client`: the name that the journal belongs to, the same for ever.
    pub fn builder(
        client: &str,
        resolver: impl KeyResolver<K> + 'static,
        codec: impl Codec<V> + 'static,
        server: impl Server<K, V> + 'static,
        local: impl LocalState<K, V> + 'static,
    ) -> Builder<K, V> {
        Builder {
            ports: Ports {
                client: client.into(),
                resolver: Box::new(resolver),
                codec: Box::new(codec),
                mutators: Mutators::new(),
                server: Box::new(server),
                local: Box::new(local),
                merge: None,
                clock: Box::new(SystemClock),
                jitter: Box::new(|window_ms| fastrand::u64(0..=window_ms)),
                storage: Arc::new(MemoryStorage::new()),
                keys: Mutex::default(),
            },
            lanes_max: LANES_DEFAULT,
            attempts_max: None,
            age_max_ms: None,
        }
    }

    /// Journals a mutation; durable when it returns. Returns its sequence.
    pub fn mutate<A>(&self, key: &K, mutator: &MutatorHandle<A>, args: &A) -> Result<u64, Error> {
        self.mutate_until(key, mutator, args, &Cancellation::new())
    }

    /// [`MutationStore::mutate`], unless it is cancelled while the resolver is asked.
    pub fn mutate_until<A>(
        &self,
        key: &K,
        mutator: &MutatorHandle<A>,
        args: &A,
        cancellation: &Cancellation,
    ) -> Result<u64, Error> {
        let unfit = |source| Error::Arguments { mutator: mutator.name.to_string(), source };
        let Some(registered) = self.ports.mutators.0.get(&mutator.name) else {
            return Err(unfit("it is not registered with this store".into()));
        };
        let version = mutator.codec.version();
        let args = mutator.codec.encode(args).map_err(unfit)?;
        // What can't be read back would become a dead letter later, when nobody is there to be told.
        registered.check(version, &args).map_err(|it| unfit(it.into_source()))?;
        let identity = self.keep(key);
        let mutator = Mutator { name: mutator.name.clone(), version, args: Bytes::from(args) };
        let operation = Operation::Mutate(Mutation { key: identity.clone(), mutator });
        let ended = self.run(operation, 1, cancellation)?;
        match ended.outcome {
            Outcome::Mutated(sequence) => Ok(sequence),
            Outcome::Refused(refused) => Err(refusal(refused, Some(identity), ended.errors)),
            other => Err(Error::Storage(format!("the engine ended a mutate with {other:?}"))),
        }
    }

    /// Drains one key: pushes its mutations in order, each at most once, whatever their backoff.
    ///
    /// A push that fails is no error: the report says so, and the next drain goes on. An error is a failure after the
    /// server's answer, of a local port, or of the storage.
    pub fn drain(&self, key: &K) -> Result<Report, Error> {
        self.drain_until(key, &Cancellation::new())
    }

    /// [`MutationStore::drain`], until it is cancelled.
    pub fn drain_until(&self, key: &K, cancellation: &Cancellation) -> Result<Report, Error> {
        let identity = self.keep(key);
        self.drained(Operation::Drain(identity), 1, cancellation)
    }

    /// Drains everything that is due, lanes side by side. One such pass at a time; others wait.
    pub fn drain_all(&self) -> Result<Report, Error> {
        self.drain_all_until(&Cancellation::new())
    }

    /// [`MutationStore::drain_all`], until it is cancelled.
    pub fn drain_all_until(&self, cancellation: &Cancellation) -> Result<Report, Error> {
        self.drained(Operation::DrainAll, self.lanes_max, cancellation)
    }

    fn drained(
        &self,
        operation: Operation,
        threads: usize,
        cancellation: &Cancellation,
    ) -> Result<Report, Error> {
        let ended = self.run(operation, threads, cancellation)?;
        match ended.outcome {
            Outcome::Drained(report, None) => Ok(report),
            Outcome::Drained(report, Some(error)) => {
                Err(crate::work::drain_error(report, error, ended.errors))
            }
            other => Err(Error::Storage(format!("the engine ended a drain with {other:?}"))),
        }
    }

    /// Repeats a dead letter as a new mutation, whose sequence it returns, and dismisses the old one.
    pub fn retry(&self, sequence: u64) -> Result<u64, Error> {
        let ended = self.run(Operation::Retry(sequence), 1, &Cancellation::new())?;
        match ended.outcome {
            Outcome::Retried(new) => Ok(new),
            Outcome::Refused(refused) => Err(refusal(refused, None, ended.errors)),
            other => Err(Error::Storage(format!("the engine ended a retry with {other:?}"))),
        }
    }

    /// Dismisses a dead letter, or a row that would hold its lane for ever: one that can't be adopted, or one that its
    /// mutator declines. `note` says who and why, and stays. Returns the identity to read afresh, where the server's
    /// answer was not adopted.
    pub fn discard(&self, sequence: u64, note: &str) -> Result<Option<Identity>, Error> {
        let operation = Operation::Discard { sequence, note: note.into() };
        let ended = self.run(operation, 1, &Cancellation::new())?;
        match ended.outcome {
            Outcome::Discarded { refresh, .. } => Ok(refresh),
            Outcome::Refused(refused) => Err(refusal(refused, None, ended.errors)),
            other => Err(Error::Storage(format!("the engine ended a discard with {other:?}"))),
        }
    }

    /// The pending mutations of a key, by sequence. Follows aliases; asks no resolver.
    pub fn pending(&self, key: &K) -> Result<Vec<PendingRow>, Error> {
        Ok(self.hub.engine()?.pending(&key.identity())?)
    }

    /// All pending mutations, by sequence.
    pub fn pending_writes(&self) -> Result<Vec<PendingRow>, Error> {
        Ok(self.hub.engine()?.pending_writes()?)
    }

    /// The mutations that were given up, by the time they were parked.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, Error> {
        Ok(self.hub.engine()?.dead_letters()?)
    }

    /// The lanes that have work, by namespace.
    pub fn lanes(&self) -> Result<Vec<LaneRow>, Error> {
        Ok(self.hub.engine()?.lanes()?)
    }

    /// Every row of the journal.
    pub fn dump(&self) -> Result<Dump, Error> {
        Ok(self.hub.engine()?.dump()?)
    }

    /// What happens from now on. A listener that is more than 64 events behind loses the oldest.
    pub fn events(&self) -> Feed<Event> {
        self.hub.listen()
    }

    /// Errors of the mutators' own code, the last 16 of them at once.
    pub fn poison(&self) -> Feed<Poison> {
        self.hub.listen_poison()
    }

    /// Whether the server has confirmed all that is settled.
    pub fn checkpoint_is_flushed(&self) -> Result<bool, Error> {
        let engine = self.hub.engine()?;
        let client = engine.client();
        Ok(client.is_none_or(|client| client.confirmed_through == client.retired_through))
    }

    /// Closes the store: cancels what runs, waits for its callbacks to return, and forgets the keys. The storage is free
    /// when the last clone of the store is dropped. Closing twice is fine.
    pub fn close(&self) {
        self.hub.close();
        self.ports.keys.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Tells one store from another: the same for all clones.
    pub(crate) fn instance(&self) -> usize {
        Arc::as_ptr(&self.hub).addr()
    }

    /// The time as the store sees it.
    pub fn now_ms(&self) -> i64 {
        self.ports.clock.now_ms()
    }

    fn keep(&self, key: &K) -> Identity {
        let identity = key.identity();
        let mut keys = self.ports.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.entry(identity.clone()).or_insert_with(|| key.clone());
        identity
    }

    fn run(&self, operation: Operation, threads: usize, cancellation: &Cancellation) -> Result<Ended, Error> {
        Hub::run(&self.hub, &self.ports, operation, threads, cancellation)
    }
}

fn refusal(refused: Refused, identity: Option<Identity>, mut errors: HashMap<u64, BoxError>) -> Error {
    let source = refused.call.and_then(|call| errors.remove(&call.0));
    match (refused.kind, identity) {
        (RefusedKind::Unresolved, Some(identity)) => {
            Error::Unresolved { identity, message: refused.message, source }
        }
        (RefusedKind::Unavailable, _) => Error::Unavailable(refused.message),
        (RefusedKind::Cancelled, _) => Error::Cancelled,
        (RefusedKind::WrongRow, _) => Error::WrongRow(refused.message),
        (RefusedKind::Storage | RefusedKind::Fatal | RefusedKind::Unresolved, _) => {
            Error::Storage(refused.message)
        }
    }
}
