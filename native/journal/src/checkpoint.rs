//! Telling the server what is settled for good (T13), and forgetting it here (T14).

use crate::action::{Answer, Call, CallId};
use crate::event::{EventKind, FailureNote};
use crate::io::{Interrupt, Io, thrown};
use crate::locks::Lock;
use crate::names::{FailureKind, Transition, detail};
use crate::sabotage;
use crate::transaction::Failed;

/// Mutations whose rows one transaction deletes at most, so that a long backlog takes bounded memory.
const PRUNED_AT_ONCE_MAX: u64 = 4096;

/// Brings the checkpoint up to the settled prefix. Returns whether something failed, which is told as an event only.
pub(crate) async fn flush(io: &Io) -> Result<bool, Interrupt> {
    let _turn = io.acquire(Lock::Checkpoint).await?;
    let (through, confirmed) = {
        let mut state = io.state();
        match state.cache() {
            Ok(cache) => (cache.retired_through(), cache.confirmed_through()),
            // The storage can't be read; the next drain tries again.
            Err(_) => return Ok(true),
        }
    };
    let mut failed = false;
    if through > confirmed {
        failed |= !confirm(io, through, confirmed).await?;
    }
    Ok(failed | !prune(io, through).await?)
}

async fn confirm(io: &Io, through: u64, confirmed: u64) -> Result<bool, Interrupt> {
    let (id, answer) = match io.act(Call::Retire { through }).await {
        Ok(answered) => answered,
        Err(Interrupt::Failed(failed)) => {
            fail(io, through, FailureKind::Persistence, detail::RETIRE_CONFIRMATION_FAILED, &failed.message);
            return Ok(false);
        }
        Err(interrupt) => return Err(interrupt),
    };
    match answer {
        Answer::Confirmed(answered) if answered > through || answered < confirmed => {
            let message = format!(
                "the server confirmed {answered}, asked for {through} after it had confirmed {confirmed}"
            );
            fail(io, through, FailureKind::Protocol, detail::RETIRE_ACK_INVALID, &message);
            Ok(false)
        }
        Answer::Confirmed(answered) if answered == confirmed => Ok(true),
        Answer::Confirmed(answered) => store(io, through, answered).await,
        other => {
            refuse(io, through, id, other);
            Ok(false)
        }
    }
}

fn refuse(io: &Io, through: u64, id: CallId, answer: Answer) {
    let message = thrown(id, answer).message;
    fail(io, through, FailureKind::Transport, detail::RETIRE_FAILED, &message);
}

async fn store(io: &Io, requested: u64, confirmed: u64) -> Result<bool, Interrupt> {
    let stored = io
        .commit(Transition::T13, |transaction, _| {
            transaction.confirm(confirmed)?;
            Ok((None, ()))
        })
        .await;
    match stored {
        Ok(()) => {
            io.state().emit(None, None, EventKind::CheckpointConfirmed { requested, confirmed });
            Ok(true)
        }
        Err(Interrupt::Failed(failed)) => {
            let detail = detail::RETIRE_CONFIRMATION_FAILED;
            fail(io, requested, FailureKind::Persistence, detail, &failed.message);
            Ok(false)
        }
        Err(interrupt) => Err(interrupt),
    }
}

async fn prune(io: &Io, requested: u64) -> Result<bool, Interrupt> {
    loop {
        let (pruned, confirmed) = {
            let mut state = io.state();
            let Ok(cache) = state.cache() else { return Ok(false) };
            let ahead = sabotage::is("prune-past-the-checkpoint");
            (cache.pruned_through, if ahead { cache.retired_through() } else { cache.confirmed_through() })
        };
        if pruned >= confirmed {
            return Ok(true);
        }
        let through = confirmed.min(pruned + PRUNED_AT_ONCE_MAX);
        let deleted = io
            .commit(Transition::T14, |transaction, _| {
                transaction.prune(through)?;
                Ok((None, ()))
            })
            .await;
        match deleted {
            Ok(()) => {}
            Err(Interrupt::Failed(failed)) => {
                fail(io, requested, FailureKind::Persistence, detail::RETIRE_PRUNE_FAILED, &failed.message);
                return Ok(false);
            }
            Err(interrupt) => return Err(interrupt),
        }
    }
}

fn fail(io: &Io, requested: u64, kind: FailureKind, detail: &str, message: &str) {
    let mut state = io.state();
    let failure = FailureNote::of(&Failed { kind, detail, message }, state.now);
    state.emit(None, None, EventKind::CheckpointFailed { requested, failure });
}
