//! The lines of a journal's scenario, read strictly.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use parsley_journal::records::{Identity, Meta, Presence};
use serde_json::{Map, Value, json};

use super::fields::{Fields, Read, integer, key, list, nullable_text, text, unsigned, wrong};
use crate::scenario::NotAScenario;

/// One line.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Opens the journal.
    Open { client: String, epoch: u64 },
    /// Anything that needs an open journal.
    Step(Step),
}

/// What can be done while a journal is open.
#[derive(Debug)]
pub(crate) enum Step {
    /// Closes the journal.
    Close,
    /// Sets the clock.
    Clock(i64),
    /// The next random draws.
    Jitter(VecDeque<u64>),
    /// The confirmed base of a key.
    Local { key: Identity, value: Presence, meta: Option<Meta> },
    /// Accepts an intent.
    Mutate { key: Identity, mutator: &'static str, args: Bytes },
    /// The answers to the next pushes.
    Server(VecDeque<ServerAnswer>),
    /// The answers to the next checkpoints.
    Retire(VecDeque<RetireAnswer>),
    /// How the resolver answers a key from now on.
    Resolver(Identity, ResolverAnswer),
    /// How a port answers its next calls.
    Fail(Port, VecDeque<PortAnswer>),
    /// How the next conflicts are merged.
    Merge(VecDeque<MergeAnswer>),
    /// The process dies at a commit.
    Kill { commit: u64, before: bool },
    /// Drains a key, or everything.
    Drain(Option<Identity>),
    /// Repeats a dead letter.
    Retry(i64),
    /// Dismisses a row.
    Discard { sequence: i64, why: Arc<str> },
    /// Shows what waits for a key.
    Pending(Identity),
    /// Shows what waits.
    PendingWrites,
    /// Shows what was given up.
    DeadLetters,
    /// Shows all rows.
    Journal,
}

/// What the server does with one push.
#[derive(Clone, Debug)]
pub(crate) enum ServerAnswer {
    /// Takes it; `None` is the wanted value itself.
    Accept { value: Option<Presence>, etag: Option<Arc<str>>, target: Option<Identity> },
    /// Has another base.
    Conflict(Option<Meta>),
    /// Will never take it.
    Reject(String),
    /// Fails.
    Throw(String),
    /// The caller gives up meanwhile.
    Cancel,
}

/// What the server does with one checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RetireAnswer {
    Confirm(i64),
    Throw,
    Cancel,
}

/// What the resolver does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResolverAnswer {
    Ok,
    Null,
    Throw,
    Mismatch,
    Unavailable,
    Cancel,
}

/// A port of one key or namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Port {
    Apply(Identity),
    ConfirmFresh(Identity),
    Clear(Identity),
    MarkStale(Identity),
    Invalidate(Arc<str>),
    FreshRead(Identity),
    Status(Identity),
}

/// What a port does with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortAnswer {
    Ok,
    Throw,
    Cancel,
    /// The fresh read finds nothing.
    Missing,
}

/// How one conflict is merged.
#[derive(Clone, Debug)]
pub(crate) enum MergeAnswer {
    Retry(Presence),
    ServerWins,
    Throw,
    Cancel,
}

/// Reads one line.
pub(crate) fn parse(line: &[u8]) -> Read<Operation> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| NotAScenario(format!("not JSON: {error}")))?;
    let mut fields = Fields::of(value, "the line")?;
    let op = fields.text("op")?;
    let operation = match op.as_str() {
        "open" => Operation::Open { client: fields.text("client")?, epoch: epoch(&fields.text("epoch")?)? },
        _ => Operation::Step(step(&op, &mut fields)?),
    };
    fields.end()?;
    Ok(operation)
}

