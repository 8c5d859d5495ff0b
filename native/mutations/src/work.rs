//! The driver: callers' threads that do what the engine asks for.
//!
//! Each thread that calls the store does the calls of its own operation, outside the lock; steps of the engine are done by
//! whoever holds it.

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use parsley_journal::action::{Action, Answer, Call, CallId, TaskId};
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::event::Event;
use parsley_journal::report::{DrainError, DrainErrorKind, Outcome, Report};

use crate::cancellation::Cancellation;
use crate::error::{BoxError, DrainFailed, Error};
use crate::feed::{EVENTS_MAX, Feed, POISON_REPLAYED_MAX, Poison, Source};
use crate::ports::StoreKey;
use crate::store::Ports;

/// What an operation came to, with the application's errors by the number of their call.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) errors: HashMap<u64, BoxError>,
}

/// What a callback came to.
pub(crate) struct Done {
    pub(crate) answer: Answer,
    pub(crate) error: Option<BoxError>,
}

impl From<Answer> for Done {
    fn from(answer: Answer) -> Self {
        Self { answer, error: None }
    }
}

/// The state of one operation on the driver's side.
#[derive(Default)]
struct Running {
    calls: VecDeque<(CallId, Call)>,
    outcome: Option<Outcome>,
    errors: HashMap<u64, BoxError>,
    panic: Option<Box<dyn Any + Send>>,
}

struct Inner {
    /// `None` once the store is closed and nothing runs any more.
    engine: Option<Engine>,
    closing: bool,
    running: HashMap<TaskId, Running>,
    abandoned: HashSet<CallId>,
    events: Source<Event>,
    poison: Source<Poison>,
}

pub(crate) struct Hub {
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// The engine under its lock.
pub(crate) struct EngineGuard<'h>(MutexGuard<'h, Inner>);

impl std::ops::Deref for EngineGuard<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        self.0.engine.as_ref().expect("checked when the guard was made, and held since")
    }
}

