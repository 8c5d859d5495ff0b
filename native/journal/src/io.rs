//! How an operation reaches the world: each call is handed out as an action, and the operation goes on with its answer.

use std::future::poll_fn;
use std::sync::MutexGuard;
use std::task::Poll;

use crate::action::{Action, Answer, Call, CallId, TaskId};
use crate::locks::{Guard, Lock, acquire};
use crate::names::Transition;
use crate::reads::JournalError;
use crate::records::{Identity, Meta, Presence};
use crate::sabotage;
use crate::state::{Shared, Slot, State};
use crate::transaction::Transaction;

/// Why an operation can't go on where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The caller gave up.
    Cancelled,
    /// A callback panicked or failed for good.
    Fatal(CallId),
    /// A local port or the storage failed. Nothing durable says so.
    Failed(Thrown),
}

/// A failure with the call that it came from, if it came from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thrown {
    pub(crate) message: String,
    pub(crate) call: Option<CallId>,
}

impl From<JournalError> for Interrupt {
    fn from(error: JournalError) -> Self {
        Self::Failed(Thrown { message: error.to_string(), call: None })
    }
}

/// What came of looking for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyAnswer {
    /// The driver has it.
    Known,
    /// It can't be told now.
    Unavailable,
    /// There is none: why, as the detail of a failure and as a text.
    Failed(&'static str, Thrown),
}

/// One operation's way to the world.
#[derive(Clone)]
pub(crate) struct Io {
    pub(crate) shared: Shared,
    pub(crate) task: TaskId,
}

impl Io {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }

    /// Takes a lock, unless the caller gives up.
    pub(crate) async fn acquire(&self, lock: Lock) -> Result<Guard, Interrupt> {
        acquire(&self.shared, lock, None, Some(self.task)).await.ok_or(Interrupt::Cancelled)
    }

    /// Takes the lease of an identity's lane, unless the caller gives up.
    pub(crate) async fn lease(&self, identity: &Identity) -> Result<Guard, Interrupt> {
        let lock = Lock::Lane(identity.namespace.clone());
        acquire(&self.shared, lock, Some(identity), Some(self.task)).await.ok_or(Interrupt::Cancelled)
    }

    async fn answer(&self, call: Call, cancellable: bool) -> (CallId, Answer) {
        let id = {
            let mut state = self.state();
            let id = state.next_call_id();
            if cancellable && state.cancelled.contains(&self.task) {
                return (id, Answer::Cancelled);
            }
            state.slots.insert(id, Slot { task: self.task, cancellable, answer: None, waker: None });
            state.actions.push_back(Action::Call { task: self.task, id, call });
            id
        };
        let answer = poll_fn(|context| {
            let mut state = self.state();
            let Some(slot) = state.slots.get_mut(&id) else { return Poll::Ready(Answer::Cancelled) };
            let Some(answer) = slot.answer.take() else {
                slot.waker = Some(context.waker().clone());
                return Poll::Pending;
            };
            state.slots.remove(&id);
            Poll::Ready(answer)
        })
        .await;
        (id, answer)
    }

    /// Makes a call that changes nothing outside.
    pub(crate) async fn ask(&self, call: Call) -> Result<(CallId, Answer), Interrupt> {
        match self.answer(call, true).await {
            (_, Answer::Cancelled) => Err(Interrupt::Cancelled),
            (id, Answer::Fatal) => Err(Interrupt::Fatal(id)),
            other => Ok(other),
        }
    }

    /// Makes a call that is felt outside: what led to it is made durable first.
    pub(crate) async fn act(&self, call: Call) -> Result<(CallId, Answer), Interrupt> {
        if !sabotage::is("act-before-sync") {
            self.durable().await?;
        }
        self.ask(call).await
    }

    /// Makes a call that is felt outside and has no answer but that it is done.
    pub(crate) async fn act_done(&self, call: Call) -> Result<Result<(), Thrown>, Interrupt> {
        let (id, answer) = self.act(call).await?;
        Ok(match answer {
            Answer::Done => Ok(()),
            other => Err(thrown(id, other)),
        })
    }

    /// Reads a meta; a failure of the port ends the work on the identity.
    pub(crate) async fn status(&self, key: &Identity) -> Result<Option<Meta>, Interrupt> {
        match self.ask(Call::Status(key.clone())).await? {
            (_, Answer::Meta(meta)) => Ok(meta),
            (id, other) => Err(Interrupt::Failed(thrown(id, other))),
        }
    }

    /// Reads a confirmed base: the value, or why its bytes can't be made.
    pub(crate) async fn read(&self, key: &Identity) -> Result<Result<Presence, Thrown>, Interrupt> {
        match self.ask(Call::Read(key.clone())).await? {
            (_, Answer::Value(value)) => Ok(Ok(value)),
            (id, Answer::Codec(message)) => Ok(Err(Thrown { message, call: Some(id) })),
            (id, other) => Err(Interrupt::Failed(thrown(id, other))),
        }
    }

    /// Draws a number from 0 to the window.
    pub(crate) async fn draw(&self, window_ms: u64) -> Result<u64, Interrupt> {
        match self.ask(Call::Draw { window_ms }).await? {
            (_, Answer::Drawn(drawn)) => Ok(drawn.min(window_ms)),
            (id, other) => Err(Interrupt::Failed(thrown(id, other))),
        }
    }

    /// Looks for the key of an identity: the one that is kept, else the resolver's.
    pub(crate) async fn key_of(&self, identity: &Identity) -> Result<KeyAnswer, Interrupt> {
        use crate::names::detail;
        if self.state().kept.contains(identity) {
            return Ok(KeyAnswer::Known);
        }
        let (id, answer) = self.ask(Call::Resolve(identity.clone())).await?;
        let failed = |detail, message| KeyAnswer::Failed(detail, Thrown { message, call: Some(id) });
        Ok(match answer {
            Answer::Known => {
                self.state().kept.insert(identity.clone());
                KeyAnswer::Known
            }
            Answer::Unavailable => KeyAnswer::Unavailable,
            Answer::Unknown => {
                failed(detail::RESOLVER_NULL, format!("the resolver knows no key for {identity}"))
            }
            Answer::Mismatch(other) => failed(
                detail::RESOLVER_MISMATCH,
                format!("the resolver was asked for {identity} and answered the key of {other}"),
            ),
            other => failed(detail::RESOLVER_THROW, thrown(id, other).message),
        })
    }

    /// Builds a transaction on what is committed and writes it. Not to be cancelled.
    ///
    /// `build` returns the mutation that it is about besides its result; without changes nothing is written. If the write fails it may have happened, so
    /// the cache is read anew before anything else is done.
    pub(crate) async fn commit<T>(
        &self,
        transition: Transition,
        build: impl FnOnce(&mut Transaction<'_>, &State) -> Result<(Option<u64>, T), JournalError>,
    ) -> Result<T, Interrupt> {
        // Without a task there is no cancelling, so there is always a guard.
        let _turn = acquire(&self.shared, Lock::Commit, None, None).await;
        let (call, change, result) = {
            let mut state = self.state();
            state.cache()?;
            let mut transaction = Transaction::new(&*state.rows, state.known());
            let (sequence, result) = build(&mut transaction, &state)?;
            let staged = transaction.finish();
            if staged.batch.0.is_empty() {
                state.cache()?.apply(staged.change);
                return Ok(result);
            }
            (Call::Commit { batch: staged.batch, transition, sequence }, staged.change, result)
        };
        let (id, answer) = self.answer(call, false).await;
        let mut state = self.state();
        // One that failed counts as well: it may be there, and what is built on it must not go out before it is durable.
        if answer == Answer::Done || !sabotage::is("forget-a-failed-write") {
            state.written += 1;
        }
        if answer == Answer::Done {
            state.cache()?.apply(change);
            return Ok(result);
        }
        state.stale = !sabotage::is("believe-the-cache-after-an-error");
        Err(interrupted(id, answer))
    }

    /// Makes everything written so far durable.
    pub(crate) async fn durable(&self) -> Result<(), Interrupt> {
        let written = {
            let state = self.state();
            if state.synced >= state.written {
                return Ok(());
            }
            state.written
        };
        let (id, answer) = self.answer(Call::Sync, false).await;
        let mut state = self.state();
        if answer == Answer::Done {
            state.synced = state.synced.max(written);
            state.release_events();
            return Ok(());
        }
        state.stale = true;
        Err(interrupted(id, answer))
    }
}

