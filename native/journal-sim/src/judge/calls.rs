//! What the engine may ask for, and when.

use std::collections::BTreeSet;

use parsley_journal::action::{Call, CallId, PushRequest, TaskId};
use parsley_journal::records::Identity;

use super::rows::{Effect, Key, Target, Value};
use super::{Judge, Judged, Rule, Sent, demand, key_of, meta_of, value_of};

const WINDOW_MIN_MS: u64 = 1_000;
const WINDOW_MAX_MS: u64 = 300_000;

fn window_ms(failures: u32) -> u64 {
    (1..failures).fold(WINDOW_MIN_MS, |window, _| (window * 2).min(WINDOW_MAX_MS))
}

impl Judge {
    /// The engine asks for something.
    pub fn called(&mut self, task: TaskId, id: CallId, call: &Call, now: i64) -> Judged {
        let allocated = self.visible.client.as_ref().map_or(0, |client| client.allocated);
        let state = self.process.tasks.entry(task).or_default();
        // Whatever is asked for first comes after the pass has set its bound.
        state.bound.get_or_insert(allocated);
        match call {
            Call::Draw { window_ms } => {
                state.asked_at.insert(id, now);
                let everything = state.everything;
                demand(everything, Rule::Backoff, || {
                    format!("{task:?} is no drain of everything and draws")
                })?;
                let known = (1..=12).any(|failures| self::window_ms(failures) == *window_ms);
                demand(known, Rule::Backoff, || format!("no window is {window_ms} ms"))
            }
            Call::Resolve(identity) => self.resolved(task, identity, now),
            Call::Project { sequence, key, .. } => {
                self.is_unprepared(*sequence)?;
                let home = self.visible.home(*sequence);
                demand(home == key_of(key), Rule::Order, || {
                    format!("mutation {sequence} is prepared at {key}, it lives at {home:?}")
                })
            }
            Call::Stales { sequence, .. } => self.is_unprepared(*sequence),
            Call::Push(request) => self.pushed(task, request, now),
            Call::FreshRead(key) => {
                let sequences =
                    self.durable_at("REFRESH_REQUIRED", key, "freshRead", |judge, sequence| {
                        judge.frozen(sequence) == Some(key_of(key))
                    })?;
                self.touch_one(task, &sequences, now)
            }
            Call::Apply { key, value, .. } => self.adopted(task, key, &Some(value.to_vec()), now),
            Call::Clear(key) => self.adopted(task, key, &None, now),
            Call::ConfirmFresh { key, .. } => self
                .durable_at("ACKED", key, "confirmFresh", |judge, sequence| judge.adopts_at(sequence, key))
                .map(drop),
            Call::MarkStale(key) => {
                let leads_here = |sequence, effect: &Effect| match &effect.target {
                    Target::Key(target) => self.durable.is_on_route(target, sequence, &key_of(key)),
                    Target::Namespace(_) => false,
                };
                let mut may_be_for = BTreeSet::new();
                let sequences = self.durable_at("EFFECTS_PENDING", key, "markStale", |judge, sequence| {
                    judge.pending_effects(sequence).any(|(_, effect)| leads_here(sequence, effect))
                })?;
                for sequence in &sequences {
                    let fitting = self.pending_effects(*sequence).filter(|(_, it)| leads_here(*sequence, it));
                    may_be_for.extend(fitting.map(|(at, _)| *at));
                }
                self.process.marking.insert(id, may_be_for);
                self.touch_one(task, &sequences, now)
            }
            Call::Invalidate(namespace) => {
                let at = Identity::new(namespace.clone(), "");
                let sequences =
                    self.durable_at("EFFECTS_PENDING", &at, "invalidate", |judge, sequence| {
                        judge
                            .pending_effects(sequence)
                            .any(|(_, it)| it.target == Target::Namespace(namespace.to_string()))
                    })?;
                self.touch_one(task, &sequences, now)
            }
            Call::Retire { through } => {
                let prefix = self.durable.prefix();
                demand(*through <= prefix, Rule::ActBeforeSync, || {
                    format!("the server is told of {through}, durably settled is {prefix}")
                })
            }
            _ => Ok(()),
        }
    }

    fn is_unprepared(&self, sequence: u64) -> Judged {
        let phase = self.visible.phase(sequence);
        demand(phase == "UNPREPARED", Rule::Edge, || {
            format!("mutation {sequence} is {phase} and is computed once more")
        })
    }

    fn frozen(&self, sequence: u64) -> Option<Key> {
        let generation = self.durable.executions.get(&sequence)?.generation;
        self.durable.attempts.get(&(sequence, generation)).map(|attempt| attempt.key.clone())
    }

    fn pending_effects(&self, sequence: u64) -> impl Iterator<Item = (&(u64, u32), &Effect)> {
        let effects = self.durable.effects.range((sequence, 0)..=(sequence, u32::MAX));
        effects.filter(|(_, effect)| effect.disposition == "PENDING")
    }

