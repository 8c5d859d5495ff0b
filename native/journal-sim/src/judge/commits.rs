//! What a transaction may change.

use std::collections::{BTreeMap, BTreeSet};

use parsley_journal::action::{Answer, TaskId};
use parsley_journal::names::Transition as T;
use parsley_journal::storage::Batch;

use super::rows::{Attempt, Execution, Key, Rows, Target};
use super::{Judge, Judged, Mark, Rule, demand, key_of, value_of};

/// Equal conflicts in a row that end a mutation.
const EQUAL_CONFLICTS: usize = 3;

impl Judge {
    /// A transaction is written.
    pub fn committed(
        &mut self,
        task: TaskId,
        batch: &Batch,
        transition: T,
        sequence: Option<u64>,
        now: i64,
    ) -> Judged {
        let before = self.visible.clone();
        self.visible.apply(&batch.0);
        self.unsynced.push(batch.clone());
        let after = &self.visible;
        keeps_what_is_written_once(&before, after, transition)?;
        fits_together(after)?;
        let changed = |sequence: &&u64| before.executions.get(sequence) != after.executions.get(sequence);
        let changed: Vec<u64> = after.executions.keys().filter(changed).copied().collect();
        for at in &changed {
            let old = before.executions.get(at);
            let new = &after.executions[at];
            let is_subject = Some(*at) == sequence;
            let edge = edge_is_known(old, new, transition, is_subject);
            demand(edge, Rule::Edge, || {
                format!("{transition} of {sequence:?} turns {at} from {old:?} into {new:?}")
            })?;
        }
        if let Some(sequence) = sequence {
            self.has_its_cause(&before, sequence, transition)?;
            if before.executions.contains_key(&sequence) && !matches!(transition, T::Retry | T::Discard) {
                self.chosen(task, &before, sequence, transition, now)?;
            }
        }
        for at in changed {
            if self.visible.executions[&at].is("RETIRED") {
                self.ended.insert(at, Some(transition).filter(|_| Some(at) == sequence));
            }
        }
        Ok(())
    }

    /// A pass steps on a mutation that it may choose.
    fn chosen(&mut self, task: TaskId, before: &Rows, sequence: u64, transition: T, now: i64) -> Judged {
        let bound = self.process.tasks.get(&task).and_then(|task| task.bound);
        if transition == T::T1 {
            demand(bound.is_none_or(|bound| sequence <= bound), Rule::Bound, || {
                format!("mutation {sequence} is prepared by a pass that began when there were {bound:?}")
            })?;
        }
        // What holds it back is what was there before.
        self.admit(task, sequence, before.held_back(sequence), now)
    }

    /// The answers that lead to a transition were given.
    fn has_its_cause(&mut self, before: &Rows, sequence: u64, transition: T) -> Judged {
        let execution = before.executions.get(&sequence);
        let generation = execution.map_or(0, |execution| execution.generation);
        let answer = self.process.answers.get(&sequence).cloned();
        let caused = match transition {
            T::T3 => matches!(&answer, Some(Answer::Threw(_))),
            T::T4 => {
                matches!(&answer, Some(Answer::Conflict(_)))
                    && self.equal_conflicts(sequence) < EQUAL_CONFLICTS
            }
            T::T4b => {
                matches!(&answer, Some(Answer::Conflict(_)))
                    && self.equal_conflicts(sequence) == EQUAL_CONFLICTS
            }
            T::T5 => self.is_answered_so(sequence, generation),
            T::T5b => match &answer {
                Some(Answer::Threw(_)) => self.parked_as(sequence, "attempts-exhausted"),
                Some(Answer::Rejected(_)) => self.parked_as(sequence, "push-rejected"),
                Some(Answer::Accepted(accepted)) => accepted.target.is_some(),
                _ => false,
            },
            T::T6 => self.is_adopted(sequence, generation),
            T::T7 => self.effect_is_done(before, sequence),
            T::T9 => {
                let frozen = before.attempts.get(&(sequence, generation)).map(|attempt| attempt.key.clone());
                let merged = frozen.as_ref().and_then(|key| self.process.merges.get(key));
                let mine = self
                    .visible
                    .attempts
                    .get(&(sequence, generation + 1))
                    .map(|attempt| attempt.mine.clone());
                match merged {
                    Some(Answer::Value(value)) => mine == Some(value_of(value)),
                    _ => false,
                }
            }
            T::T10 => self.process.merges.values().any(|answer| *answer == Answer::ServerWins),
            _ => true,
        };
        demand(caused, Rule::Edge, || {
            format!("{transition} of mutation {sequence} has no cause; its push was answered {answer:?}")
        })?;
        if matches!(transition, T::T3 | T::T4 | T::T4b | T::T5 | T::T5b) {
            self.process.answers.remove(&sequence);
        }
        if transition == T::T5 {
            self.process.targets.remove(&(sequence, generation));
        }
        Ok(())
    }

