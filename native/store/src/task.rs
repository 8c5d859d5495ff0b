//! One task: its store, and the engine of its current execution.

use std::collections::VecDeque;

use bytes::Bytes;
use parsley_core::held::HeldError;
use parsley_core::{
    CausesHeader, ChannelId, Engine, Fault, Next, Position, Receipt, Received, Refusal, TopicId,
};

use crate::backend::Backend;
use crate::error::StoreError;
use crate::store::OrderingStore;

/// Why a call on a task gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The engine refused, now or at an earlier call of this execution.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller handed over something that is no record part.
    #[error(transparent)]
    InvalidRecord(#[from] HeldError),
    /// The engine was opened with fewer channels.
    #[error("there is no channel {index}: the engine was opened with {received}")]
    NoSuchChannel {
        /// The index asked for.
        index: usize,
        /// How many channels are received.
        received: usize,
    },
    /// No engine is open.
    #[error("no engine is open on this store: open one first")]
    NoEngine,
}

/// Takes a changed row for the changelog: its key, and its value or `None` where it is deleted.
pub type RowSink<'a> = dyn FnMut(&[u8], Option<&[u8]>) + 'a;

/// A store and at most one engine on it.
///
/// Calls may come from any thread, one at a time.
pub struct Task<B> {
    store: OrderingStore<B>,
    execution: Execution,
}

enum Execution {
    None,
    Running(Box<Running>),
    /// The first refusal wins: it stands until an engine is opened anew.
    Refused(Refusal),
}

impl Execution {
    fn running(&mut self) -> Result<&mut Running, TaskError> {
        match self {
            Self::Running(running) => Ok(running),
            Self::Refused(first) => Err(TaskError::Refused(first.clone())),
            Self::None => Err(TaskError::NoEngine),
        }
    }
}

struct Running {
    engine: Engine,
    /// How many channels the engine was opened with.
    received: usize,
    /// Rows that have been staged by a flush and are still to be handed out.
    outbox: VecDeque<(Bytes, Option<Bytes>)>,
}

impl<B: Backend> Task<B> {
    /// A task with no engine yet.
    pub fn new(store: OrderingStore<B>) -> Self {
        Self { store, execution: Execution::None }
    }

    /// The store, to read it.
    pub fn store(&self) -> &OrderingStore<B> {
        &self.store
    }

    /// The store, to stage, restore, settle and commit.
    pub fn store_mut(&mut self) -> &mut OrderingStore<B> {
        &mut self.store
    }

    /// Drops the engine and what is staged, and closes the store.
    pub fn close(self) -> Result<(), StoreError> {
        self.store.close()
    }

    /// Begins an execution on the rows as they are, staged ones included. An earlier engine is dropped first.
    pub fn open_engine(&mut self, received: &[Received], budget_bytes: usize) -> Result<(), TaskError> {
        self.close_engine();
        let opened = Engine::open(received, budget_bytes, &self.store);
        let engine = self.settle_fault(opened)?;
        self.execution = Execution::Running(Box::new(Running {
            engine,
            received: received.len(),
            outbox: VecDeque::new(),
        }));
        Ok(())
    }

    /// Ends the execution; what it has not flushed is gone. Staged rows stay.
    pub fn close_engine(&mut self) {
        self.execution = Execution::None;
    }

    /// See [`Engine::known_topics`].
    pub fn known_topics(&self) -> Result<Vec<TopicId>, TaskError> {
        Ok(self.engine()?.known_topics())
    }

    /// See [`Engine::topics_gone`].
    pub fn topics_gone(&mut self, dead: &[TopicId]) -> Result<(), TaskError> {
        let judged = self.running()?.engine.topics_gone(dead);
        self.sticking(judged)
    }

    /// See [`Engine::identities`].
    pub fn identities(&mut self, dead: &[ChannelId], recreated: &[ChannelId]) -> Result<(), TaskError> {
        let judged = self.running()?.engine.identities(dead, recreated);
        self.sticking(judged)
    }

