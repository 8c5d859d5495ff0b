//! The judge: a plain model of the server, of order and of lanes. It sees what the engine asks for and tells, what it is
//! answered, and the bytes that it writes, which it reads with code of its own.

mod calls;
mod commits;
mod end;
mod events;
mod lists;
mod rows;
mod violation;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parsley_journal::action::{Answer, Call, CallId, TaskId};
use parsley_journal::engine::Operation;
use parsley_journal::names::Transition;
use parsley_journal::records::{Identity, Presence};
use parsley_journal::report::{DrainErrorKind, Outcome, RefusedKind};
use parsley_journal::storage::Batch;

use rows::{Key, Meta, Rows, Value};
pub(crate) use violation::{Judged, demand};
pub use violation::{Rule, Violation};

/// A push as it was sent the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    key: Key,
    client: String,
    idempotency_key: String,
    version: u32,
    base: Value,
    mine: Value,
    meta: Meta,
    retired_through: u64,
}

/// What an operation has met so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
struct Task {
    everything: bool,
    keyed: bool,
    cancelled: bool,
    /// The journal's storage or a local port failed, or a callback panicked.
    trouble: bool,
    /// No later mutation may be chosen by it.
    bound: Option<u64>,
    /// Draws that no head was let through for: window, number, the time when it was asked for.
    draws: Vec<(u64, u64, i64)>,
    asked_at: HashMap<CallId, i64>,
    /// The earliest time that it has seen.
    earliest: Option<i64>,
    /// Heads that this pass may work on.
    admitted: BTreeSet<u64>,
}

/// A key that was marked as stale: the effects that it may be for, and the one whose transaction rests on it.
type Mark = (BTreeSet<(u64, u32)>, Option<(u64, u32)>);

/// What is known of the running process, and forgotten with it.
#[derive(Debug, Default)]
struct Process {
    tasks: HashMap<TaskId, Task>,
    /// The first target that each generation was answered with.
    targets: HashMap<(u64, u32), Key>,
    /// The last answer to a push of each mutation.
    answers: HashMap<u64, Answer>,
    /// Local calls that were done and not used by a transaction yet.
    done: BTreeMap<(&'static str, Key), u32>,
    /// For each call out that marks a key as stale, the effects that it may be for.
    marking: HashMap<CallId, BTreeSet<(u64, u32)>>,
    /// Those that are done.
    marked: Vec<Mark>,
    merges: BTreeMap<Key, Answer>,
}

/// The judge of one world.
#[derive(Debug)]
pub struct Judge {
    client: String,
    visible: Rows,
    durable: Rows,
    unsynced: Vec<Batch>,
    process: Process,
    sent: HashMap<(u64, u32), Sent>,
    idempotency_keys: HashMap<String, (u64, u32)>,
    /// The mutation of each namespace that transport was possible for last.
    transit: HashMap<String, u64>,
    /// Mutations whose answer was durable once.
    received: BTreeSet<u64>,
    /// Mutations that retired, by what; none for those that a deletion masked.
    ended: BTreeMap<u64, Option<Transition>>,
    /// Mutations that somebody was told are durable.
    promised: BTreeSet<u64>,
    /// The identity that each mutation that was sent was accepted for.
    intents: BTreeMap<u64, Key>,
    /// How often each mutation had its effect at the server.
    effects: BTreeMap<u64, u32>,
    /// The last mutation of each identity that had an effect.
    last_effect: HashMap<Key, u64>,
}

fn key_of(identity: &Identity) -> Key {
    (identity.namespace.to_string(), identity.id.to_string())
}

fn value_of(presence: &Presence) -> Value {
    match presence {
        Presence::Present(value) => Some(value.to_vec()),
        Presence::Absent => None,
    }
}

fn meta_of(meta: Option<&parsley_journal::records::Meta>) -> Meta {
    meta.map(|meta| (meta.etag.as_deref().map(str::to_owned), meta.written_at))
}

impl Judge {
    /// A journal of `client` that has no rows.
    pub fn new(client: &str) -> Self {
        Self {
            client: client.to_owned(),
            visible: Rows::default(),
            durable: Rows::default(),
            unsynced: Vec::new(),
            process: Process::default(),
            sent: HashMap::new(),
            idempotency_keys: HashMap::new(),
            transit: HashMap::new(),
            received: BTreeSet::new(),
            ended: BTreeMap::new(),
            promised: BTreeSet::new(),
            intents: BTreeMap::new(),
            effects: BTreeMap::new(),
            last_effect: HashMap::new(),
        }
    }

    /// A process begins.
    pub fn opened(&mut self) {
        self.process = Process::default();
    }

    /// An operation begins.
    pub fn started(&mut self, task: TaskId, operation: &Operation) {
        let task = self.process.tasks.entry(task).or_default();
        task.everything = matches!(operation, Operation::DrainAll);
        task.keyed = matches!(operation, Operation::Drain(_));
    }

    /// The engine goes on at this time.
    pub fn is_now(&mut self, now: i64) {
        for task in self.process.tasks.values_mut() {
            task.earliest = Some(task.earliest.map_or(now, |earliest| earliest.min(now)));
        }
    }

    /// An operation is given up.
    pub fn cancelled(&mut self, task: TaskId) {
        self.process.tasks.entry(task).or_default().cancelled = true;
    }