    fn adopts_at(&self, sequence: u64, key: &Identity) -> bool {
        let Some(execution) = self.durable.executions.get(&sequence) else { return false };
        let Some(ack) = self.durable.acks.get(&(sequence, execution.generation)) else { return false };
        let from = ack.target.clone().or_else(|| self.frozen(sequence));
        from.is_some_and(|from| self.durable.terminal(&from) == key_of(key))
    }

    /// The mutations in this phase, durably, that a call on a key may belong to.
    fn durable_at(
        &self,
        phase: &str,
        key: &Identity,
        port: &str,
        fits: impl Fn(&Self, u64) -> bool,
    ) -> Judged<Vec<u64>> {
        let owners = self.durable.executions.iter().filter(|(_, execution)| execution.is(phase));
        let fitting: Vec<u64> = owners.map(|(sequence, _)| *sequence).filter(|at| fits(self, *at)).collect();
        demand(!fitting.is_empty(), Rule::ActBeforeSync, || {
            format!("{port} of {key}, for which nothing is durably {phase}")
        })?;
        Ok(fitting)
    }

    /// A pass works on one of these mutations, whose calls look alike.
    fn touch_one(&mut self, task: TaskId, sequences: &[u64], now: i64) -> Judged {
        match sequences {
            [sequence] => self.touch(task, *sequence, now),
            // Which one it is, the transaction behind the call will tell.
            _ => Ok(()),
        }
    }

    fn adopted(&mut self, task: TaskId, key: &Identity, value: &Value, now: i64) -> Judged {
        let sequences = self.durable_at("ACKED", key, "adoption", |judge, sequence| {
            let generation = judge.durable.executions[&sequence].generation;
            judge.adopts_at(sequence, key)
                && judge.durable.acks.get(&(sequence, generation)).is_some_and(|ack| ack.value == *value)
        })?;
        self.touch_one(task, &sequences, now)
    }

    /// A resolver that is asked by a drain of everything is asked for a head whose time has come.
    fn resolved(&mut self, task: TaskId, identity: &Identity, now: i64) -> Judged {
        if !self.process.tasks.get(&task).is_some_and(|state| state.everything) {
            return Ok(());
        }
        let key = key_of(identity);
        if self.is_needed_behind_a_head(&key) {
            return Ok(());
        }
        let owner = self.visible.owner(&key.0);
        let lives_here = |sequence: &u64| self.visible.home(*sequence) == key;
        let head = match owner {
            Some(owner) => Some(owner).filter(lives_here),
            None => self
                .visible
                .executions
                .iter()
                .filter(|(_, it)| it.is_pending())
                .map(|(at, _)| *at)
                .find(lives_here),
        };
        head.map_or(Ok(()), |head| self.touch(task, head, now))
    }

    /// Whether a key may be asked for by a step on a head elsewhere: as the target of an effect or an answer, or as what a
    /// generation was frozen with.
    fn is_needed_behind_a_head(&self, key: &Key) -> bool {
        let rows = &self.visible;
        rows.executions.iter().filter(|(_, it)| it.is_pending() && it.generation > 0).any(|(sequence, execution)| {
            let generation = (*sequence, execution.generation);
            let effects = rows.effects.range((*sequence, 0)..=(*sequence, u32::MAX)).any(|(_, effect)| {
                matches!(&effect.target, Target::Key(target) if rows.terminal_after(target, *sequence) == *key)
            });
            let target = rows.acks.get(&generation).and_then(|ack| ack.target.as_ref());
            let frozen = rows.attempts.get(&generation).map(|attempt| &attempt.key);
            (execution.is_post_ack() && (effects || target.is_some_and(|target| rows.terminal(target) == *key)))
                || frozen.is_some_and(|frozen| frozen == key && rows.home(*sequence) != *key)
        })
    }

    /// A pass works on a mutation: its time must have come, by a draw of this pass.
    pub(super) fn touch(&mut self, task: TaskId, sequence: u64, now: i64) -> Judged {
        let held_back = self.visible.held_back(sequence);
        self.admit(task, sequence, held_back, now)
    }

    /// A pass works on a mutation that so many failures, the last at this time, hold back.
    pub(super) fn admit(
        &mut self,
        task: TaskId,
        sequence: u64,
        held_back: Option<(u32, i64)>,
        now: i64,
    ) -> Judged {
        let Some(state) = self.process.tasks.get_mut(&task).filter(|state| state.everything) else {
            return Ok(());
        };
        if state.admitted.contains(&sequence) {
            return Ok(());
        }
        // A time that lies ahead of the clock holds nothing back, even if the clock has caught up since.
        let earliest = state.earliest.unwrap_or(now);
        let Some((failures, last)) = held_back.filter(|(_, last)| *last <= earliest) else {
            state.admitted.insert(sequence);
            return Ok(());
        };
        let window = window_ms(failures);
        let due = |&(drawn_from, drawn, asked_at): &(u64, u64, i64)| {
            drawn_from == window && last.saturating_add_unsigned(drawn) <= now.max(asked_at)
        };
        // Lanes draw side by side, and a draw does not say for whom. The greatest that lets this one through leaves the most
        // to the others.
        let fitting = (0..state.draws.len()).filter(|at| due(&state.draws[*at]));
        let found = fitting.max_by_key(|at| state.draws[*at].1);
        demand(found.is_some(), Rule::Backoff, || {
            format!(
                "mutation {sequence} failed {failures} times, last at {last}, and a pass works on it at {now}; \
                 left of its draws: {:?}",
                state.draws
            )
        })?;
        state.draws.remove(found.unwrap_or_default());
        state.admitted.insert(sequence);
        Ok(())
    }

