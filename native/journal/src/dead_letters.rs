//! What a person does with a row that will not go on by itself: retry it, or discard it.

use std::sync::Arc;

use crate::io::{Interrupt, Io};
use crate::mutate::{announce, first_client};
use crate::names::{FailureKind, Phase, Transition, detail};
use crate::reads::JournalError;
use crate::records::{Dismissal, Execution, Identity, Intent};
use crate::report::{Outcome, Refused, RefusedKind};
use crate::rules::Cause;
use crate::settle::dismiss_answer;
use crate::state::State;
use crate::transaction::{Failed, Transaction};
use crate::visit::Head;

/// Repeats a dead letter as a new intent, and dismisses it.
pub(crate) async fn retry(io: Io, sequence: u64) -> Outcome {
    match retried(&io, sequence).await {
        Ok(new) => Outcome::Retried(new),
        Err(refused) => Outcome::Refused(refused),
    }
}

async fn retried(io: &Io, sequence: u64) -> Result<u64, Refused> {
    let head = find(io, sequence)?;
    if !is_dead_letter(&head) {
        return Err(wrong_row(&head, "only a dead letter can be retried"));
    }
    let accepted = io
        .commit(Transition::Retry, |transaction, state| {
            if state.reads().find_execution(sequence)?.as_ref() != Some(&head.execution) {
                return Ok((None, None));
            }
            let identity = state.terminal(&terminal_source(state, &head)?);
            let intent =
                Intent { identity, retry_of: Some(sequence), created_at: state.now, ..head.intent.clone() };
            let new = transaction.enqueue(&intent, || first_client(state))?;
            dismiss(transaction, state, &head, &format!("retried as {new}").into())?;
            Ok((Some(new), Some((new, intent))))
        })
        .await?;
    // Another call was faster with the same row.
    let Some((new, intent)) = accepted else {
        return Err(wrong_row(&find(io, sequence)?, "it has just changed"));
    };
    announce(io, new, &intent.identity, &head.mutator());
    io.durable().await?;
    Ok(new)
}

/// Dismisses a dead letter, or one of the two rows that would hold their lane for ever.
pub(crate) async fn discard(io: Io, sequence: u64, note: Arc<str>) -> Outcome {
    match discarded(&io, sequence, &note).await {
        Ok(refresh) => Outcome::Discarded { sequence, refresh },
        Err(refused) => Outcome::Refused(refused),
    }
}

async fn discarded(io: &Io, sequence: u64, note: &Arc<str>) -> Result<Option<Identity>, Refused> {
    let head = find(io, sequence)?;
    // Nobody works on a dead letter; on the others a drain may be at work right now.
    let terminal = io.state().terminal(&head.intent.identity);
    let _lease = if head.execution.phase.is_pending() { Some(io.lease(&terminal).await?) } else { None };
    let head = find(io, sequence)?;
    let way = Way::of(io, &head)?;
    let discarded = io
        .commit(Transition::Discard, |transaction, state| {
            if state.reads().find_execution(sequence)?.as_ref() != Some(&head.execution) {
                return Ok((None, None));
            }
            let refresh = match way {
                Way::DeadLetter => {
                    dismiss(transaction, state, &head, note)?;
                    None
                }
                Way::Unprepared => {
                    park_dismissed(transaction, state, &head, note)?;
                    None
                }
                Way::Answered => {
                    let dismissal = Dismissal { at: state.now, note: note.clone() };
                    Some(dismiss_answer(transaction, state, &head.subject(), &dismissal)?)
                }
            };
            Ok((Some(sequence), Some(refresh)))
        })
        .await?;
    let Some(refresh) = discarded else { return Err(wrong_row(&find(io, sequence)?, "it has just changed")) };
    io.state().stalls.remove(&sequence);
    io.durable().await?;
    Ok(refresh)
}

/// The rows that can be discarded.
enum Way {
    DeadLetter,
    /// Acked, and a failure keeps it from its end.
    Answered,
    /// The first of its identity, which its mutator declines.
    Unprepared,
}