    /// Trailing generations that met the same conflict as the last one.
    fn equal_conflicts(&self, sequence: u64) -> usize {
        let attempts = self.visible.attempts.range((sequence, 0)..=(sequence, u32::MAX));
        let mut receipts = attempts.rev().map(|(_, attempt)| attempt.conflict.clone());
        let version = |receipt: Option<super::Meta>| receipt.map(Option::unwrap_or_default);
        let last = version(receipts.next().flatten());
        1 + receipts.map(version).take_while(|receipt| *receipt == last).count().min(EQUAL_CONFLICTS - 1)
    }

    fn parked_as(&self, sequence: u64, detail: &str) -> bool {
        let failure = self.visible.executions[&sequence].failure;
        failure.and_then(|id| self.visible.failures.get(&id)).is_some_and(|failure| failure.detail == detail)
    }

    fn is_answered_so(&self, sequence: u64, generation: u32) -> bool {
        let Some(Answer::Accepted(accepted)) = self.process.answers.get(&sequence) else { return false };
        let Some(ack) = self.visible.acks.get(&(sequence, generation)) else { return false };
        let target = accepted.target.as_ref().map(key_of).filter(|_| ack.value.is_some());
        let own = self.visible.attempts.get(&(sequence, generation)).map(|attempt| attempt.key.clone());
        let first = self.process.targets.get(&(sequence, generation));
        let names_another = target.as_ref().filter(|target| Some(*target) != own.as_ref());
        ack.value == value_of(&accepted.value)
            && ack.etag.as_deref() == accepted.etag.as_deref()
            && ack.target == target
            && names_another.is_none_or(|target| first == Some(target))
            && (ack.value.is_some()
                || own.is_some_and(|own| self.visible.tombstones.contains_key(&(own, sequence))))
    }

    fn is_adopted(&mut self, sequence: u64, generation: u32) -> bool {
        let Some(ack) = self.visible.acks.get(&(sequence, generation)) else { return false };
        let own = &self.visible.attempts[&(sequence, generation)].key;
        let key = self.visible.terminal(ack.target.as_ref().unwrap_or(own));
        let present = ack.value.is_some();
        let mut took = |port| self.took(&(port, key.clone()));
        if present { took("apply") & took("confirmFresh") } else { took("clear") }
    }

    fn effect_is_done(&mut self, before: &Rows, sequence: u64) -> bool {
        let range = (sequence, 0)..=(sequence, u32::MAX);
        let mut settled = self
            .visible
            .effects
            .range(range)
            .filter(|(index, effect)| before.effects.get(index).is_some_and(|old| old != *effect));
        let (Some((at, effect)), None) = (settled.next(), settled.next()) else { return false };
        if effect.disposition != "APPLIED" {
            return false;
        }
        match &effect.target {
            Target::Namespace(namespace) => self.took(&("invalidate", (namespace.clone(), String::new()))),
            Target::Key(_) => {
                let at = *at;
                rests_on_one(&mut self.process.marked, at, &mut BTreeSet::new())
            }
        }
    }

