//! Trying again without new input: an alarm for each store, set from what the store's own lists say.
//!
//! Nothing of it is durable; the journal is the truth, and [`Coordinator::reconcile`] after a start finds what is due. Never
//! call it from a callback of a store: it would wait for itself.

mod alarm;
mod delay;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parsley_journal::event::EventKind;
use parsley_journal::inspect::PendingRow;

pub use alarm::ThreadAlarm;
pub use delay::Policy;

use crate::cancellation::Cancellation;
use crate::error::{BoxError, Error};
use crate::feed::{EVENTS_MAX, Feed, Source};
use crate::ports::StoreKey;
use crate::store::MutationStore;

/// The wait after a pass that left only the checkpoint behind.
const CHECKPOINT_DELAY: Duration = Duration::from_secs(30);

/// When a pass may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraints {
    /// Only with a network.
    pub requires_network: bool,
    /// Only while charging.
    pub requires_charging: bool,
}

impl Default for Constraints {
    fn default() -> Self {
        Self { requires_network: true, requires_charging: false }
    }
}

/// What an alarm does when it goes off: has the named store drained.
pub type Fire = Arc<dyn Fn(&str) + Send + Sync>;

/// An alarm: it keeps one request for each name, and may go off more than once for it.
pub trait DrainScheduler: Send + Sync {
    /// Says what to do when it goes off. Called once, before anything else.
    fn attach(&self, fire: Fire);

    /// Refuses constraints that it can't observe.
    fn validate(&self, constraints: &Constraints) -> Result<(), BoxError>;

    /// Goes off for `name` after `delay` at the earliest; replaces an earlier request of that name.
    fn schedule(&self, name: &str, constraints: &Constraints, delay: Duration) -> Result<(), BoxError>;

    /// Forgets the request of a name.
    fn cancel(&self, name: &str) -> Result<(), BoxError>;
}

/// What a coordinator asks of a store.
pub trait Drainable: Send + Sync {
    /// Drains everything that is due. Returns whether the checkpoint could not be told.
    fn drain_due(&self, cancellation: &Cancellation) -> Result<bool, Error>;

    /// What waits.
    fn waiting(&self) -> Result<Vec<PendingRow>, Error>;

    /// Whether the server has confirmed all that is settled.
    fn checkpoint_is_flushed(&self) -> Result<bool, Error>;

    /// What happens from now on.
    fn listen(&self) -> Feed<parsley_journal::event::Event>;

    /// Tells one store from another, whatever clone it is reached by.
    fn instance(&self) -> usize;
}

impl<K: StoreKey, V: Send + Sync + 'static> Drainable for MutationStore<K, V> {
    fn drain_due(&self, cancellation: &Cancellation) -> Result<bool, Error> {
        self.drain_all_until(cancellation).map(|report| report.checkpoint.failed)
    }

    fn waiting(&self) -> Result<Vec<PendingRow>, Error> {
        self.pending_writes()
    }

    fn checkpoint_is_flushed(&self) -> Result<bool, Error> {
        MutationStore::checkpoint_is_flushed(self)
    }

    fn listen(&self) -> Feed<parsley_journal::event::Event> {
        self.events()
    }

    fn instance(&self) -> usize {
        MutationStore::instance(self)
    }
}

/// How a pass ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassOutcome {
    /// Nothing waits and the checkpoint is told, dead letters aside.
    Cleared,
    /// So many mutations wait; the next pass comes after `delay`, or by nobody if it could not be scheduled.
    Remaining {
        /// How many.
        count: usize,
        /// When the next pass comes.
        delay: Option<Duration>,
    },
    /// There was no pass.
    Unavailable {
        /// The store's name.
        name: String,
        /// Why.
        reason: String,
    },
}

