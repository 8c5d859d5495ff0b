//! How operations on a mutation journal end, and its content as lists.
//!
//! ```text
//! outcome  := byte 1 mutated: long sequence      2 retried: long sequence
//!                  3 discarded: long sequence | flag [identity refresh]
//!                  4 refused: byte kind | text message | long call, 0 for none
//!                    kind: 1 unresolved  2 unavailable  3 cancelled  4 fatal  5 wrong row  6 storage
//!                  5 drained: report | flag [error]
//! report   := list of (identity | int pushes | int acks | int retired | list of long parked | flag [blocked])
//!             | long retiredThrough | long confirmedThrough | flag checkpointFailed
//! blocked  := byte 1 owner: long sequence         2 busy        3 backoff: long sequence | long eligibleAt
//!                  4 declined: long sequence      5 unavailable: identity    6 unresolved: identity | text message
//!                  7 failed: long sequence, 0 for none | text kind | text message      8 conflict: long sequence
//! error    := byte 1 kept | text kind, or 2 persistence, 3 cancelled, 4 fatal
//!             | text message | long call, 0 for none | list of (text message | long call, 0 for none)
//! pending  := list of (identity | long sequence | text mutator | text state | int attempt | long createdAt | text? reason)
//! dead     := list of (identity | long sequence | text mutator | int generation | int attempts | failure
//!             | long parkedAt | flag remoteOutcomeUnknown)
//! failure  := int generation | text kind | text detail | text message | long firstAt | long lastAt | int count
//! lanes    := list of (text namespace | flag [long sequence | text state | int attempts | flag [long eligibleBy]]
//!             | long pending | long oldestCreatedAt)
//! dump     := flag [long allocated | long retiredThrough | long confirmedThrough]
//!             | list of (long sequence | text phase | int generation | int attempt | flag [long lastAttemptAt])
//!             | list of (long sequence | int generation | identity | presence base | presence mine
//!                        | flag [meta? conflict])
//!             | list of (long sequence | failure)
//!             | list of (long sequence | int index | flag isKey, then identity or text namespace | text disposition)
//!             | list of (identity source | identity target | text state)
//!             | list of (identity | long sequence | text state)
//! ```

use parsley_journal::action::CallId;
use parsley_journal::inspect::{DeadLetter, Dump, LaneRow, PendingRow, Stall};
use parsley_journal::records::{EffectTarget, Failure};
use parsley_journal::report::{
    Blocked, DrainError, DrainErrorKind, IdentityReport, Outcome, RefusedKind, Report,
};

use crate::wire::Writer;

/// Appends how an operation ended.
pub(crate) fn outcome(to: &mut Writer, outcome: &Outcome) {
    match outcome {
        Outcome::Mutated(sequence) => drop(to.byte(1).long(*sequence)),
        Outcome::Retried(sequence) => drop(to.byte(2).long(*sequence)),
        Outcome::Discarded { sequence, refresh } => {
            to.byte(3).long(*sequence).identity_or_none(refresh.as_ref());
        }
        Outcome::Refused(refused) => {
            let kind = match refused.kind {
                RefusedKind::Unresolved => 1,
                RefusedKind::Unavailable => 2,
                RefusedKind::Cancelled => 3,
                RefusedKind::Fatal => 4,
                RefusedKind::WrongRow => 5,
                RefusedKind::Storage => 6,
            };
            call(to.byte(4).byte(kind).text(&refused.message), refused.call);
        }
        Outcome::Drained(done, failed) => {
            report(to.byte(5), done);
            to.flag(failed.is_some());
            if let Some(failed) = failed {
                error(to, failed);
            }
        }
    }
}

fn call(to: &mut Writer, call: Option<CallId>) {
    to.long(call.map_or(0, |call| call.0));
}

fn error(to: &mut Writer, error: &DrainError) {
    match error.kind {
        DrainErrorKind::Kept(kind) => to.byte(1).text(kind.name()),
        DrainErrorKind::Persistence => to.byte(2),
        DrainErrorKind::Cancelled => to.byte(3),
        DrainErrorKind::Fatal => to.byte(4),
    };
    call(to.text(&error.message), error.call);
    to.list(&error.others, |to, (message, from)| call(to.text(message), *from));
}