    /// See [`Engine::receive`].
    pub fn receive(
        &mut self,
        channel: usize,
        position: Position,
        header: CausesHeader<'_>,
    ) -> Result<Receipt, TaskError> {
        let running = self.running()?;
        if channel >= running.received {
            return Err(TaskError::NoSuchChannel { index: channel, received: running.received });
        }
        let received = running.engine.receive(channel, position, header);
        self.sticking(received)
    }

    /// See [`Engine::may_release`].
    pub fn may_release(&self) -> Result<bool, TaskError> {
        Ok(self.engine()?.may_release())
    }

    /// See [`Engine::next`].
    pub fn next_delivery(&mut self) -> Result<Next, TaskError> {
        let next = self.execution.running()?.engine.next(&self.store);
        self.settle_fault(next)
    }

    /// See [`Engine::hold`].
    pub fn hold(&mut self, record: &Bytes) -> Result<(), TaskError> {
        Ok(self.running()?.engine.hold(record)?)
    }

    /// See [`Engine::stamp`].
    pub fn stamp(&self) -> Result<&[u8], TaskError> {
        Ok(self.engine()?.stamp())
    }

    /// How many records are held.
    pub fn held_count(&self) -> Result<usize, TaskError> {
        Ok(self.engine()?.held_count())
    }

    /// Each received channel and how many of its records are held, in channel order.
    pub fn held_counts(&self) -> Result<Vec<(ChannelId, usize)>, TaskError> {
        Ok(self.engine()?.held_counts().collect())
    }

    /// About how many bytes wait for a commit: staged rows, and what the engine has not flushed.
    pub fn uncommitted_bytes(&self) -> usize {
        let unflushed = match &self.execution {
            Execution::Running(running) => running.engine.unflushed_bytes(),
            Execution::None | Execution::Refused(_) => 0,
        };
        self.store.staged_bytes() + unflushed
    }

    /// Stages the rows that the engine has changed since the last flush, and hands them out for the changelog, in the
    /// engine's order: the next ones of about `bytes_max` bytes, at least one if any. Call it until it hands out none,
    /// before the commit that is to hold them.
    pub fn flush(&mut self, bytes_max: usize, sink: &mut RowSink<'_>) -> Result<(), TaskError> {
        let Running { engine, outbox, .. } = self.execution.running()?;
        if outbox.is_empty() {
            engine.flush(&mut |key, value| outbox.push_back((key, value)));
            for (key, value) in &*outbox {
                self.store.put_flushed(key.clone(), value.clone())?;
            }
        }
        let mut bytes = 0;
        while bytes < bytes_max
            && let Some((key, value)) = outbox.pop_front()
        {
            bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
            sink(&key, value.as_deref());
        }
        Ok(())
    }

    fn engine(&self) -> Result<&Engine, TaskError> {
        match &self.execution {
            Execution::Running(running) => Ok(&running.engine),
            Execution::Refused(first) => Err(TaskError::Refused(first.clone())),
            Execution::None => Err(TaskError::NoEngine),
        }
    }

    fn running(&mut self) -> Result<&mut Running, TaskError> {
        self.execution.running()
    }

    /// Ends the execution on a refusal; nothing of the step that was refused may be kept.
    fn sticking<T>(&mut self, judged: Result<T, Refusal>) -> Result<T, TaskError> {
        judged.map_err(|refusal| {
            self.execution = Execution::Refused(refusal.clone());
            TaskError::Refused(refusal)
        })
    }

    fn settle_fault<T>(&mut self, result: Result<T, Fault>) -> Result<T, TaskError> {
        match result {
            Ok(value) => Ok(value),
            Err(Fault::Refused(refusal)) => self.sticking(Err(refusal)),
            // The store has kept the failure for itself and gives it at every call from now on.
            Err(Fault::Rows(rows)) => {
                Err(TaskError::Store(StoreError::Io { action: "running the engine", cause: rows.0 }))
            }
        }
    }
}
