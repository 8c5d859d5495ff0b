//! Events for whoever listens: a bounded buffer that drops the oldest, and never makes the store wait.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::BoxError;

/// Events that a listener may be behind.
pub(crate) const EVENTS_MAX: usize = 64;
/// Errors of the application's own code that a new listener still sees.
pub(crate) const POISON_REPLAYED_MAX: usize = 16;

/// An error of a mutator's own code, as it is.
#[derive(Clone, Debug)]
pub struct Poison {
    /// The mutation.
    pub sequence: u64,
    /// The error.
    pub error: Arc<BoxError>,
}

#[derive(Debug)]
struct Buffer<T> {
    items: VecDeque<T>,
    dropped: u64,
    closed: bool,
}

#[derive(Debug)]
struct Shared<T> {
    buffer: Mutex<Buffer<T>>,
    filled: Condvar,
    max: usize,
}

/// One listener's place in the stream of events. Advisory: what is durable is told by the store's own lists.
#[derive(Debug)]
pub struct Feed<T>(Arc<Shared<T>>);

impl<T> Feed<T> {
    /// The next event; waits for it up to `timeout`. `None` if none came, or if the store is closed and all are read.
    pub fn next(&self, timeout: Duration) -> Option<T> {
        let deadline = Instant::now() + timeout;
        let mut buffer = self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(item) = buffer.items.pop_front() {
                return Some(item);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if buffer.closed || left.is_zero() {
                return None;
            }
            buffer = self.0.filled.wait_timeout(buffer, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next event, however long it takes. `None` if the store is closed, or the feed stopped, and all are read.
    pub(crate) fn wait(&self) -> Option<T> {
        let mut buffer = self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if buffer.closed {
                return None;
            }
            if let Some(item) = buffer.items.pop_front() {
                return Some(item);
            }
            buffer = self.0.filled.wait(buffer).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Forgets what was not read.
    pub(crate) fn clear(&self) {
        self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner).items.clear();
    }

    /// Ends the feed when it is called: who waits for it is let go.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + Sync + use<T>
    where
        T: Send + 'static,
    {
        let shared = self.0.clone();
        move || {
            shared.buffer.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
            shared.filled.notify_all();
        }
    }

    /// Events that this listener has lost, because it was too slow.
    pub fn dropped(&self) -> u64 {
        self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner).dropped
    }
}

/// Where events come from.
#[derive(Debug)]
pub(crate) struct Source<T> {
    listeners: Vec<std::sync::Weak<Shared<T>>>,
    replay: VecDeque<T>,
    replayed_max: usize,
    max: usize,
}

impl<T: Clone> Source<T> {
    pub(crate) fn new(replayed_max: usize, max: usize) -> Self {
        Self { listeners: Vec::new(), replay: VecDeque::new(), replayed_max, max }
    }

    pub(crate) fn listen(&mut self) -> Feed<T> {
        let buffer = Buffer { items: self.replay.clone(), dropped: 0, closed: false };
        let shared = Arc::new(Shared { buffer: Mutex::new(buffer), filled: Condvar::new(), max: self.max });
        self.listeners.push(Arc::downgrade(&shared));
        Feed(shared)
    }

    pub(crate) fn send(&mut self, item: &T) {
        if self.replayed_max > 0 {
            if self.replay.len() == self.replayed_max {
                self.replay.pop_front();
            }
            self.replay.push_back(item.clone());
        }
        self.listeners.retain(|listener| {
            let Some(shared) = listener.upgrade() else { return false };
            let mut buffer = shared.buffer.lock().unwrap_or_else(PoisonError::into_inner);
            if buffer.items.len() >= shared.max {
                buffer.items.pop_front();
                buffer.dropped += 1;
            }
            buffer.items.push_back(item.clone());
            drop(buffer);
            shared.filled.notify_one();
            true
        });
    }

    pub(crate) fn close(&mut self) {
        for shared in self.listeners.drain(..).filter_map(|listener| listener.upgrade()) {
            shared.buffer.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
            shared.filled.notify_all();
        }
    }
}
