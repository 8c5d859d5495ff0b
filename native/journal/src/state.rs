//! What all operations of one engine share: the cache, who holds what, the calls that are out, the actions to hand out.
//!
//! Locked for the length of one step and never across a call.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::action::{Action, Answer, CallId, TaskId};
use crate::cache::Cache;
use crate::event::{Event, EventKind};
use crate::inspect::Stall;
use crate::locks::Locks;
use crate::open::open;
use crate::reads::{JournalError, Reads};
use crate::records::Identity;
use crate::sabotage;
use crate::storage::Rows;

/// How a journal's engine works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The client's name: required, chosen by the user, the same for ever.
    pub client: Arc<str>,
    /// Used only if this engine writes the client row. Random.
    pub epoch: u64,
    /// The version with which values are encoded now.
    pub codec_version: u32,
    /// Whether there is a choice of preconditions to be asked for.
    pub chooses_preconditions: bool,
    /// Lanes that a drain of everything works on at once, at least 1.
    pub lanes_max: usize,
    /// Failed pushes of one generation after which it is given up.
    pub attempts_max: Option<u32>,
    /// Age in milliseconds past which a failed push is the last.
    pub age_max_ms: Option<i64>,
}

/// A call that is out.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) task: TaskId,
    pub(crate) cancellable: bool,
    pub(crate) answer: Option<Answer>,
    pub(crate) waker: Option<Waker>,
}

pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) rows: Arc<dyn Rows>,
    pub(crate) now: i64,
    cache: Cache,
    /// A write failed and may have happened, so that the cache must be read anew.
    pub(crate) stale: bool,
    /// Identities whose keys the driver has.
    pub(crate) kept: HashSet<Identity>,
    /// Targets that answers of generations named which are not durable yet.
    pub(crate) seen_targets: HashMap<(u64, u32), Identity>,
    /// Why the last dispatch of a head came to nothing, where no row tells.
    pub(crate) stalls: HashMap<u64, Stall>,
    pub(crate) locks: Locks,
    pub(crate) actions: VecDeque<Action>,
    pub(crate) slots: HashMap<CallId, Slot>,
    pub(crate) cancelled: HashSet<TaskId>,
    /// Transactions that may have been written, and how many of them are durable.
    pub(crate) written: u64,
    pub(crate) synced: u64,
    /// Events of transactions that are not durable yet.
    waiting: VecDeque<(u64, Event)>,
    next_call: u64,
    /// What heads have drawn, which nobody may keep.
    #[cfg(feature = "sabotage")]
    pub(crate) jitters: HashMap<(u64, u32), u64>,
}

impl State {
    pub(crate) fn new(config: Config, rows: Arc<dyn Rows>, cache: Cache) -> Self {
        Self {
            config,
            rows,
            now: 0,
            cache,
            stale: false,
            kept: HashSet::new(),
            seen_targets: HashMap::new(),
            stalls: HashMap::new(),
            locks: Locks::default(),
            actions: VecDeque::new(),
            slots: HashMap::new(),
            cancelled: HashSet::new(),
            // What a process that died had written is there and may not be durable.
            written: 1,
            synced: 0,
            waiting: VecDeque::new(),
            next_call: 0,
            #[cfg(feature = "sabotage")]
            jitters: HashMap::new(),
        }
    }

    /// What the rows say, read anew if a write may have failed half way.
    pub(crate) fn cache(&mut self) -> Result<&mut Cache, JournalError> {
        if self.stale {
            self.cache = open(&*self.rows, Some(&self.config.client))?;
            self.stale = false;
        }
        Ok(&mut self.cache)
    }

    /// The cache as it was last known.
    pub(crate) fn known(&self) -> &Cache {
        &self.cache
    }

    /// The end of the route from `identity`.
    pub(crate) fn terminal(&self, identity: &Identity) -> Identity {
        self.cache.routes.terminal(identity).clone()
    }

    pub(crate) fn reads(&self) -> Reads<'_> {
        Reads(&*self.rows)
    }

    pub(crate) fn next_call_id(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    /// Gives an operation up: its calls that can be given up are answered, and it makes no more of them.
    pub(crate) fn give_up(&mut self, task: TaskId) {
        if !self.cancelled.insert(task) {
            return;
        }
        let mut abandoned = Vec::new();
        for (call, slot) in &mut self.slots {
            if slot.task == task && slot.cancellable && slot.answer.is_none() {
                slot.answer = Some(Answer::Cancelled);
                abandoned.push(*call);
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
        }
        // In the order in which they were made, so that the same operations give the same actions.
        abandoned.sort_unstable();
        self.actions.extend(abandoned.into_iter().map(Action::Abandon));
        // It may wait for a lock rather than for an answer.
        self.locks.wake_all();
    }

    /// Tells of something as soon as what was written so far is durable.
    pub(crate) fn emit(&mut self, sequence: Option<u64>, identity: Option<&Identity>, kind: EventKind) {
        let event = Event { at: self.now, sequence, identity: identity.cloned(), kind };
        self.waiting.push_back((self.written, event));
        self.release_events();
    }

    /// Hands out the events of what is durable by now.
    pub(crate) fn release_events(&mut self) {
        let early = sabotage::is("tell-before-it-is-durable");
        while self.waiting.front().is_some_and(|(written, _)| early || *written <= self.synced) {
            self.actions.extend(self.waiting.pop_front().map(|(_, event)| Action::Emit(event)));
        }
    }
}

/// The state, shared by the operations.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic in a step the driver gives the engine up; until then reads may still look.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
