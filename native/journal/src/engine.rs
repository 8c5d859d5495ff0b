//! The engine: operations that wait for answers, and the actions that they want done.
//!
//! Each operation is a future that nothing but [`Engine::next`] drives, so a step of it is a step of a state machine: an
//! answer goes in, actions come out. One thread at a time may use an engine.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::action::{Action, Answer, CallId, TaskId};
use crate::dead_letters;
use crate::io::Io;
use crate::keys::CLIENT_KEY;
use crate::mutate::{self, Mutation};
use crate::open::open;
use crate::pass;
use crate::reads::{JournalError, Reads};
use crate::records::{Client, Identity};
use crate::report::Outcome;
use crate::state::{Config, Shared, State};
use crate::storage::Rows;

/// An operation to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Accept an intent.
    Mutate(Mutation),
    /// Drain one key.
    Drain(Identity),
    /// Drain everything that is due.
    DrainAll,
    /// Repeat a dead letter as a new intent.
    Retry(u64),
    /// Dismiss a row by hand.
    Discard {
        /// The row.
        sequence: u64,
        /// Who and why.
        note: Arc<str>,
    },
}

/// A journal's engine.
pub struct Engine {
    shared: Shared,
    tasks: BTreeMap<TaskId, Task>,
    ready: Arc<Ready>,
    next_task: u64,
}

struct Task {
    future: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    waker: Waker,
}

/// The operations that can go on.
#[derive(Default)]
struct Ready(Mutex<VecDeque<TaskId>>);

impl Ready {
    fn push(&self, task: TaskId) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.contains(&task) {
            queue.push_back(task);
        }
    }

    fn pop(&self) -> Option<TaskId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

struct TaskWaker {
    task: TaskId,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.task);
    }
}

impl Engine {
    /// Opens a journal: reads all of it once and judges it, writes and calls nothing.
    pub fn open(rows: Arc<dyn Rows>, config: Config) -> Result<Self, JournalError> {
        let cache = open(&*rows, Some(&config.client))?;
        Ok(Self {
            shared: Shared::new(State::new(config, rows, cache)),
            tasks: BTreeMap::new(),
            ready: Arc::default(),
            next_task: 0,
        })
    }

    /// The client that a journal belongs to; `None` before its first mutation.
    pub fn client_of(rows: &dyn Rows) -> Result<Option<Client>, JournalError> {
        Reads(rows).find(CLIENT_KEY)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Starts an operation; its actions come out of [`Engine::next`].
    pub fn start(&mut self, operation: Operation) -> TaskId {
        self.next_task += 1;
        let task = TaskId(self.next_task);
        let io = Io { shared: self.shared.clone(), task };
        let future: Pin<Box<dyn Future<Output = Outcome> + Send>> = match operation {
            Operation::Mutate(mutation) => Box::pin(mutate::mutate(io, mutation)),
            Operation::Drain(key) => Box::pin(pass::drain_key(io, key)),
            Operation::DrainAll => Box::pin(pass::drain_all(io)),
            Operation::Retry(sequence) => Box::pin(dead_letters::retry(io, sequence)),
            Operation::Discard { sequence, note } => Box::pin(dead_letters::discard(io, sequence, note)),
        };
        let waker = Waker::from(Arc::new(TaskWaker { task, ready: self.ready.clone() }));
        self.tasks.insert(task, Task { future, waker });
        self.ready.push(task);
        task
    }

    /// The next action; `None` until something is answered or started. `now` is the time of what happens meanwhile, in
    /// milliseconds of the Unix epoch.
    pub fn next(&mut self, now: i64) -> Option<Action> {
        self.shared.lock().now = now;
        loop {
            if let Some(action) = self.shared.lock().actions.pop_front() {
                return Some(action);
            }
            let id = self.ready.pop()?;
            let Some(task) = self.tasks.get_mut(&id) else { continue };
            let mut context = Context::from_waker(&task.waker);
            if let Poll::Ready(outcome) = task.future.as_mut().poll(&mut context) {
                // Dropped outside the lock: what it still holds is given back.
                self.tasks.remove(&id);
                let mut state = self.shared.lock();
                state.cancelled.remove(&id);
                state.actions.push_back(Action::Finished { task: id, outcome });
            }
        }
    }

    /// Answers a call. An answer to a call that is not out is ignored: it was abandoned.
    pub fn answer(&mut self, call: CallId, answer: Answer) {
        let mut state = self.shared.lock();
        if let Some(slot) = state.slots.get_mut(&call)
            && slot.answer.is_none()
        {
            slot.answer = Some(answer);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }

    /// Gives an operation up. It still ends with an outcome, after what is being written has been written.
    pub fn cancel(&mut self, task: TaskId) {
        let Some(entry) = self.tasks.get(&task) else { return };
        let mut state = self.shared.lock();
        if !state.cancelled.insert(task) {
            return;
        }
        let state = &mut *state;
        for (call, slot) in &mut state.slots {
            if slot.task == task && slot.cancellable && slot.answer.is_none() {
                slot.answer = Some(Answer::Cancelled);
                state.actions.push_back(Action::Abandon(*call));
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
        }
        // It may wait for a lock rather than for an answer.
        state.locks.wake_all();
        entry.waker.wake_by_ref();
    }

    /// Whether an operation is under way.
    pub fn is_busy(&self) -> bool {
        !self.tasks.is_empty()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Operations hold the shared state, which must not hold them any longer than the engine lives.
        self.tasks.clear();
    }
}
