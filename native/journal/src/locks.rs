//! Who holds what within the process: the turn to write, the one pass over everything, the checkpoint, and the lease of
//! each lane. Waiters get their turn in the order in which they came.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::action::TaskId;
use crate::records::Identity;
use crate::state::Shared;

/// Something that one operation at a time may hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// The turn to build and write a transaction.
    Commit,
    /// The drain of everything.
    Pass,
    /// Telling the server of the checkpoint.
    Checkpoint,
    /// Work in a namespace.
    Lane(Arc<str>),
}

#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Ordered, so that the same operations wake in the same order.
    held: BTreeMap<Lock, Held>,
}

#[derive(Debug)]
struct Held {
    by: u64,
    /// For a lane: the identity that is worked on.
    identity: Option<Identity>,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    by: u64,
    identity: Option<Identity>,
    waker: Waker,
}

impl Locks {
    /// The identity that the holder of a lane works on; `None` if the lane is free.
    pub(crate) fn identity_in(&self, namespace: &Arc<str>) -> Option<&Identity> {
        self.held.get(&Lock::Lane(namespace.clone())).and_then(|held| held.identity.as_ref())
    }

    /// Lets everyone who waits look again whether it still wants to.
    pub(crate) fn wake_all(&self) {
        for waiter in self.held.values().flat_map(|held| &held.waiting) {
            waiter.waker.wake_by_ref();
        }
    }

    fn is_free(&self, lock: &Lock) -> bool {
        !self.held.contains_key(lock)
    }

    fn release(&mut self, lock: &Lock, by: u64) {
        let Some(held) = self.held.get_mut(lock) else { return };
        if held.by != by {
            held.waiting.retain(|waiter| waiter.by != by);
            return;
        }
        match held.waiting.pop_front() {
            Some(next) => {
                held.by = next.by;
                held.identity = next.identity;
                next.waker.wake();
            }
            None => {
                self.held.remove(lock);
            }
        }
    }
}

/// Holds a lock, or a place among those who wait for it, until it is dropped.
pub(crate) struct Guard {
    shared: Shared,
    lock: Lock,
    by: u64,
}

impl Guard {
    /// Says which identity the holder of a lane goes on with.
    pub(crate) fn work_on(&self, identity: &Identity) {
        if let Some(held) = self.shared.lock().locks.held.get_mut(&self.lock)
            && held.by == self.by
        {
            held.identity = Some(identity.clone());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.lock().locks.release(&self.lock, self.by);
    }
}

/// Takes a lock, after those who came before; a lane for the work on `identity`. `None` if the operation is cancelled
/// meanwhile and `task` is given.
pub(crate) async fn acquire(
    shared: &Shared,
    lock: Lock,
    identity: Option<&Identity>,
    task: Option<TaskId>,
) -> Option<Guard> {
    let by = shared.lock().next_call_id().0;
    // Made before the wait, so that an operation that is dropped while it waits leaves the queue.
    let guard = Guard { shared: shared.clone(), lock: lock.clone(), by };
    let mut waiting = false;
    poll_fn(|context| {
        let mut state = shared.lock();
        if task.is_some_and(|task| state.cancelled.contains(&task)) {
            return Poll::Ready(false);
        }
        if state.locks.is_free(&lock) {
            state
                .locks
                .held
                .insert(lock.clone(), Held { by, identity: identity.cloned(), waiting: VecDeque::new() });
            return Poll::Ready(true);
        }
        let Some(held) = state.locks.held.get_mut(&lock) else { return Poll::Pending };
        if held.by == by {
            return Poll::Ready(true);
        }
        if waiting {
            if let Some(waiter) = held.waiting.iter_mut().find(|waiter| waiter.by == by) {
                waiter.waker.clone_from(context.waker());
            }
        } else {
            held.waiting.push_back(Waiter {
                by,
                identity: identity.cloned(),
                waker: context.waker().clone(),
            });
            waiting = true;
        }
        Poll::Pending
    })
    .await
    .then_some(guard)
}