fn step(op: &str, fields: &mut Fields) -> Read<Step> {
    Ok(match op {
        "close" => Step::Close,
        "clock" => Step::Clock(fields.integer("now")?),
        "jitter" => Step::Jitter(each(fields.list("draws")?, |draw| unsigned(&draw, "a draw"))?),
        "local" => local(fields)?,
        "mutate" => mutate(fields)?,
        "server" => Step::Server(each(fields.list("answers")?, server_answer)?),
        "retire" => Step::Retire(each(fields.list("answers")?, retire_answer)?),
        "resolver" => Step::Resolver(fields.key("key")?, resolver_answer(&fields.text("answer")?)?),
        "fail" => fail(fields)?,
        "merge" => Step::Merge(each(fields.list("answers")?, merge_answer)?),
        "kill" => Step::Kill {
            commit: fields.counting("commit")?,
            before: match fields.text("side")?.as_str() {
                "before" => true,
                "after" => false,
                other => return wrong(format!("side {other:?} is neither before nor after")),
            },
        },
        "drain" => Step::Drain(fields.optional("key").map(|value| key(value, "key")).transpose()?),
        "retry" => Step::Retry(fields.integer("sequence")?),
        "discard" => Step::Discard { sequence: fields.integer("sequence")?, why: fields.text("why")?.into() },
        "pending" => Step::Pending(fields.key("key")?),
        "pendingWrites" => Step::PendingWrites,
        "deadLetters" => Step::DeadLetters,
        "journal" => Step::Journal,
        unknown => return wrong(format!("unknown op {unknown:?}")),
    })
}

fn each<T>(values: Vec<Value>, read: impl FnMut(Value) -> Read<T>) -> Read<VecDeque<T>> {
    values.into_iter().map(read).collect()
}

fn epoch(text: &str) -> Read<u64> {
    let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u64::from_str_radix(text, 16) {
        Ok(epoch) if is_hex => Ok(epoch),
        _ => wrong(format!("epoch {text:?} is not 16 hex digits")),
    }
}

fn presence(value: Value, what: &str) -> Read<Presence> {
    Ok(match nullable_text(value, what)? {
        None => Presence::Absent,
        Some(text) => Presence::Present(Bytes::copy_from_slice(text.as_bytes())),
    })
}

fn meta(fields: &mut Fields) -> Read<Option<Meta>> {
    let etag = fields.optional("etag").map_or(Ok(None), |value| nullable_text(value, "etag"))?;
    let written_at = match fields.optional("writtenAt") {
        None | Some(Value::Null) => None,
        Some(value) => Some(integer(&value, "writtenAt")?),
    };
    Ok((etag.is_some() || written_at.is_some()).then_some(Meta { written_at, etag }))
}

fn local(fields: &mut Fields) -> Read<Step> {
    let key = fields.key("key")?;
    let value = presence(fields.required("value")?, "value")?;
    let meta = meta(fields)?.filter(|_| value != Presence::Absent);
    Ok(Step::Local { key, value, meta })
}

fn mutate(fields: &mut Fields) -> Read<Step> {
    let key = fields.key("key")?;
    let mutator = match fields.text("mutator")?.as_str() {
        "set" => "set",
        "append" => "append",
        "update" => "update",
        "delete" => "delete",
        "throw" => "throw",
        other => return wrong(format!("unknown mutator {other:?}")),
    };
    // The arguments as they are journaled: what the mutator takes, and what it makes stale.
    let mut args = Map::new();
    match fields.optional("arg") {
        Some(_) if mutator == "delete" => return wrong("delete takes no arg"),
        Some(arg) => drop(args.insert("arg".to_owned(), Value::String(text(arg, "arg")?))),
        None if mutator == "delete" => {}
        None => return wrong(format!("{mutator} needs an arg")),
    }
    match fields.optional("stales") {
        None => {}
        Some(Value::String(word)) if word == "throw" => drop(args.insert("stales".to_owned(), word.into())),
        Some(value) => drop(args.insert("stales".to_owned(), stales(value)?)),
    }
    Ok(Step::Mutate { key, mutator, args: Value::Object(args).to_string().into() })
}

fn stales(value: Value) -> Read<Value> {
    let mut fields = Fields::of(value, "stales")?;
    let read =
        |value: Option<Value>| value.map_or_else(|| Ok(Vec::new()), |value| list(value, "a list of stales"));
    let keys = read(fields.optional("keys"))?;
    let namespaces = read(fields.optional("namespaces"))?;
    fields.end()?;
    for value in &keys {
        key(value.clone(), "a stale key")?;
    }
    for value in &namespaces {
        text(value.clone(), "a stale namespace")?;
    }
    Ok(json!({"keys": keys, "namespaces": namespaces}))
}