fn interrupted(id: CallId, answer: Answer) -> Interrupt {
    match answer {
        Answer::Cancelled => Interrupt::Cancelled,
        Answer::Fatal => Interrupt::Fatal(id),
        // Nothing of the application's failed, so there is no error of its own to come back to.
        other => Interrupt::Failed(Thrown {
            message: format!("the journal's storage failed: {}", thrown(id, other).message),
            call: None,
        }),
    }
}

/// The failure in an answer that is not the one that was asked for.
pub(crate) fn thrown(id: CallId, answer: Answer) -> Thrown {
    let message = match answer {
        Answer::Threw(message)
        | Answer::Codec(message)
        | Answer::ArgsCodec(message)
        | Answer::MutatorMissing(message)
        | Answer::Rejected(message) => message,
        other => format!("the driver's answer does not fit its call: {other:?}"),
    };
    Thrown { message, call: Some(id) }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use super::*;
    use crate::cache::Cache;
    use crate::memory::MemoryStorage;
    use crate::records::Client;
    use crate::state::Config;

    #[test]
    fn a_transaction_without_changes_is_taken_over() {
        let client = Client {
            allocated: 1,
            retired_through: 1,
            confirmed_through: 1,
            ..Client::new("c".into(), 1, 1)
        };
        // Its rows are gone, and the cache does not know.
        let cache = Cache { client: Some(client), ..Cache::default() };
        let config = Config {
            client: "c".into(),
            epoch: 1,
            codec_version: 1,
            chooses_preconditions: false,
            lanes_max: 1,
            attempts_max: None,
            age_max_ms: None,
        };
        let shared = Shared::new(State::new(config, Arc::new(MemoryStorage::default()), cache));
        let io = Io { shared, task: TaskId(1) };
        let mut pruned = pin!(io.commit(Transition::T14, |transaction, _| {
            transaction.prune(1)?;
            Ok((None, ()))
        }));
        let polled = pruned.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(Ok(())));
        assert!(io.state().actions.is_empty(), "nothing is written");
        assert_eq!(
            io.state().known().pruned_through,
            1,
            "or the next round would prune the same again, for ever"
        );
    }
}