fn report(to: &mut Writer, report: &Report) {
    to.list(&report.identities, identity_report);
    let checkpoint = report.checkpoint;
    to.long(checkpoint.retired_through).long(checkpoint.confirmed_through).flag(checkpoint.failed);
}

fn identity_report(to: &mut Writer, report: &IdentityReport) {
    to.identity(&report.identity).int(report.pushes).int(report.acks).int(report.retired);
    to.list(&report.parked, |to, sequence| {
        to.long(*sequence);
    });
    to.flag(report.blocked.is_some());
    match &report.blocked {
        None => {}
        Some(Blocked::Owner { sequence }) => drop(to.byte(1).long(*sequence)),
        Some(Blocked::Busy) => drop(to.byte(2)),
        Some(Blocked::Backoff { sequence, eligible_at }) => {
            to.byte(3).long(*sequence).signed_long(*eligible_at);
        }
        Some(Blocked::Declined { sequence }) => drop(to.byte(4).long(*sequence)),
        Some(Blocked::Unavailable { identity }) => drop(to.byte(5).identity(identity)),
        Some(Blocked::Unresolved { identity, message }) => drop(to.byte(6).identity(identity).text(message)),
        Some(Blocked::Failed { sequence, kind, message }) => {
            to.byte(7).long(sequence.unwrap_or(0)).text(kind.name()).text(message);
        }
        Some(Blocked::Conflict { sequence }) => drop(to.byte(8).long(*sequence)),
    }
}

pub(crate) fn pending(to: &mut Writer, rows: &[PendingRow]) {
    to.list(rows, |to, row| {
        to.identity(&row.key).long(row.sequence).text(&row.mutator).text(row.state.name());
        to.int(row.attempt).signed_long(row.created_at).text_or_none(row.stall.map(Stall::name));
    });
}

pub(crate) fn dead_letters(to: &mut Writer, rows: &[DeadLetter]) {
    to.list(rows, |to, row| {
        to.identity(&row.key).long(row.sequence).text(&row.mutator).int(row.generation).int(row.attempts);
        failure(to, &row.failure);
        to.signed_long(row.parked_at).flag(row.remote_outcome_unknown);
    });
}

fn failure(to: &mut Writer, failure: &Failure) {
    to.int(failure.generation).text(failure.kind.name()).text(&failure.detail).text(&failure.message);
    to.signed_long(failure.first_at).signed_long(failure.last_at).int(failure.count);
}

pub(crate) fn lanes(to: &mut Writer, rows: &[LaneRow]) {
    to.list(rows, |to, row| {
        to.text(&row.namespace).flag(row.owner.is_some());
        if let Some(owner) = &row.owner {
            to.long(owner.sequence).text(owner.state.name()).int(owner.attempts);
            to.time_or_none(owner.eligible_by);
        }
        to.long(row.pending).signed_long(row.oldest_created_at);
    });
}

pub(crate) fn dump(to: &mut Writer, dump: &Dump) {
    to.flag(dump.client.is_some());
    if let Some(client) = &dump.client {
        to.long(client.allocated).long(client.retired_through).long(client.confirmed_through);
    }
    to.list(&dump.executions, |to, (sequence, it)| {
        to.long(*sequence).text(it.phase.name()).int(it.generation).int(it.attempt);
        to.time_or_none(it.last_attempt_at);
    });
    to.list(&dump.attempts, |to, (sequence, generation, it)| {
        to.long(*sequence).int(*generation).identity(&it.identity).presence(&it.base).presence(&it.mine);
        to.flag(it.conflict.is_some());
        if let Some(conflict) = &it.conflict {
            to.meta(conflict.meta.as_ref());
        }
    });
    to.list(&dump.failures, |to, (_, sequence, it)| failure(to.long(*sequence), it));
    to.list(&dump.effects, |to, (sequence, index, it)| {
        to.long(*sequence).int(*index);
        match &it.target {
            EffectTarget::Key(key) => to.flag(true).identity(key),
            EffectTarget::Namespace(namespace) => to.flag(false).text(namespace),
        };
        to.text(it.disposition.name());
    });
    to.list(&dump.aliases, |to, (source, it)| {
        to.identity(source).identity(&it.target).text(it.state.name());
    });
    to.list(&dump.tombstones, |to, (key, sequence, it)| {
        to.identity(key).long(*sequence).text(it.state.name());
    });
}