    /// All that was written is durable.
    pub fn synced(&mut self) -> Judged {
        for batch in std::mem::take(&mut self.unsynced) {
            self.durable.apply(&batch.0);
        }
        self.settle_durable();
        Ok(())
    }

    /// The process is gone, and with it the batches behind the first `kept` that were not synced, if the power went too.
    pub fn killed(&mut self, kept: Option<usize>) {
        self.process = Process::default();
        if let Some(kept) = kept {
            for batch in std::mem::take(&mut self.unsynced).into_iter().take(kept) {
                self.durable.apply(&batch.0);
            }
            self.visible = self.durable.clone();
            self.settle_durable();
        }
    }

    /// Takes over what can't be lost any more.
    fn settle_durable(&mut self) {
        self.received.extend(self.durable.acks.keys().map(|(sequence, _)| *sequence));
    }

    /// A call was answered.
    pub fn answered(&mut self, task: TaskId, id: CallId, call: &Call, answer: &Answer) -> Judged {
        let state = self.process.tasks.entry(task).or_default();
        match (call, answer) {
            (_, Answer::Cancelled) => state.cancelled = true,
            (_, Answer::Fatal)
            | (
                Call::Commit { .. }
                | Call::Sync
                | Call::Status(_)
                | Call::Read(_)
                | Call::FreshRead(_)
                | Call::Draw { .. },
                Answer::Threw(_),
            ) => {
                state.trouble = true;
                if matches!(call, Call::Commit { .. } | Call::Sync) {
                    // Others may come by the same rows while the engine reads them anew.
                    self.process.tasks.values_mut().for_each(|task| task.trouble = true);
                }
            }
            (Call::Draw { window_ms }, Answer::Drawn(drawn)) => {
                let asked_at = state.asked_at.remove(&id).unwrap_or_default();
                state.draws.push((*window_ms, *drawn, asked_at));
            }
            (Call::Push(request), answer) => {
                self.process.answers.insert(request.sequence, answer.clone());
                if let Answer::Accepted(accepted) = answer
                    && let Some(target) = &accepted.target
                    && accepted.value != Presence::Absent
                    && *target != request.key
                {
                    let generation = (request.sequence, request.generation);
                    self.process.targets.entry(generation).or_insert_with(|| key_of(target));
                }
            }
            (Call::Merge { key, .. }, answer) => {
                self.process.merges.insert(key_of(key), answer.clone());
            }
            (Call::MarkStale(_), Answer::Done) => {
                let may_be_for = self.process.marking.remove(&id).unwrap_or_default();
                self.process.marked.push((may_be_for, None));
            }
            (call, Answer::Done) => {
                if let Some(done) = done(call) {
                    *self.process.done.entry(done).or_default() += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads fail for a while: every operation may meet it.
    pub fn reads_failed(&mut self) {
        self.process.tasks.values_mut().for_each(|task| task.trouble = true);
    }

    /// A push had an effect at the server.
    pub fn had_effect(&mut self, sequence: u64) -> Judged {
        let effects = self.effects.entry(sequence).or_default();
        *effects += 1;
        demand(*effects == 1, Rule::OneEffect, || format!("mutation {sequence} has had {effects} effects"))?;
        let Some(key) = self.intents.get(&sequence) else { return Ok(()) };
        let last = self.last_effect.insert(key.clone(), sequence).unwrap_or(0);
        demand(last < sequence, Rule::Order, || {
            format!("mutation {sequence} of {key:?} has its effect after that of {last}")
        })
    }

    /// An operation ended.
    pub fn finished(&mut self, task: TaskId, outcome: &Outcome) -> Judged {
        let task = self.process.tasks.remove(&task).unwrap_or_default();
        match outcome {
            Outcome::Mutated(sequence) | Outcome::Retried(sequence) => {
                demand(self.durable.intents.contains_key(sequence), Rule::NothingLost, || {
                    format!("mutation {sequence} was promised and is not durable")
                })?;
                self.promised.insert(*sequence);
                Ok(())
            }
            Outcome::Discarded { sequence, .. } => demand(
                self.durable.executions.get(sequence).is_none_or(rows::Execution::is_settled),
                Rule::Outcome,
                || format!("mutation {sequence} was discarded and is not"),
            ),
            Outcome::Refused(refused) => demand(
                task.trouble || !matches!(refused.kind, RefusedKind::Storage | RefusedKind::Fatal),
                Rule::Outcome,
                || format!("refused without a cause: {refused:?}"),
            ),
            Outcome::Drained(_, Some(error)) => {
                let caused = match error.kind {
                    DrainErrorKind::Persistence | DrainErrorKind::Fatal => task.trouble,
                    DrainErrorKind::Cancelled => task.cancelled,
                    DrainErrorKind::Kept(_) => task.keyed,
                };
                demand(caused, Rule::Outcome, || format!("a drain failed without a cause: {error:?}"))
            }
            Outcome::Drained(_, None) => Ok(()),
        }
    }
}

/// A local call that is done, by its port and key.
fn done(call: &Call) -> Option<(&'static str, Key)> {
    match call {
        Call::Apply { key, .. } => Some(("apply", key_of(key))),
        Call::ConfirmFresh { key, .. } => Some(("confirmFresh", key_of(key))),
        Call::Clear(key) => Some(("clear", key_of(key))),
        Call::Invalidate(namespace) => Some(("invalidate", (namespace.to_string(), String::new()))),
        Call::FreshRead(key) => Some(("freshRead", key_of(key))),
        _ => None,
    }
}