impl Way {
    fn of(io: &Io, head: &Head) -> Result<Self, Refused> {
        let execution = &head.execution;
        if is_dead_letter(head) {
            return Ok(Self::DeadLetter);
        }
        let state = io.state();
        let refused = |error: JournalError| Refused::from(Interrupt::from(error));
        if execution.phase.is_post_ack() {
            let failures = state.reads().failures(head.sequence).map_err(refused)?;
            let failed =
                failures.iter().any(|(_, it)| it.generation == execution.generation && it.kind.is_post_ack());
            if failed {
                return Ok(Self::Answered);
            }
            return Err(wrong_row(head, "nothing has failed since its answer: drain it"));
        }
        if execution.phase == Phase::Unprepared {
            let terminal = state.terminal(&head.intent.identity);
            let mut first = None;
            for identity in state.known().routes.all_leading_to(&terminal) {
                let there = state.reads().first_pending(&identity, 0).map_err(refused)?;
                first = first.min(there).or(first).or(there);
            }
            return match first {
                Some(first) if first < head.sequence => {
                    Err(wrong_row(head, &format!("mutation {first} is in front of it")))
                }
                _ => Ok(Self::Unprepared),
            };
        }
        Err(wrong_row(head, "the server may have it or it is done: drain it, and see deadLetters"))
    }
}

fn is_dead_letter(head: &Head) -> bool {
    head.execution.phase == Phase::Parked && head.execution.dismissed.is_none()
}

fn find(io: &Io, sequence: u64) -> Result<Head, Refused> {
    let mut state = io.state();
    state.cache().map_err(Interrupt::from)?;
    let reads = state.reads();
    let execution = reads.find_execution(sequence).map_err(Interrupt::from)?;
    let Some(execution) = execution else {
        let message = format!("there is no mutation {sequence} in the journal");
        return Err(Refused { kind: RefusedKind::WrongRow, message, call: None });
    };
    let intent = reads.intent(sequence).map_err(Interrupt::from)?;
    Ok(Head { sequence, intent, execution })
}

fn wrong_row(head: &Head, why: &str) -> Refused {
    let Execution { phase, dismissed, .. } = &head.execution;
    let sequence = head.sequence;
    let message = match dismissed {
        Some(dismissal) => format!("mutation {sequence} was dismissed already: {}", dismissal.note),
        None => format!("mutation {sequence} is {phase}: {why}"),
    };
    Refused { kind: RefusedKind::WrongRow, message, call: None }
}

/// Where the route of a row begins: the identity that it was frozen with, if it was.
fn terminal_source(state: &State, head: &Head) -> Result<Identity, JournalError> {
    match head.execution.generation {
        0 => Ok(head.intent.identity.clone()),
        generation => Ok(state.reads().attempt(head.sequence, generation)?.identity),
    }
}

fn dismiss(
    transaction: &mut Transaction<'_>,
    state: &State,
    head: &Head,
    note: &Arc<str>,
) -> Result<(), JournalError> {
    let dismissal = Dismissal { at: state.now, note: note.clone() };
    let dismissed = Execution { dismissed: Some(dismissal), ..head.execution.clone() };
    transaction.execute(&head.subject(), &dismissed, Cause::Dismissal)
}

fn park_dismissed(
    transaction: &mut Transaction<'_>,
    state: &State,
    head: &Head,
    note: &Arc<str>,
) -> Result<(), JournalError> {
    let failed = Failed {
        kind: FailureKind::Projection,
        detail: detail::DISCARDED,
        message: "discarded before it was prepared",
    };
    let id = transaction.fail(head.sequence, head.execution.generation, &failed, state.now)?;
    let parked = Execution {
        phase: Phase::Parked,
        active_failure: Some(id),
        dismissed: Some(Dismissal { at: state.now, note: note.clone() }),
        ..head.execution.clone()
    };
    transaction.execute(&head.subject(), &parked, Cause::Dismissal)
}
