//! The output of a journal's replay, one JSON object a line.

use parsley_journal::action::{Call, PushRequest};
use parsley_journal::inspect::{DeadLetter, Dump, PendingRow, Stall};
use parsley_journal::names::{EffectKind, Transition};
use parsley_journal::records::{Conflict, EffectTarget, Identity};
use parsley_journal::report::{DrainError, DrainErrorKind};
use serde_json::{Value, json};

use super::answers::{shown, text};

pub(crate) fn identity(key: &Identity) -> Value {
    json!([&*key.namespace, &*key.id])
}

/// The line of an external call; `None` for calls that are not shown.
pub(crate) fn call(call: &Call) -> Option<Value> {
    Some(match call {
        Call::Resolve(key) => json!({"event": "resolve", "key": identity(key)}),
        Call::Push(request) => push(request),
        Call::FreshRead(key) => json!({"event": "freshRead", "key": identity(key)}),
        Call::Merge { base, mine, theirs, .. } => {
            json!({"event": "merge", "base": shown(base), "mine": shown(mine), "theirs": shown(theirs)})
        }
        Call::Apply { key, value, .. } => {
            json!({"event": "apply", "key": identity(key), "value": text(value)})
        }
        Call::ConfirmFresh { key, etag } => {
            json!({"event": "confirmFresh", "key": identity(key), "etag": etag.as_deref()})
        }
        Call::Clear(key) => json!({"event": "clear", "key": identity(key)}),
        Call::MarkStale(key) => json!({"event": "markStale", "key": identity(key)}),
        Call::Invalidate(namespace) => json!({"event": "invalidate", "namespace": &**namespace}),
        Call::Retire { through } => json!({"event": "retire", "through": through}),
        Call::Commit { .. }
        | Call::Sync
        | Call::Draw { .. }
        | Call::Status(_)
        | Call::Read(_)
        | Call::Project { .. }
        | Call::Precondition { .. }
        | Call::Stales { .. }
        | Call::Decode { .. } => return None,
    })
}

fn push(request: &PushRequest) -> Value {
    json!({
        "event": "push",
        "key": identity(&request.key),
        "sequence": request.sequence,
        "generation": request.generation,
        "idempotencyKey": &*request.idempotency_key,
        "retiredThrough": request.retired_through,
        "base": shown(&request.base),
        "mine": shown(&request.mine),
    })
}

pub(crate) fn commit(number: u64, transition: Transition, sequence: Option<u64>) -> Value {
    json!({"event": "commit", "n": number, "transition": transition.name(), "sequence": sequence})
}

pub(crate) fn drained(error: Option<&DrainError>) -> Value {
    let error = error.map(|error| match error.kind {
        DrainErrorKind::Kept(kind) => kind.name(),
        DrainErrorKind::Persistence | DrainErrorKind::Fatal => "PERSISTENCE",
        DrainErrorKind::Cancelled => "cancelled",
    });
    json!({"event": "drained", "error": error})
}

pub(crate) fn pending(event: &str, rows: &[PendingRow]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "key": identity(&row.key),
                "sequence": row.sequence,
                "state": row.state.name(),
                "attempt": row.attempt,
                "reason": row.stall.map(Stall::name),
            })
        })
        .collect();
    json!({"event": event, "rows": rows})
}

pub(crate) fn dead_letters(letters: &[DeadLetter]) -> Value {
    let rows: Vec<Value> = letters
        .iter()
        .map(|letter| {
            json!({
                "key": identity(&letter.key),
                "sequence": letter.sequence,
                "generation": letter.generation,
                "attempts": letter.attempts,
                "kind": letter.failure.kind.name(),
                "detail": &*letter.failure.detail,
                "message": &*letter.failure.message,
                "remoteOutcomeUnknown": letter.remote_outcome_unknown,
            })
        })
        .collect();
    json!({"event": "deadLetters", "rows": rows})
}

pub(crate) fn journal(dump: &Dump) -> Value {
    let client = dump.client.as_ref().map(|client| {
        json!({
            "allocated": client.allocated,
            "retired": client.retired_through,
            "confirmed": client.confirmed_through,
        })
    });
    let executions: Vec<Value> = dump
        .executions
        .iter()
        .map(|(sequence, it)| {
            json!({
                "sequence": sequence,
                "phase": it.phase.name(),
                "generation": it.generation,
                "attempt": it.attempt,
                "lastAttemptAt": it.last_attempt_at,
            })
        })
        .collect();
    let attempts: Vec<Value> = dump
        .attempts
        .iter()
        .map(|(sequence, generation, it)| {
            json!({
                "sequence": sequence,
                "generation": generation,
                "key": identity(&it.identity),
                "base": shown(&it.base),
                "mine": shown(&it.mine),
                "conflict": it.conflict.as_ref().map(conflict),
            })
        })
        .collect();
    let failures: Vec<Value> = dump
        .failures
        .iter()
        .map(|(_, sequence, it)| {
            json!({
                "sequence": sequence,
                "generation": it.generation,
                "kind": it.kind.name(),
                "detail": &*it.detail,
                "message": &*it.message,
                "count": it.count,
            })
        })
        .collect();
    let effects: Vec<Value> = dump
        .effects
        .iter()
        .map(|(sequence, index, it)| match &it.target {
            EffectTarget::Key(key) => json!({
                "sequence": sequence,
                "index": index,
                "kind": EffectKind::Key.name(),
                "key": identity(key),
                "disposition": it.disposition.name(),
            }),
            EffectTarget::Namespace(namespace) => json!({
                "sequence": sequence,
                "index": index,
                "kind": EffectKind::Namespace.name(),
                "namespace": &**namespace,
                "disposition": it.disposition.name(),
            }),
        })
        .collect();
    let aliases: Vec<Value> = dump
        .aliases
        .iter()
        .map(|(source, it)| {
            json!({"from": identity(source), "to": identity(&it.target), "state": it.state.name()})
        })
        .collect();
    let tombstones: Vec<Value> = dump
        .tombstones
        .iter()
        .map(
            |(key, creator, it)| json!({"key": identity(key), "sequence": creator, "state": it.state.name()}),
        )
        .collect();
    json!({
        "event": "journal",
        "client": client,
        "executions": executions,
        "attempts": attempts,
        "failures": failures,
        "effects": effects,
        "aliases": aliases,
        "tombstones": tombstones,
    })
}

fn conflict(conflict: &Conflict) -> Value {
    let (etag, written_at) = conflict.version();
    json!({"etag": etag, "writtenAt": written_at})
}