/// What a coordinator tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerEvent {
    /// A pass ended.
    PassEnded {
        /// The store's name.
        name: String,
        /// How.
        outcome: PassOutcome,
    },
    /// The drain of a pass failed; what it left decides about the next one.
    PassFailed {
        /// The store's name.
        name: String,
        /// Why.
        message: String,
    },
    /// The next pass could not be scheduled.
    ScheduleFailed {
        /// The store's name.
        name: String,
        /// Why.
        message: String,
    },
}

/// A registered store.
struct Registration {
    store: Arc<dyn Drainable>,
    constraints: Constraints,
    policy: Policy,
    drain_on_enqueue: bool,
    epoch: u64,
    running: bool,
    /// Passes in a row that changed nothing, and what they saw.
    unchanged: u32,
    fingerprint: Option<Vec<PendingRow>>,
}

struct State {
    stores: HashMap<String, Registration>,
    next_epoch: u64,
    events: Source<SchedulerEvent>,
}

struct Inner {
    alarm: Arc<dyn DrainScheduler>,
    state: Mutex<State>,
    /// A pass has ended.
    idle: Condvar,
}

/// Keeps the stores of a process going. Clones are one coordinator; any thread may use it.
#[derive(Clone)]
pub struct Coordinator(Arc<Inner>);

/// How a store is registered.
#[derive(Clone, Debug, Default)]
pub struct Registering {
    /// When a pass may run.
    pub constraints: Constraints,
    /// How long to wait after failures.
    pub policy: Policy,
    /// Leaves it to the alarm to run the pass of a new mutation, rather than running it at once.
    pub leave_enqueue_to_alarm: bool,
}

impl Coordinator {
    /// A coordinator on an alarm, which it attaches to.
    pub fn new(alarm: impl DrainScheduler + 'static) -> Self {
        let events = Source::new(0, EVENTS_MAX);
        let state = State { stores: HashMap::new(), next_epoch: 0, events };
        let inner = Inner { alarm: Arc::new(alarm), state: Mutex::new(state), idle: Condvar::new() };
        let coordinator = Self(Arc::new(inner));
        let weak = Arc::downgrade(&coordinator.0);
        coordinator.0.alarm.attach(Arc::new(move |name| {
            if let Some(inner) = weak.upgrade() {
                // Whoever listens is told how it ended.
                let _ = Self(inner).pass(name, &Cancellation::new());
            }
        }));
        coordinator
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Stores and alarms are called outside of it.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a store under a stable name: 1 to 64 letters, digits, dots, underscores or hyphens.
    pub fn register(
        &self,
        name: &str,
        store: impl Drainable + 'static,
        how: Registering,
    ) -> Result<(), Error> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(allowed) {
            let what = format!("store name '{name}' is not 1 to 64 of A-Z a-z 0-9 . _ -");
            return Err(Error::Configuration(what));
        }
        how.policy.validate()?;
        self.0
            .alarm
            .validate(&how.constraints)
            .map_err(|error| Error::Configuration(format!("store '{name}': {error}")))?;
        let mut state = self.lock();
        if state.stores.contains_key(name) {
            return Err(Error::Configuration(format!("store name '{name}' is taken: unregister it first")));
        }
        let instance = store.instance();
        if let Some((other, _)) = state.stores.iter().find(|(_, it)| it.store.instance() == instance) {
            return Err(Error::Configuration(format!("the store is registered as '{other}' already")));
        }
        state.next_epoch += 1;
        let registration = Registration {
            store: Arc::new(store),
            constraints: how.constraints,
            policy: how.policy,
            drain_on_enqueue: !how.leave_enqueue_to_alarm,
            epoch: state.next_epoch,
            running: false,
            unchanged: 0,
            fingerprint: None,
        };
        state.stores.insert(name.to_owned(), registration);
        Ok(())
    }

    /// Forgets a store and its alarm. A pass that runs goes to its end and sets no other.
    pub fn unregister(&self, name: &str) {
        self.lock().stores.remove(name);
        if let Err(error) = self.0.alarm.cancel(name) {
            self.tell(&SchedulerEvent::ScheduleFailed { name: name.to_owned(), message: error.to_string() });
        }
        self.0.idle.notify_all();
    }