fn server_answer(value: Value) -> Read<ServerAnswer> {
    let mut fields = match value {
        Value::String(word) if word == "accept" => {
            return Ok(ServerAnswer::Accept { value: None, etag: None, target: None });
        }
        Value::String(word) if word == "cancel" => return Ok(ServerAnswer::Cancel),
        Value::String(word) => return wrong(format!("unknown answer {word:?}")),
        value => Fields::of(value, "an answer")?,
    };
    let answer = if let Some(value) = fields.optional("accept") {
        let mut accept = Fields::of(value, "accept")?;
        let answer = ServerAnswer::Accept {
            value: accept.optional("value").map(|value| presence(value, "value")).transpose()?,
            etag: accept.optional("etag").map_or(Ok(None), |value| nullable_text(value, "etag"))?,
            target: match accept.optional("target") {
                None | Some(Value::Null) => None,
                Some(value) => Some(key(value, "target")?),
            },
        };
        accept.end()?;
        answer
    } else if let Some(value) = fields.optional("conflict") {
        let mut conflict = Fields::of(value, "conflict")?;
        let answer = ServerAnswer::Conflict(meta(&mut conflict)?);
        conflict.end()?;
        answer
    } else if let Some(value) = fields.optional("reject") {
        ServerAnswer::Reject(text(value, "reject")?)
    } else {
        ServerAnswer::Throw(fields.text("throw")?)
    };
    fields.end()?;
    Ok(answer)
}

#[expect(clippy::needless_pass_by_value, reason = "has the form that each wants")]
fn retire_answer(value: Value) -> Read<RetireAnswer> {
    match value.as_str() {
        Some("throw") => Ok(RetireAnswer::Throw),
        Some("cancel") => Ok(RetireAnswer::Cancel),
        Some(other) => wrong(format!("unknown answer {other:?}")),
        None => integer(&value, "an answer").map(RetireAnswer::Confirm),
    }
}

fn resolver_answer(word: &str) -> Read<ResolverAnswer> {
    Ok(match word {
        "ok" => ResolverAnswer::Ok,
        "null" => ResolverAnswer::Null,
        "throw" => ResolverAnswer::Throw,
        "mismatch" => ResolverAnswer::Mismatch,
        "unavailable" => ResolverAnswer::Unavailable,
        "cancel" => ResolverAnswer::Cancel,
        other => return wrong(format!("unknown answer {other:?}")),
    })
}

fn fail(fields: &mut Fields) -> Read<Step> {
    let name = fields.text("port")?;
    let port = match name.as_str() {
        "invalidate" => Port::Invalidate(fields.text("namespace")?.into()),
        "apply" => Port::Apply(fields.key("key")?),
        "confirmFresh" => Port::ConfirmFresh(fields.key("key")?),
        "clear" => Port::Clear(fields.key("key")?),
        "markStale" => Port::MarkStale(fields.key("key")?),
        "freshRead" => Port::FreshRead(fields.key("key")?),
        "status" => Port::Status(fields.key("key")?),
        other => return wrong(format!("unknown port {other:?}")),
    };
    let may_miss = matches!(port, Port::FreshRead(_));
    let answers = each(fields.list("answers")?, |value| {
        Ok(match text(value, "an answer")?.as_str() {
            "ok" => PortAnswer::Ok,
            "throw" => PortAnswer::Throw,
            "cancel" => PortAnswer::Cancel,
            "missing" if may_miss => PortAnswer::Missing,
            other => return wrong(format!("unknown answer {other:?} of {name}")),
        })
    })?;
    Ok(Step::Fail(port, answers))
}

fn merge_answer(value: Value) -> Read<MergeAnswer> {
    match value {
        Value::String(word) => Ok(match word.as_str() {
            "server-wins" => MergeAnswer::ServerWins,
            "throw" => MergeAnswer::Throw,
            "cancel" => MergeAnswer::Cancel,
            other => return wrong(format!("unknown answer {other:?}")),
        }),
        value => {
            let mut fields = Fields::of(value, "an answer")?;
            let retry = presence(fields.required("retry")?, "retry")?;
            fields.end()?;
            Ok(MergeAnswer::Retry(retry))
        }
    }
}