impl Hub {
    pub(crate) fn new(engine: Engine) -> Self {
        Self {
            inner: Mutex::new(Inner {
                engine: Some(engine),
                closing: false,
                running: HashMap::new(),
                abandoned: HashSet::new(),
                events: Source::new(0, EVENTS_MAX),
                poison: Source::new(POISON_REPLAYED_MAX, POISON_REPLAYED_MAX),
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Callbacks run outside the lock, so a panic under it is the engine's own and has left a step half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn engine(&self) -> Result<EngineGuard<'_>, Error> {
        let inner = self.lock();
        if inner.closing || inner.engine.is_none() {
            return Err(Error::Closed);
        }
        Ok(EngineGuard(inner))
    }

    pub(crate) fn listen(&self) -> Feed<Event> {
        self.lock().events.listen()
    }

    pub(crate) fn listen_poison(&self) -> Feed<Poison> {
        self.lock().poison.listen()
    }

    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closing = true;
        let tasks: Vec<TaskId> = inner.running.keys().copied().collect();
        if let Some(engine) = &mut inner.engine {
            for task in tasks {
                engine.cancel(task);
            }
        }
        self.changed.notify_all();
        while !inner.running.is_empty() {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.engine = None;
        inner.events.close();
        inner.poison.close();
    }

    fn cancel(&self, task: TaskId) {
        if let Some(engine) = &mut self.lock().engine {
            engine.cancel(task);
        }
        self.changed.notify_all();
    }

    /// Runs an operation to its end, on this thread and `threads - 1` others.
    pub(crate) fn run<K: StoreKey, V: Send + Sync + 'static>(
        hub: &Arc<Self>,
        ports: &Ports<K, V>,
        operation: Operation,
        threads: usize,
        cancellation: &Cancellation,
    ) -> Result<Ended, Error> {
        let task = {
            let mut inner = hub.lock();
            if inner.closing {
                return Err(Error::Closed);
            }
            let Some(engine) = &mut inner.engine else { return Err(Error::Closed) };
            let task = engine.start(operation);
            inner.running.insert(task, Running::default());
            task
        };
        let registration = cancellation.register({
            let hub = Arc::downgrade(hub);
            move || {
                if let Some(hub) = hub.upgrade() {
                    hub.cancel(task);
                }
            }
        });
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| hub.work(ports, task, cancellation));
            }
            hub.work(ports, task, cancellation);
        });
        drop(registration);
        let ended = hub.lock().running.remove(&task).unwrap_or_default();
        hub.changed.notify_all();
        if let Some(panic) = ended.panic {
            resume_unwind(panic);
        }
        let Some(outcome) = ended.outcome else { return Err(Error::Closed) };
        Ok(Ended { outcome, errors: ended.errors })
    }

    /// Does the calls of an operation until it has ended.
    fn work<K: StoreKey, V: Send + Sync + 'static>(
        &self,
        ports: &Ports<K, V>,
        task: TaskId,
        cancellation: &Cancellation,
    ) {
        let mut inner = self.lock();
        loop {
            let others = pump(&mut inner, ports.clock.now_ms(), task);
            let Some(running) = inner.running.get_mut(&task) else { return };
            if running.outcome.is_some() {
                self.changed.notify_all();
                return;
            }
            let next = running.calls.pop_front();
            // Waking a thread that finds nothing to do costs more than most steps, so only for what is left for it.
            if others || !running.calls.is_empty() {
                self.changed.notify_all();
            }
            let Some((id, call)) = next else {
                inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if inner.abandoned.remove(&id) {
                continue;
            }
            drop(inner);
            let done = catch_unwind(AssertUnwindSafe(|| ports.perform(&call, cancellation)));
            inner = self.lock();
            inner.abandoned.remove(&id);
            let answer = match done {
                Ok(Done { answer, error }) => {
                    if let (Some(error), Some(running)) = (error, inner.running.get_mut(&task)) {
                        running.errors.insert(id.0, error);
                    }
                    answer
                }
                Err(panic) => {
                    if let Some(running) = inner.running.get_mut(&task) {
                        running.panic.get_or_insert(panic);
                    }
                    Answer::Fatal
                }
            };
            if let Some(engine) = &mut inner.engine {
                engine.answer(id, answer);
            }
        }
    }
}

/// Has the engine go on, and gives its actions to those who do them. Returns whether an operation other than `own` has
/// something to do.
fn pump(inner: &mut Inner, now_ms: i64, own: TaskId) -> bool {
    let mut news = false;
    let Some(engine) = &mut inner.engine else { return false };
    while let Some(action) = engine.next(now_ms) {
        match action {
            Action::Call { task, id, call } => {
                if let Some(running) = inner.running.get_mut(&task) {
                    running.calls.push_back((id, call));
                    news |= task != own;
                }
            }
            Action::Finished { task, outcome } => {
                if let Some(running) = inner.running.get_mut(&task) {
                    running.outcome = Some(outcome);
                    news |= task != own;
                }
            }
            Action::Abandon(id) => drop(inner.abandoned.insert(id)),
            Action::Emit(event) => inner.events.send(&event),
            Action::Poison { sequence, call } => {
                let error = inner.running.values_mut().find_map(|it| it.errors.remove(&call.0));
                if let Some(error) = error {
                    inner.poison.send(&Poison { sequence, error: Arc::new(error) });
                }
            }
        }
    }
    news
}

/// What the caller of a drain is told.
pub(crate) fn drain_error(report: Report, error: DrainError, mut errors: HashMap<u64, BoxError>) -> Error {
    let kind = match error.kind {
        DrainErrorKind::Kept(kind) => kind,
        DrainErrorKind::Persistence | DrainErrorKind::Fatal => {
            parsley_journal::names::FailureKind::Persistence
        }
        DrainErrorKind::Cancelled => return Error::Cancelled,
    };
    let mut own = |call: Option<CallId>| call.and_then(|call| errors.remove(&call.0));
    let source = own(error.call);
    let others =
        error.others.into_iter().map(|(message, call)| own(call).unwrap_or_else(|| message.into())).collect();
    Error::Drain(Box::new(DrainFailed { kind, message: error.message, source, others, report }))
}