    /// What happens from now on. A listener that is more than 64 events behind loses the oldest.
    pub fn events(&self) -> Feed<SchedulerEvent> {
        self.lock().events.listen()
    }

    fn tell(&self, event: &SchedulerEvent) {
        self.lock().events.send(event);
    }

    /// Runs one pass of a store now, after one that runs, and sets its alarm by what is left.
    pub fn pass(&self, name: &str, cancellation: &Cancellation) -> Result<PassOutcome, Error> {
        self.run(name, true, cancellation)
    }

    /// Runs one pass of every store that has none running: what is due after a start, or after a long sleep.
    pub fn reconcile(&self, cancellation: &Cancellation) -> Result<HashMap<String, PassOutcome>, Error> {
        let names: Vec<String> = {
            let state = self.lock();
            state.stores.iter().filter(|(_, it)| !it.running).map(|(name, _)| name.clone()).collect()
        };
        let mut outcomes = HashMap::new();
        for name in names {
            outcomes.insert(name.clone(), self.pass(&name, cancellation)?);
        }
        Ok(outcomes)
    }

    /// Runs a pass at once and another for new mutations as they come, on a thread of its own, until the watch is dropped.
    pub fn watch(&self, name: &str) -> Result<Watch, Error> {
        let (store, drains) = {
            let state = self.lock();
            let Some(registration) = state.stores.get(name) else {
                return Err(Error::Configuration(format!("no store is registered as '{name}'")));
            };
            (registration.store.clone(), registration.drain_on_enqueue)
        };
        // Before the first pass, so that no mutation falls between the two.
        let feed = store.listen();
        let stop = feed.stopper();
        let cancellation = Cancellation::new();
        let watching = Watching { coordinator: self.clone(), name: name.to_owned(), drains };
        let token = cancellation.clone();
        let thread = thread::Builder::new()
            .name(format!("parsley-watch-{name}"))
            .spawn(move || watching.watch(&feed, &token))
            .map_err(|error| Error::Configuration(format!("no thread to watch '{name}': {error}")))?;
        Ok(Watch { stop: Box::new(stop), cancellation, thread: Some(thread) })
    }

    fn run(&self, name: &str, safety: bool, cancellation: &Cancellation) -> Result<PassOutcome, Error> {
        let Some((store, constraints, policy, epoch)) = self.begin(name) else {
            let reason = "no store is registered under this name".to_owned();
            return Ok(PassOutcome::Unavailable { name: name.to_owned(), reason });
        };
        // Ends the turn also if a callback of the store panics.
        let _turn = Turn { coordinator: self, name, epoch };
        if safety {
            // Should the process die in the pass, this one comes. That it can't be set does not stop the pass.
            let _ = self.0.alarm.schedule(name, &constraints, policy.delay_max);
        }
        let checkpoint_failed = match store.drain_due(cancellation) {
            Ok(failed) => failed,
            // What was set for safety stays set.
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => {
                let message = error.to_string();
                self.tell(&SchedulerEvent::PassFailed { name: name.to_owned(), message });
                !store.checkpoint_is_flushed().unwrap_or(true)
            }
        };
        let waiting = match store.waiting() {
            Ok(waiting) => waiting,
            Err(error) => {
                let outcome = PassOutcome::Unavailable { name: name.to_owned(), reason: error.to_string() };
                self.tell(&SchedulerEvent::PassEnded { name: name.to_owned(), outcome: outcome.clone() });
                return Ok(outcome);
            }
        };
        let outcome = self.follow_up(name, epoch, constraints, &policy, waiting, checkpoint_failed);
        self.tell(&SchedulerEvent::PassEnded { name: name.to_owned(), outcome: outcome.clone() });
        Ok(outcome)
    }

