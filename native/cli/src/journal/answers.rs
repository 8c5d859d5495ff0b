//! The scripted ports: what they answer, and the confirmed bases that they keep. They outlive close and kills.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use parsley_journal::action::{Accepted, Answer, Call, Mutator};
use parsley_journal::records::{Identity, Meta, Presence};
use serde_json::Value;

use super::fields::key;
use super::scenario::{MergeAnswer, Port, PortAnswer, ResolverAnswer, RetireAnswer, ServerAnswer, Step};

/// Everything outside the journal.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    draws: VecDeque<u64>,
    locals: HashMap<Identity, (Presence, Option<Meta>)>,
    server: VecDeque<ServerAnswer>,
    retire: VecDeque<RetireAnswer>,
    resolver: HashMap<Identity, ResolverAnswer>,
    scripted: HashMap<Port, VecDeque<PortAnswer>>,
    merge: VecDeque<MergeAnswer>,
}

impl Ports {
    /// Takes a scripting line; gives any other back.
    pub(crate) fn script(&mut self, step: Step) -> Option<Step> {
        match step {
            Step::Jitter(draws) => self.draws = draws,
            Step::Local { key, value, meta } => drop(self.locals.insert(key, (value, meta))),
            Step::Server(answers) => self.server = answers,
            Step::Retire(answers) => self.retire = answers,
            Step::Resolver(key, answer) => drop(self.resolver.insert(key, answer)),
            Step::Fail(port, answers) => drop(self.scripted.insert(port, answers)),
            Step::Merge(answers) => self.merge = answers,
            other => return Some(other),
        }
        None
    }

    /// Answers a call that is no commit.
    pub(crate) fn answer(&mut self, call: &Call) -> Answer {
        match call {
            // The rows are in memory; the driver writes them.
            Call::Commit { .. } | Call::Sync | Call::Decode { .. } => Answer::Done,
            Call::Draw { window_ms } => {
                let drawn = self.draws.pop_front().filter(|drawn| drawn <= window_ms);
                Answer::Drawn(drawn.unwrap_or(*window_ms))
            }
            Call::Resolve(identity) => self.resolve(identity),
            Call::Status(key) => {
                let meta = self.locals.get(key).and_then(|(_, meta)| meta.clone());
                self.port(&Port::Status(key.clone()), |_, _| Answer::Meta(meta))
            }
            Call::Read(key) => Answer::Value(self.base(key)),
            Call::Project { mutator, base, .. } => project(mutator, base),
            Call::Precondition { base_meta, .. } => Answer::Meta(base_meta.clone()),
            Call::Stales { mutator, .. } => stales(mutator),
            Call::Push(request) => self.push(&request.mine),
            Call::FreshRead(key) => self.port(&Port::FreshRead(key.clone()), |ports, answer| {
                if answer == PortAnswer::Missing {
                    ports.locals.remove(key);
                }
                Answer::Done
            }),
            Call::Merge { .. } => match self.merge.pop_front() {
                Some(MergeAnswer::Retry(value)) => Answer::Value(value),
                Some(MergeAnswer::ServerWins) | None => Answer::ServerWins,
                Some(MergeAnswer::Throw) => Answer::Threw("the merge was scripted to fail".to_owned()),
                Some(MergeAnswer::Cancel) => Answer::Cancelled,
            },
            Call::Apply { key, value, .. } => self.port(&Port::Apply(key.clone()), |ports, _| {
                let local = ports.locals.entry(key.clone()).or_insert((Presence::Absent, None));
                local.0 = Presence::Present(value.clone());
                Answer::Done
            }),
            Call::ConfirmFresh { key, etag } => self.port(&Port::ConfirmFresh(key.clone()), |ports, _| {
                ports.confirm(key, etag.clone());
                Answer::Done
            }),
            Call::Clear(key) => self.port(&Port::Clear(key.clone()), |ports, _| {
                ports.locals.remove(key);
                Answer::Done
            }),
            Call::MarkStale(key) => self.port(&Port::MarkStale(key.clone()), |_, _| Answer::Done),
            Call::Invalidate(namespace) => {
                self.port(&Port::Invalidate(namespace.clone()), |_, _| Answer::Done)
            }
            Call::Retire { through } => match self.retire.pop_front() {
                // Below zero is what no server has confirmed: less than anything that it did.
                Some(RetireAnswer::Confirm(confirmed)) => match u64::try_from(confirmed) {
                    Ok(confirmed) => Answer::Confirmed(confirmed),
                    Err(_) => Answer::Threw(format!("retire answered {confirmed}")),
                },
                None => Answer::Confirmed(*through),
                Some(RetireAnswer::Throw) => Answer::Threw("retire was scripted to fail".to_owned()),
                Some(RetireAnswer::Cancel) => Answer::Cancelled,
            },
        }
    }

