//! Opening a journal: one pass over its rows in the order of their keys, in memory that does not grow with them, which
//! judges every rule and gathers what the engine keeps. A damaged journal is refused; it is never taken for an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use bytes::Bytes;

use crate::cache::Cache;
use crate::keys::{KeyRange, Part, RowKey, VERSION_KEY, mutation_key};
use crate::names::{AliasState, Disposition, Phase, TombstoneState};
use crate::reads::{JournalError, describe, unreadable};
use crate::records::{Ack, Alias, Attempt, Client, Effect, Execution, Failure, Identity, Intent, Tombstone};
use crate::rows::{FORMAT_VERSION, Row, RowError, decode};
use crate::rules::{self, Rule, Verdict, Violation};
use crate::storage::Rows;

/// Reads and judges a journal of `client`; `None` reads a journal of whatever client.
pub(crate) fn open(rows: &dyn Rows, client: Option<&str>) -> Result<Cache, JournalError> {
    let version = rows.get(VERSION_KEY)?;
    match version.as_deref() {
        None | Some([FORMAT_VERSION]) => {}
        Some([later, ..]) => return Err(unreadable(VERSION_KEY, RowError::Version(*later))),
        Some([]) => return Err(unreadable(VERSION_KEY, RowError::Cut)),
    }
    let mut opening = Opening { next: 1, ..Opening::default() };
    let mut failed = None;
    rows.scan(&KeyRange::all(), &mut |key, value| match opening.row(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    opening.end(client, version.is_some())
}

/// A multiset that can only be compared: equal ones have equal sums, others have not but for one case in 2^64.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Tally {
    fn add(&mut self, item: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        item.hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// The rows of one mutation, which follow each other.
struct Mutation {
    sequence: u64,
    intent: Intent,
    execution: Option<Execution>,
    attempts: Vec<Attempt>,
    acked: Vec<(u32, Ack)>,
    parked_by: Option<Failure>,
    effects: u32,
    effects_pending: bool,
}

#[derive(Default)]
struct Opening {
    cache: Cache,
    mutation: Option<Mutation>,
    /// The sequence that must come next, if it is behind the confirmed checkpoint.
    next: u64,
    /// The first mutation that has rows, if it is not behind the confirmed checkpoint.
    lowest: Option<u64>,
    any: bool,
    /// The creators of pending aliases and tombstones, as their rows have it.
    pending_creators: BTreeSet<u64>,
    /// Mutations that may have some.
    post_ack: BTreeSet<u64>,
    active_tombstones: BTreeMap<Identity, (bool, bool)>,
    pending: Tally,
    pending_index: Tally,
    dead: Tally,
    dead_index: Tally,
}

impl Opening {
    fn row(&mut self, key: &[u8], value: &Bytes) -> Result<(), JournalError> {
        self.any = true;
        match RowKey::parse(key).ok_or_else(|| unreadable(key, RowError::Fields))? {
            RowKey::Version => Ok(()),
            RowKey::Client => {
                let client: Client = read(key, value)?;
                judged(rules::client_is_ordered(&client), key)?;
                self.next = client.confirmed_through + 1;
                self.cache.client = Some(client);
                Ok(())
            }
            RowKey::Alias(source) => self.alias(key, source, read(key, value)?),
            RowKey::Tombstone(identity, creator) => {
                self.tombstone(key, identity, creator, &read(key, value)?)
            }
            RowKey::Mutation(sequence, part) => self.part(key, value, sequence, part),
            RowKey::Pending(identity, sequence) => {
                judged_if(value.is_empty(), Rule::IndexTrue, key)?;
                self.pending_index.add(&(identity, sequence));
                Ok(())
            }
            RowKey::Dead(parked_at, failure) => {
                self.dead_index.add(&(parked_at, failure, &value[..]));
                Ok(())
            }
        }
    }

    fn alias(&mut self, key: &[u8], source: Identity, alias: Alias) -> Result<(), JournalError> {
        judged(rules::alias_has_its_facts(&source, &alias), key)?;
        if alias.state == AliasState::Pending {
            self.pending_creators.insert(alias.created_by);
        }
        self.cache.routes.put(source, alias);
        Ok(())
    }

    fn tombstone(
        &mut self,
        key: &[u8],
        identity: Identity,
        creator: u64,
        tombstone: &Tombstone,
    ) -> Result<(), JournalError> {
        judged(rules::tombstone_has_its_facts(tombstone), key)?;
        // Rows of one identity follow each other, so the others can be forgotten.
        self.active_tombstones.retain(|other, _| *other == identity);
        let (pending, active) = self.active_tombstones.entry(identity.clone()).or_default();
        match tombstone.state {
            TombstoneState::Pending => {
                judged_if(!std::mem::replace(pending, true), Rule::TombstoneSound, key)?;
                self.pending_creators.insert(creator);
            }
            TombstoneState::Active => judged_if(!std::mem::replace(active, true), Rule::TombstoneSound, key)?,
            TombstoneState::Superseded => {
                let successor = tombstone.superseded_by.unwrap_or_default();
                self.cache.superseded.insert((identity, creator, successor));
            }
        }
        Ok(())
    }

    fn part(&mut self, key: &[u8], value: &Bytes, sequence: u64, part: Part) -> Result<(), JournalError> {
        if self.mutation.as_ref().is_some_and(|it| it.sequence != sequence) {
            self.end_mutation()?;
        }
        if part == Part::Intent {
            return self.begin_mutation(key, sequence, read(key, value)?);
        }
        let Some(mutation) = &mut self.mutation else {
            return Err(violation(Rule::MutationWhole, &mutation_key(sequence, Part::Intent), " is missing"));
        };
        match part {
            // Handled above.
            Part::Intent => {}
            Part::Execution => mutation.execution = Some(read(key, value)?),
            Part::Attempt(generation) => {
                let attempt: Attempt = read(key, value)?;
                let derived = self.cache.client.as_ref().is_some_and(|client| {
                    client.idempotency_key(sequence, generation) == *attempt.idempotency_key
                });
                let first = mutation.attempts.first().unwrap_or(&attempt);
                let sound = usize::try_from(generation).ok() == Some(mutation.attempts.len() + 1)
                    && first.identity == attempt.identity
                    && derived;
                judged_if(sound, Rule::AttemptKept, key)?;
                mutation.attempts.push(attempt);
            }
            Part::Ack(generation) => {
                let ack: Ack = read(key, value)?;
                judged(rules::ack_has_its_facts(&ack, &mutation.intent.identity.namespace), key)?;
                mutation.acked.push((generation, ack));
            }
            Part::Failure(id) => {
                let failure: Failure = read(key, value)?;
                self.cache.next_failure = self.cache.next_failure.max(id.saturating_add(1));
                let active = mutation.execution.as_ref().and_then(|it| it.active_failure);
                if active == Some(id) {
                    mutation.parked_by = Some(failure);
                }
            }
            Part::Effect(index) => {
                let effect: Effect = read(key, value)?;
                judged(rules::effect_has_its_facts(&effect), key)?;
                judged_if(index == mutation.effects, Rule::EffectFacts, key)?;
                mutation.effects += 1;
                mutation.effects_pending |= effect.disposition == Disposition::Pending;
            }
        }
        Ok(())
    }

    fn begin_mutation(&mut self, key: &[u8], sequence: u64, intent: Intent) -> Result<(), JournalError> {
        let confirmed = self.cache.confirmed_through();
        if sequence > confirmed {
            judged_if(sequence == self.next, Rule::SequenceGapless, key)?;
            self.next = sequence + 1;
        } else {
            self.lowest.get_or_insert(sequence);
        }
        self.mutation = Some(Mutation {
            sequence,
            intent,
            execution: None,
            attempts: Vec::new(),
            acked: Vec::new(),
            parked_by: None,
            effects: 0,
            effects_pending: false,
        });
        Ok(())
    }

    fn end_mutation(&mut self) -> Result<(), JournalError> {
        let Some(mutation) = self.mutation.take() else { return Ok(()) };
        let sequence = mutation.sequence;
        let key = mutation_key(sequence, Part::Execution);
        let Some(execution) = &mutation.execution else {
            return Err(violation(Rule::MutationWhole, &key, " is missing"));
        };
        judged(rules::execution_has_its_facts(execution), &key)?;
        judged(generations_fit(&mutation, execution), &key)?;
        judged_if(
            !(execution.phase == Phase::Retired && mutation.effects_pending),
            Rule::EffectsSettled,
            &key,
        )?;
        self.prefix(sequence, execution, &key)?;
        if execution.owns_lane() {
            let other = self.cache.owners.insert(mutation.intent.identity.namespace.clone(), sequence);
            judged_if(other.is_none(), Rule::LaneOwnedOnce, &key)?;
        }
        if execution.phase.is_post_ack() {
            self.post_ack.insert(sequence);
        }
        if execution.phase.is_pending() {
            self.pending.add(&(&mutation.intent.identity, sequence));
        }
        if execution.phase == Phase::Parked {
            let failure = mutation.parked_by.as_ref().filter(|it| it.generation == execution.generation);
            let failure = failure.ok_or_else(|| violation(Rule::ParkedFailure, &key, ""))?;
            if execution.dismissed.is_none() {
                let id = execution.active_failure.unwrap_or_default();
                self.dead.add(&(failure.last_at, id, &sequence.to_be_bytes()[..]));
            }
        }
        Ok(())
    }

    fn prefix(&mut self, sequence: u64, execution: &Execution, key: &[u8]) -> Result<(), JournalError> {
        let through = self.cache.retired_through();
        let true_so_far = if sequence <= through {
            execution.is_settled()
        } else {
            sequence != through + 1 || !execution.is_settled()
        };
        judged_if(true_so_far, Rule::PrefixTrue, key)
    }

    fn end(mut self, client: Option<&str>, versioned: bool) -> Result<Cache, JournalError> {
        self.end_mutation()?;
        let found = self.cache.client.as_ref();
        judged_if(self.any == versioned && versioned == found.is_some(), Rule::RowReadable, VERSION_KEY)?;
        if let (Some(wanted), Some(found)) = (client, found)
            && *wanted != *found.id
        {
            let row = format!("the journal belongs to client '{}', it was opened as '{wanted}'", found.id);
            return Err(Violation { rule: Rule::ClientSame, row }.into());
        }
        let next = mutation_key(self.next, Part::Intent);
        judged_if(
            found.is_none_or(|client| self.next == client.allocated + 1),
            Rule::SequenceGapless,
            &next,
        )?;
        if let Some(source) = self.cache.routes.cycle() {
            return Err(violation(
                Rule::AliasSound,
                &RowKey::Alias(source.clone()).encode(),
                " is in a circle",
            ));
        }
        if let Some(creator) = self.pending_creators.difference(&self.post_ack).next() {
            return Err(violation(Rule::PendingCreator, &mutation_key(*creator, Part::Execution), ""));
        }
        if self.pending != self.pending_index {
            return Err(
                Violation { rule: Rule::IndexTrue, row: "the index of pending rows".to_owned() }.into()
            );
        }
        if self.dead != self.dead_index {
            return Err(
                Violation { rule: Rule::IndexTrue, row: "the index of dead letters".to_owned() }.into()
            );
        }
        self.cache.pruned_through = self.lowest.map_or(self.cache.confirmed_through(), |lowest| lowest - 1);
        Ok(self.cache)
    }
}

/// Whether the generations and answers of a mutation are those that its phase says.
fn generations_fit(mutation: &Mutation, execution: &Execution) -> Verdict {
    if usize::try_from(execution.generation).ok() != Some(mutation.attempts.len()) {
        return Err(Rule::AttemptKept);
    }
    let acked = mutation.acked.iter().any(|(generation, _)| *generation == execution.generation);
    let answered = execution.phase.is_post_ack() || execution.phase == Phase::Retired;
    // An answer is written with the phase behind it, so one before that phase, or to another generation, is damage: going
    // on from there would push after a receipt.
    let misplaced =
        mutation.acked.iter().any(|(generation, _)| !answered || *generation != execution.generation);
    if (execution.phase.is_post_ack() && !acked) || misplaced {
        return Err(Rule::AckKept);
    }
    let Some((current, earlier)) = mutation.attempts.split_last() else { return Ok(()) };
    let placed = earlier.iter().all(|attempt| attempt.conflict.is_some())
        && match execution.phase {
            Phase::RefreshRequired => current.conflict.is_some(),
            Phase::Ready | Phase::Inflight | Phase::Acked | Phase::EffectsPending => {
                current.conflict.is_none()
            }
            Phase::Unprepared | Phase::Parked | Phase::Retired => true,
        };
    if placed { Ok(()) } else { Err(Rule::ReceiptPlaced) }
}

fn read<R: Row>(key: &[u8], value: &Bytes) -> Result<R, JournalError> {
    decode(key, value).map_err(|error| unreadable(key, error))
}

fn judged(verdict: Verdict, key: &[u8]) -> Result<(), JournalError> {
    verdict.map_err(|rule| violation(rule, key, ""))
}

fn judged_if(condition: bool, rule: Rule, key: &[u8]) -> Result<(), JournalError> {
    judged(if condition { Ok(()) } else { Err(rule) }, key)
}

fn violation(rule: Rule, key: &[u8], what: &str) -> JournalError {
    Violation { rule, row: format!("{}{what}", describe(key)) }.into()
}

#[cfg(test)]
#[path = "open/tests.rs"]
mod tests;