    fn pushed(&mut self, task: TaskId, request: &PushRequest, now: i64) -> Judged {
        let (sequence, generation) = (request.sequence, request.generation);
        let named = format!("mutation {sequence} generation {generation}");
        demand(!self.received.contains(&sequence), Rule::PushAfterReceipt, || {
            format!("{named} is pushed after its answer was durable")
        })?;
        let phase = self.durable.phase(sequence).to_owned();
        demand(phase == "INFLIGHT", Rule::ActBeforeSync, || {
            format!("{named} is pushed, durably it is '{phase}'")
        })?;
        let current = self.durable.executions[&sequence].generation;
        demand(current == generation, Rule::SameBytes, || {
            format!("{named} is pushed, durable is {current}")
        })?;
        self.is_alone_in_its_lane(request)?;
        self.is_in_order(request)?;
        self.touch(task, sequence, now)?;

        let sent = Sent {
            key: key_of(&request.key),
            client: request.client.to_string(),
            idempotency_key: request.idempotency_key.to_string(),
            version: request.codec_version,
            base: value_of(&request.base),
            mine: value_of(&request.mine),
            meta: meta_of(request.base_meta.as_ref()),
            retired_through: request.retired_through,
        };
        let epoch = self.durable.client.as_ref().map_or(0, |client| client.epoch);
        let derived = format!("{}:{epoch:016x}:{sequence}:g{generation}", self.client);
        demand(sent.client == self.client && sent.idempotency_key == derived, Rule::SameBytes, || {
            format!("{named} has the key {}, not {derived}", sent.idempotency_key)
        })?;
        let other = *self.idempotency_keys.entry(derived).or_insert((sequence, generation));
        demand(other == (sequence, generation), Rule::SameBytes, || {
            format!("{named} has the key of mutation {} generation {}", other.0, other.1)
        })?;
        let durable = self.durable.attempts.get(&(sequence, generation)).map(|attempt| Sent {
            key: attempt.key.clone(),
            client: self.client.clone(),
            idempotency_key: attempt.idempotency_key.clone(),
            version: attempt.version,
            base: attempt.base.clone(),
            mine: attempt.mine.clone(),
            meta: attempt.precondition.clone(),
            retired_through: attempt.retired_through,
        });
        demand(durable.as_ref() == Some(&sent), Rule::SameBytes, || {
            format!("{named} is sent as {sent:?}, durable is {durable:?}")
        })?;
        let prefix = self.durable.prefix();
        demand(sent.retired_through <= prefix, Rule::Checkpoint, || {
            format!("{named} advertises {}, settled is {prefix}", sent.retired_through)
        })?;
        let first = self.sent.entry((sequence, generation)).or_insert_with(|| sent.clone());
        demand(*first == sent, Rule::SameBytes, || {
            format!("{named} was sent as {first:?}, now as {sent:?}")
        })?;
        self.intents.insert(sequence, self.durable.intents[&sequence].key.clone());
        Ok(())
    }

    /// Whoever was on its way in the lane has settled, durably.
    fn is_alone_in_its_lane(&mut self, request: &PushRequest) -> Judged {
        let sequence = request.sequence;
        let before = self.transit.insert(request.key.namespace.to_string(), sequence).unwrap_or(sequence);
        let phase = self.durable.phase(before);
        let settled = before == sequence || matches!(phase, "" | "PARKED" | "RETIRED");
        demand(settled, Rule::Lane, || {
            format!(
                "mutation {sequence} is pushed in {} while {before} is {phase} there",
                request.key.namespace
            )
        })
    }

    /// Nobody in front of it at its identity is still to be worked on.
    fn is_in_order(&self, request: &PushRequest) -> Judged {
        let home = self.visible.home(request.sequence);
        let front = self.visible.executions.range(..request.sequence);
        let mut waiting = front.filter(|(_, it)| it.is_pending()).map(|(sequence, _)| *sequence);
        match waiting.find(|sequence| self.visible.home(*sequence) == home) {
            None => Ok(()),
            Some(first) => {
                let what = format!("mutation {} is pushed at {home:?} before {first}", request.sequence);
                Err(super::Violation::new(Rule::Order, what))
            }
        }
    }
}
