//! Giving up: a token that the caller keeps and the store watches.

use std::sync::{Arc, Mutex, PoisonError};

type Hook = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    cancelled: bool,
    next: u64,
    hooks: Vec<(u64, Hook)>,
}

/// Cancels what it was given to. Clones are one token; it is cancelled once and for all. Any thread may use it.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<Mutex<State>>);

impl Cancellation {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels. Callbacks that run are not interrupted: they see it through their own clone, if they look.
    pub fn cancel(&self) {
        let hooks = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.cancelled = true;
            std::mem::take(&mut state.hooks)
        };
        for (_, hook) in hooks {
            hook();
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancelled
    }

    /// Cancels when the returned guard is dropped: for futures that stand for a blocking call.
    pub fn on_drop(self) -> CancelOnDrop {
        CancelOnDrop(self)
    }

    /// Has `hook` run when it is cancelled, at once if it is already. The registration ends with the guard.
    pub(crate) fn register(&self, hook: impl FnOnce() + Send + 'static) -> Registration {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = state.next;
        state.next += 1;
        if state.cancelled {
            drop(state);
            hook();
        } else {
            state.hooks.push((id, Box::new(hook)));
        }
        Registration { token: self.clone(), id }
    }
}

/// Cancels its token when it is dropped.
pub struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub(crate) struct Registration {
    token: Cancellation,
    id: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut state = self.token.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.hooks.retain(|(id, _)| *id != self.id);
    }
}