    /// Waits for the turn of a store and takes it.
    fn begin(&self, name: &str) -> Option<(Arc<dyn Drainable>, Constraints, Policy, u64)> {
        let mut state = self.lock();
        loop {
            let registration = state.stores.get_mut(name)?;
            if !registration.running {
                registration.running = true;
                let Registration { store, constraints, policy, epoch, .. } = registration;
                return Some((store.clone(), *constraints, policy.clone(), *epoch));
            }
            state = self.0.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn follow_up(
        &self,
        name: &str,
        epoch: u64,
        constraints: Constraints,
        policy: &Policy,
        waiting: Vec<PendingRow>,
        checkpoint_failed: bool,
    ) -> PassOutcome {
        let count = waiting.len();
        let derived = delay::derive(policy, &waiting);
        let cleared = waiting.is_empty() && !checkpoint_failed;
        let delay = {
            let mut state = self.lock();
            let Some(registration) = state.stores.get_mut(name).filter(|it| it.epoch == epoch) else {
                // Unregistered meanwhile: nobody wants another pass.
                return PassOutcome::Remaining { count, delay: None };
            };
            let unchanged = registration.fingerprint.as_ref() == Some(&waiting);
            registration.unchanged = if unchanged { registration.unchanged.saturating_add(1) } else { 0 };
            registration.fingerprint = Some(waiting);
            let escalated = policy.delay(registration.unchanged);
            derived.unwrap_or(CHECKPOINT_DELAY).max(escalated)
        };
        if cleared {
            if let Err(error) = self.0.alarm.cancel(name) {
                self.tell(&SchedulerEvent::ScheduleFailed {
                    name: name.to_owned(),
                    message: error.to_string(),
                });
            }
            return PassOutcome::Cleared;
        }
        let delay = match self.0.alarm.schedule(name, &constraints, delay) {
            Ok(()) => Some(delay),
            Err(error) => {
                self.tell(&SchedulerEvent::ScheduleFailed {
                    name: name.to_owned(),
                    message: error.to_string(),
                });
                None
            }
        };
        PassOutcome::Remaining { count, delay }
    }
}

/// The turn of a store's pass.
struct Turn<'c> {
    coordinator: &'c Coordinator,
    name: &'c str,
    epoch: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.coordinator.lock();
        if let Some(registration) = state.stores.get_mut(self.name).filter(|it| it.epoch == self.epoch) {
            registration.running = false;
        }
        drop(state);
        self.coordinator.0.idle.notify_all();
    }
}

struct Watching {
    coordinator: Coordinator,
    name: String,
    drains: bool,
}

impl Watching {
    fn watch(&self, feed: &Feed<parsley_journal::event::Event>, cancellation: &Cancellation) {
        let _ = self.coordinator.run(&self.name, false, cancellation);
        while let Some(event) = feed.wait() {
            if !matches!(event.kind, EventKind::Enqueued { .. }) {
                continue;
            }
            // One pass does for all that have come by now.
            feed.clear();
            if self.drains {
                let _ = self.coordinator.run(&self.name, false, cancellation);
            } else {
                self.leave_to_alarm();
            }
        }
    }

    fn leave_to_alarm(&self) {
        let constraints = self.coordinator.lock().stores.get(&self.name).map(|it| it.constraints);
        let Some(constraints) = constraints else { return };
        if let Err(error) = self.coordinator.0.alarm.schedule(&self.name, &constraints, Duration::ZERO) {
            let name = self.name.clone();
            self.coordinator.tell(&SchedulerEvent::ScheduleFailed { name, message: error.to_string() });
        }
    }
}

/// Watches a store until it is dropped, which waits for its pass.
pub struct Watch {
    stop: Box<dyn Fn() + Send + Sync>,
    cancellation: Cancellation,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Stops watching and cancels the pass that runs.
    pub fn cancel(&self) {
        self.cancellation.cancel();
        (self.stop)();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        (self.stop)();
        if let Some(thread) = self.thread.take() {
            // A panic in a callback has been printed by its thread.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "scheduler/tests.rs"]
mod tests;