    /// Whether a local call was done that no other transaction rests on.
    fn took(&mut self, done: &(&'static str, Key)) -> bool {
        self.process.done.get_mut(done).is_some_and(|times| {
            let is_there = *times > 0;
            *times -= u32::from(is_there);
            is_there
        })
    }
}

/// Gives an effect a mark of its own, and another one to the effect that had it before, if need be: a call does not say
/// for which of those on its route it is.
fn rests_on_one(marked: &mut [Mark], effect: (u64, u32), tried: &mut BTreeSet<usize>) -> bool {
    for at in 0..marked.len() {
        if !marked[at].0.contains(&effect) || !tried.insert(at) {
            continue;
        }
        let moves = marked[at].1.is_none_or(|other| rests_on_one(marked, other, tried));
        if moves {
            marked[at].1 = Some(effect);
            return true;
        }
    }
    false
}

/// The edges of the state machine.
fn edge_is_known(old: Option<&Execution>, new: &Execution, transition: T, is_subject: bool) -> bool {
    let Some(old) = old else {
        return matches!(transition, T::T0 | T::Retry)
            && (new.phase.as_str(), new.generation, new.attempt, new.dismissed)
                == ("UNPREPARED", 0, 0, false);
    };
    let kept = (old.generation, old.attempt, old.last_attempt_at)
        == (new.generation, new.attempt, new.last_attempt_at);
    let pushed =
        old.generation == new.generation && old.attempt + 1 == new.attempt && new.last_attempt_at.is_some();
    let next = old.generation + 1 == new.generation && new.attempt == 0 && new.last_attempt_at.is_none();
    let fresh = !old.dismissed && !new.dismissed;
    let (from, to) = (old.phase.as_str(), new.phase.as_str());
    match transition {
        T::T1 => fresh && (from, to) == ("UNPREPARED", "READY") && next && new.generation == 1,
        T::T2 => fresh && (from, to) == ("READY", "INFLIGHT") && kept,
        T::T3 => fresh && (from, to) == ("INFLIGHT", "READY") && pushed,
        T::T4 => fresh && (from, to) == ("INFLIGHT", "REFRESH_REQUIRED") && pushed,
        T::T4b | T::T5b => fresh && (from, to) == ("INFLIGHT", "PARKED") && pushed,
        T::T5 => fresh && (from, to) == ("INFLIGHT", "ACKED") && pushed,
        T::T6 => fresh && (from, to) == ("ACKED", "EFFECTS_PENDING") && kept,
        T::T8 if !is_subject => fresh && to == "RETIRED" && kept && old.is_pending() && !old.owns_lane(),
        T::T8 => fresh && (from, to) == ("EFFECTS_PENDING", "RETIRED") && kept,
        T::T9 => fresh && (from, to) == ("REFRESH_REQUIRED", "READY") && next,
        T::T10 => fresh && (from, to) == ("REFRESH_REQUIRED", "RETIRED") && kept,
        T::T11 => fresh && to == "PARKED" && kept && old.is_pending() && !old.is_post_ack(),
        T::Retry => (from, to) == ("PARKED", "PARKED") && kept && !old.dismissed && new.dismissed,
        T::Discard if !is_subject => to == "RETIRED" && kept && old.is_pending() && !old.owns_lane(),
        T::Discard => {
            kept && !old.dismissed
                && new.dismissed
                && match from {
                    "PARKED" | "UNPREPARED" => to == "PARKED",
                    _ => old.is_post_ack() && to == "RETIRED",
                }
        }
        T::T0 | T::T7 | T::T12 | T::T13 | T::T14 => false,
    }
}

fn keeps_what_is_written_once(before: &Rows, after: &Rows, transition: T) -> Judged {
    let mut lost: Vec<u64> =
        before.intents.keys().filter(|at| !after.intents.contains_key(at)).copied().collect();
    lost.extend(before.executions.keys().filter(|at| !after.executions.contains_key(at)));
    lost.extend(before.attempts.keys().filter(|at| !after.attempts.contains_key(at)).map(|(at, _)| at));
    lost.extend(
        before.failures.iter().filter(|(id, _)| !after.failures.contains_key(id)).map(|(_, it)| it.sequence),
    );
    let confirmed = after.client.as_ref().map_or(0, |client| client.confirmed);
    demand(lost.is_empty() || transition == T::T14, Rule::Rows, || {
        format!("{transition} deletes rows of {lost:?}")
    })?;
    demand(lost.iter().all(|at| *at <= confirmed), Rule::Checkpoint, || {
        format!("rows of {lost:?} are deleted, confirmed is {confirmed}")
    })?;
    for (at, intent) in &before.intents {
        let same = after.intents.get(at).is_none_or(|after| after == intent);
        demand(same, Rule::Rows, || format!("the intent of {at} changes"))?;
    }
    for (at, ack) in &before.acks {
        let same = after.acks.get(at).is_none_or(|after| after == ack);
        demand(same, Rule::Rows, || format!("the answer to {at:?} changes"))?;
    }
    for (at, attempt) in &before.attempts {
        let same = after.attempts.get(at).is_none_or(|after| {
            *after == *attempt
                || (attempt.conflict.is_none() && Attempt { conflict: None, ..after.clone() } == *attempt)
        });
        demand(same, Rule::SameBytes, || format!("the generation {at:?} changes"))?;
    }
    for (at, effect) in &before.effects {
        let forward = after.effects.get(at).is_none_or(|after| {
            after == effect || (effect.disposition == "PENDING" && after.target == effect.target)
        });
        demand(forward, Rule::Rows, || format!("the effect {at:?} changes from {effect:?}"))?;
    }
    let late = after.effects.keys().find(|at| !before.effects.contains_key(at) && transition != T::T1);
    demand(late.is_none(), Rule::Rows, || format!("{transition} adds the effect {late:?}"))?;
    for (source, alias) in &before.aliases {
        let now = after.aliases.get(source);
        let kept = now.is_some_and(|now| now.target == alias.target && (now.active || !alias.active));
        demand(kept, Rule::Rows, || format!("the alias of {source:?} goes from {alias:?} to {now:?}"))?;
    }
    let old = before.client.as_ref().map_or((0, 0, 0), |it| (it.allocated, it.retired, it.confirmed));
    let new = after.client.as_ref().map_or((0, 0, 0), |it| (it.allocated, it.retired, it.confirmed));
    let moves =
        old.0 <= new.0 && old.1 <= new.1 && (old.2 == new.2 || (transition == T::T13 && old.2 < new.2));
    demand(moves, Rule::Checkpoint, || format!("{transition} moves the client from {old:?} to {new:?}"))
}

fn fits_together(rows: &Rows) -> Judged {
    let Some(client) = &rows.client else { return Ok(()) };
    let prefix = rows.prefix();
    demand(client.retired == prefix && client.confirmed <= prefix, Rule::Checkpoint, || {
        format!("the settled prefix is {prefix}, the client row has {client:?}")
    })?;
    for at in client.confirmed + 1..=client.allocated {
        let whole = rows.intents.contains_key(&at) && rows.executions.contains_key(&at);
        demand(whole, Rule::Rows, || format!("mutation {at} is not whole"))?;
    }
    let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
    for (at, execution) in &rows.executions {
        if execution.owns_lane()
            && let Some(other) = owners.insert(&rows.intents[at].key.0, *at)
        {
            let what = format!("{other} and {at} own the lane of {}", rows.intents[at].key.0);
            return Err(super::Violation::new(Rule::Lane, what));
        }
        let effects = rows.effects.range((*at, 0)..=(*at, u32::MAX));
        let pending = effects.filter(|(_, effect)| effect.disposition == "PENDING").count();
        demand(!execution.is("RETIRED") || pending == 0, Rule::Rows, || {
            format!("mutation {at} is retired with {pending} pending effects")
        })?;
        demand(
            !execution.is_post_ack() || rows.acks.contains_key(&(*at, execution.generation)),
            Rule::Rows,
            || format!("mutation {at} is {} without an answer", execution.phase),
        )?;
        let failure = execution.failure.and_then(|id| rows.failures.get(&id));
        let parked = failure.is_some_and(|it| it.sequence == *at && it.generation == execution.generation);
        demand(execution.is("PARKED") == parked, Rule::Rows, || format!("mutation {at} is {execution:?}"))?;
    }
    failures_coalesce(rows)?;
    creators_are_at_work(rows)
}

fn failures_coalesce(rows: &Rows) -> Judged {
    let mut seen = BTreeMap::new();
    for (id, it) in &rows.failures {
        let what = (it.sequence, it.generation, &it.kind, &it.detail);
        let first = seen.insert(what, *id);
        demand(first.is_none() && it.count >= 1, Rule::Coalesced, || {
            format!("failures {first:?} and {id} are both {what:?}")
        })?;
    }
    Ok(())
}

fn creators_are_at_work(rows: &Rows) -> Judged {
    let aliases =
        rows.aliases.iter().filter(|(_, alias)| !alias.active).map(|(source, alias)| (source, alias.creator));
    let pending = rows.tombstones.iter().filter(|(_, state)| *state == "PENDING");
    let deletions = pending.map(|((key, creator), _)| (key, *creator));
    for (key, creator) in aliases.chain(deletions) {
        let at_work = rows.executions.get(&creator).is_some_and(Execution::is_post_ack);
        demand(at_work, Rule::Rows, || format!("what {creator} began at {key:?} is pending"))?;
    }
    for key in rows.aliases.keys() {
        // Panics on a circle.
        rows.terminal(key);
    }
    deletions_are_one(rows)
}

fn deletions_are_one(rows: &Rows) -> Judged {
    let mut standing: BTreeMap<(&Key, &str), u64> = BTreeMap::new();
    for ((key, creator), state) in &rows.tombstones {
        if state == "SUPERSEDED" {
            continue;
        }
        let other = standing.insert((key, state), *creator);
        demand(other.is_none(), Rule::Rows, || format!("{other:?} and {creator} both delete {key:?}"))?;
        // What a standing deletion masks has retired with it.
        if state == "ACTIVE" {
            let masked = rows.executions.range(..*creator).find(|(at, it)| {
                it.is_pending() && !it.is_post_ack() && rows.home(**at) == rows.terminal(key)
            });
            demand(masked.is_none(), Rule::Rows, || {
                format!("{masked:?} still waits at {key:?}, which {creator} has deleted")
            })?;
        }
    }
    Ok(())
}
