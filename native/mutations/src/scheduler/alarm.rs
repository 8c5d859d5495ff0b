//! The alarm of a plain process: one thread that waits for the earliest request.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Constraints, DrainScheduler, Fire};
use crate::error::BoxError;

#[derive(Default)]
struct State {
    fire: Option<Fire>,
    requests: HashMap<String, Instant>,
    stopped: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Goes off on a thread of its own, as long as the process lives. It takes the network for granted and can't see whether
/// the machine charges.
pub struct ThreadAlarm {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl ThreadAlarm {
    /// Starts the thread.
    pub fn new() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let waits = shared.clone();
        let thread = thread::Builder::new().name("parsley-alarm".to_owned()).spawn(move || waits.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.stopped {
            let next = state.requests.iter().min_by_key(|(_, at)| **at).map(|(name, at)| (name.clone(), *at));
            let Some((name, at)) = next else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.requests.remove(&name);
            if let Some(fire) = state.fire.clone() {
                drop(state);
                fire(&name);
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl DrainScheduler for ThreadAlarm {
    fn attach(&self, fire: Fire) {
        self.shared.change(|state| state.fire = Some(fire));
    }

    fn validate(&self, constraints: &Constraints) -> Result<(), BoxError> {
        if constraints.requires_charging {
            return Err("a thread can't tell whether the machine charges: use another scheduler".into());
        }
        Ok(())
    }

    fn schedule(&self, name: &str, _: &Constraints, delay: Duration) -> Result<(), BoxError> {
        let at = Instant::now().checked_add(delay).ok_or("the delay is longer than time is counted")?;
        self.shared.change(|state| {
            state.requests.insert(name.to_owned(), at);
        });
        Ok(())
    }

    fn cancel(&self, name: &str) -> Result<(), BoxError> {
        self.shared.change(|state| {
            state.requests.remove(name);
        });
        Ok(())
    }
}

impl Drop for ThreadAlarm {
    fn drop(&mut self) {
        self.shared.change(|state| state.stopped = true);
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A panic in a callback has been printed by this thread.
            let _ = thread.join();
        }
    }
}