    fn base(&self, key: &Identity) -> Presence {
        self.locals.get(key).map_or(Presence::Absent, |(value, _)| value.clone())
    }

    fn confirm(&mut self, key: &Identity, etag: Option<Arc<str>>) {
        if let Some((Presence::Present(_), meta)) = self.locals.get_mut(key) {
            let written_at = meta.as_ref().and_then(|meta| meta.written_at);
            *meta = (etag.is_some() || written_at.is_some()).then_some(Meta { written_at, etag });
        }
    }

    fn port(&mut self, port: &Port, done: impl FnOnce(&mut Self, PortAnswer) -> Answer) -> Answer {
        let answer = self.scripted.get_mut(port).and_then(VecDeque::pop_front).unwrap_or(PortAnswer::Ok);
        match answer {
            PortAnswer::Throw => Answer::Threw("the port was scripted to fail".to_owned()),
            PortAnswer::Cancel => Answer::Cancelled,
            PortAnswer::Ok | PortAnswer::Missing => done(self, answer),
        }
    }

    fn resolve(&self, identity: &Identity) -> Answer {
        match self.resolver.get(identity).copied().unwrap_or(ResolverAnswer::Ok) {
            ResolverAnswer::Ok => Answer::Known,
            ResolverAnswer::Null => Answer::Unknown,
            ResolverAnswer::Throw => Answer::Threw("the resolver was scripted to fail".to_owned()),
            ResolverAnswer::Mismatch => Answer::Mismatch("another key".to_owned()),
            ResolverAnswer::Unavailable => Answer::Unavailable,
            ResolverAnswer::Cancel => Answer::Cancelled,
        }
    }

    fn push(&mut self, mine: &Presence) -> Answer {
        match self.server.pop_front() {
            None => accepted(mine.clone(), None, None),
            Some(ServerAnswer::Accept { value, etag, target }) => {
                accepted(value.unwrap_or_else(|| mine.clone()), etag, target)
            }
            Some(ServerAnswer::Conflict(meta)) => Answer::Conflict(meta),
            Some(ServerAnswer::Reject(why)) => Answer::Rejected(why),
            Some(ServerAnswer::Throw(why)) => Answer::Threw(why),
            Some(ServerAnswer::Cancel) => Answer::Cancelled,
        }
    }
}

fn accepted(value: Presence, etag: Option<Arc<str>>, target: Option<Identity>) -> Answer {
    Answer::Accepted(Accepted { value, codec_version: 1, etag, target })
}

/// The arguments of a mutator, as `scenario` wrote them.
fn arguments(mutator: &Mutator) -> Option<(Option<String>, Value)> {
    let value: Value = serde_json::from_slice(&mutator.args).ok()?;
    let arg = value.get("arg").and_then(Value::as_str).map(str::to_owned);
    Some((arg, value.get("stales").cloned().unwrap_or(Value::Null)))
}

fn project(mutator: &Mutator, base: &Presence) -> Answer {
    let Some((arg, _)) = arguments(mutator) else {
        return Answer::ArgsCodec("the arguments are not those of a scenario".to_owned());
    };
    let arg = arg.unwrap_or_default();
    let present = |text: String| Answer::Value(Presence::Present(text.into()));
    match (&*mutator.name, base) {
        ("append", Presence::Present(base)) => present(String::from_utf8_lossy(base).into_owned() + &arg),
        ("set" | "append", _) | ("update", Presence::Present(_)) => present(arg),
        ("update", Presence::Absent) => Answer::Declined,
        ("delete", _) => Answer::Value(Presence::Absent),
        ("throw", _) => Answer::Threw(arg),
        (other, _) => Answer::MutatorMissing(format!("no mutator {other}")),
    }
}

fn stales(mutator: &Mutator) -> Answer {
    let stales = arguments(mutator).map(|(_, stales)| stales).unwrap_or_default();
    if stales == "throw" {
        return Answer::Threw("stales was scripted to fail".to_owned());
    }
    let list = |name| stales.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    Answer::Stales {
        // Checked when the line was read.
        keys: list("keys").into_iter().filter_map(|value| key(value, "a stale key").ok()).collect(),
        namespaces: list("namespaces").iter().filter_map(Value::as_str).map(Into::into).collect(),
    }
}

/// A value as it is shown: its text, or null where there is none.
pub(crate) fn shown(value: &Presence) -> Value {
    match value {
        Presence::Absent => Value::Null,
        Presence::Present(bytes) => text(bytes),
    }
}

/// Bytes that are UTF-8 in every scenario.
pub(crate) fn text(bytes: &Bytes) -> Value {
    String::from_utf8_lossy(bytes).into_owned().into()
}
