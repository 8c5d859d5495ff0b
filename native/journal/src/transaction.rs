//! One transaction of the journal, built in memory: typed changes, each judged by the rules before it is staged.
//!
//! The indexes of pending rows and dead letters, the owner of the lane and the settled prefix follow from the changes of
//! the execution rows, so no caller can forget them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::cache::{Cache, Change, lane_change};
use crate::keys::{CLIENT_KEY, Part, RowKey, VERSION_KEY, mutation_key};
use crate::names::{AliasState, Disposition, FailureKind, Phase, TombstoneState};
use crate::reads::{JournalError, Reads, describe};
use crate::records::{
    Ack, Alias, Attempt, Client, Effect, Execution, Failure, Identity, Intent, Presence, Tombstone,
};
use crate::rows::{FORMAT_VERSION, Row, decode, encode};
use crate::rules::{self, Cause, Rule, Verdict, Violation};
use crate::sabotage;
use crate::storage::{Batch, Rows};
use crate::text::{DETAIL_BYTES_MAX, MESSAGE_BYTES_MAX, sanitized};

/// A transaction that is being built.
pub(crate) struct Transaction<'a> {
    rows: &'a dyn Rows,
    cache: &'a Cache,
    change: Change,
    writes: BTreeMap<Vec<u8>, Option<Bytes>>,
}

/// A transaction that can be written.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) batch: Batch,
    pub(crate) change: Change,
}

/// A mutation that a transaction changes: its sequence, its intent and its execution as it is.
pub(crate) struct Subject<'s> {
    pub(crate) sequence: u64,
    pub(crate) intent: &'s Intent,
    pub(crate) execution: &'s Execution,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(rows: &'a dyn Rows, cache: &'a Cache) -> Self {
        Self { rows, cache, change: Change::default(), writes: BTreeMap::new() }
    }

    /// The transaction as a batch, once all its changes are staged.
    pub(crate) fn finish(self) -> Staged {
        Staged { batch: Batch(self.writes.into_iter().collect()), change: self.change }
    }

    fn reads(&self) -> Reads<'a> {
        Reads(self.rows)
    }

    fn stage<R: Row>(&mut self, key: Vec<u8>, record: &R) {
        let value = encode(&key, record);
        self.writes.insert(key, Some(value));
    }

    /// The record under `key` as this transaction leaves it.
    fn current<R: Row>(&self, key: &[u8]) -> Result<Option<R>, JournalError> {
        match self.writes.get(key) {
            Some(Some(value)) => {
                Ok(Some(decode(key, value).expect("a row that was encoded here reads back")))
            }
            Some(None) => Ok(None),
            None => self.reads().find(key),
        }
    }

    fn client(&self) -> Option<&Client> {
        self.change.client.as_ref().or(self.cache.client.as_ref())
    }

    fn put_client(&mut self, client: Client) -> Result<(), JournalError> {
        judged(rules::client_moves_forward(self.client(), &client), CLIENT_KEY)?;
        self.stage(CLIENT_KEY.to_vec(), &client);
        self.change.client = Some(client);
        Ok(())
    }

    /// Gives the intent the next sequence. `first` is the client of a journal that has none.
    pub(crate) fn enqueue(
        &mut self,
        intent: &Intent,
        first: impl FnOnce() -> Client,
    ) -> Result<u64, JournalError> {
        let mut client = if let Some(client) = self.client() {
            client.clone()
        } else {
            self.writes.insert(VERSION_KEY.to_vec(), Some(Bytes::from_static(&[FORMAT_VERSION])));
            first()
        };
        client.allocated += 1;
        let sequence = client.allocated;
        self.put_client(client)?;
        let key = mutation_key(sequence, Part::Intent);
        self.unwritten::<Intent>(&key, Rule::SequenceGapless)?;
        self.stage(key, intent);
        self.stage(mutation_key(sequence, Part::Execution), &Execution::new());
        self.writes.insert(RowKey::Pending(intent.identity.clone(), sequence).encode(), Some(Bytes::new()));
        Ok(sequence)
    }

    fn unwritten<R: Row>(&self, key: &[u8], rule: Rule) -> Result<(), JournalError> {
        let missing = self.current::<R>(key)?.is_none();
        judged(if missing { Ok(()) } else { Err(rule) }, key)
    }

    /// Moves an execution along an edge, with everything that follows from it.
    pub(crate) fn execute(
        &mut self,
        subject: &Subject<'_>,
        new: &Execution,
        cause: Cause,
    ) -> Result<(), JournalError> {
        let Subject { sequence, intent, execution: old } = *subject;
        let key = mutation_key(sequence, Part::Execution);
        judged(rules::edge_is_known(old, new, cause), &key)?;
        let stored = self.current::<Execution>(&key)?;
        judged(if stored.as_ref() == Some(old) { Ok(()) } else { Err(Rule::EdgeKnown) }, &key)?;
        self.has_what_the_phase_needs(sequence, old, new)?;
        self.own_lane(&intent.identity.namespace, sequence, old, new)?;
        self.index(subject, new)?;
        self.stage(key, new);
        if new.is_settled() && !old.is_settled() {
            self.advance_prefix(sequence)?;
        }
        Ok(())
    }

    fn has_what_the_phase_needs(
        &self,
        sequence: u64,
        old: &Execution,
        new: &Execution,
    ) -> Result<(), JournalError> {
        if new.generation != old.generation {
            let key = mutation_key(sequence, Part::Attempt(new.generation));
            let kept = self.current::<Attempt>(&key)?.is_some();
            judged(if kept { Ok(()) } else { Err(Rule::AttemptKept) }, &key)?;
        }
        match new.phase {
            Phase::Acked => {
                let key = mutation_key(sequence, Part::Ack(new.generation));
                let kept = self.current::<Ack>(&key)?.is_some();
                judged(if kept { Ok(()) } else { Err(Rule::AckKept) }, &key)
            }
            Phase::RefreshRequired => {
                let key = mutation_key(sequence, Part::Attempt(new.generation));
                let met = self.current::<Attempt>(&key)?.is_some_and(|attempt| attempt.conflict.is_some());
                judged(if met { Ok(()) } else { Err(Rule::ReceiptPlaced) }, &key)
            }
            Phase::Parked => {
                // Without a failure the row has not its facts, which was judged before.
                let id = new.active_failure.unwrap_or_default();
                let key = mutation_key(sequence, Part::Failure(id));
                let matches =
                    self.current::<Failure>(&key)?.is_some_and(|it| it.generation == new.generation);
                judged(if matches { Ok(()) } else { Err(Rule::ParkedFailure) }, &key)
            }
            Phase::Retired => {
                let settled =
                    self.effects(sequence)?.iter().all(|(_, it)| it.disposition != Disposition::Pending);
                judged(
                    if settled { Ok(()) } else { Err(Rule::EffectsSettled) },
                    &mutation_key(sequence, Part::Execution),
                )
            }
            _ => Ok(()),
        }
    }

    fn own_lane(
        &mut self,
        namespace: &Arc<str>,
        sequence: u64,
        old: &Execution,
        new: &Execution,
    ) -> Result<(), JournalError> {
        if old.owns_lane() == new.owns_lane() {
            return Ok(());
        }
        let owner = self.cache.owners.get(namespace).copied();
        let expected = old.owns_lane().then_some(sequence);
        judged(
            if owner == expected || sabotage::is("overtake-in-the-lane") {
                Ok(())
            } else {
                Err(Rule::LaneOwnedOnce)
            },
            &mutation_key(sequence, Part::Execution),
        )?;
        self.change.owner = Some(lane_change(namespace, sequence, new));
        Ok(())
    }

    fn index(&mut self, subject: &Subject<'_>, new: &Execution) -> Result<(), JournalError> {
        let old = subject.execution;
        if old.phase.is_pending() && !new.phase.is_pending() {
            self.writes
                .insert(RowKey::Pending(subject.intent.identity.clone(), subject.sequence).encode(), None);
        }
        let is_dead = |it: &Execution| it.phase == Phase::Parked && it.dismissed.is_none();
        if is_dead(old) != is_dead(new) {
            let id = new.active_failure.unwrap_or_default();
            let key = mutation_key(subject.sequence, Part::Failure(id));
            let failure = self.current::<Failure>(&key)?;
            let failure = failure.ok_or_else(|| violation(Rule::ParkedFailure, &key))?;
            let value = is_dead(new).then(|| Bytes::copy_from_slice(&subject.sequence.to_be_bytes()));
            self.writes.insert(RowKey::Dead(failure.last_at, id).encode(), value);
        }
        Ok(())
    }

    /// Moves the settled prefix over `sequence`, which this transaction settles, and what is settled behind it.
    fn advance_prefix(&mut self, sequence: u64) -> Result<(), JournalError> {
        let Some(client) = self.client() else { return Ok(()) };
        let mut through = client.retired_through;
        if sequence != through + 1 {
            return Ok(());
        }
        while through < client.allocated {
            let next: Option<Execution> = self.current(&mutation_key(through + 1, Part::Execution))?;
            let passes = |it: Execution| {
                it.is_settled() || (it.phase == Phase::Parked && sabotage::is("pass-a-parked-head"))
            };
            if !next.is_some_and(passes) {
                break;
            }
            through += 1;
        }
        let client = Client { retired_through: through, ..client.clone() };
        self.put_client(client)
    }

    /// Adds a generation.
    pub(crate) fn prepare(
        &mut self,
        sequence: u64,
        generation: u32,
        attempt: &Attempt,
    ) -> Result<(), JournalError> {
        let key = mutation_key(sequence, Part::Attempt(generation));
        self.unwritten::<Attempt>(&key, Rule::WrittenOnce)?;
        if generation > 1 {
            let previous: Option<Attempt> =
                self.current(&mutation_key(sequence, Part::Attempt(generation - 1)))?;
            let same = previous.is_some_and(|it| it.identity == attempt.identity && it.conflict.is_some());
            judged(if same { Ok(()) } else { Err(Rule::AttemptKept) }, &key)?;
        }
        let derived = self
            .client()
            .is_some_and(|client| client.idempotency_key(sequence, generation) == *attempt.idempotency_key);
        judged(if derived { Ok(()) } else { Err(Rule::AttemptKept) }, &key)?;
        self.stage(key, attempt);
        Ok(())
    }

    /// Adds the receipt of a conflict to a generation that has none.
    pub(crate) fn receive_conflict(
        &mut self,
        sequence: u64,
        generation: u32,
        attempt: &Attempt,
    ) -> Result<(), JournalError> {
        let key = mutation_key(sequence, Part::Attempt(generation));
        let old: Option<Attempt> = self.current(&key)?;
        let only_receipt = old.is_some_and(|old| {
            old.conflict.is_none() && Attempt { conflict: attempt.conflict.clone(), ..old } == *attempt
        });
        judged(if only_receipt { Ok(()) } else { Err(Rule::WrittenOnce) }, &key)?;
        self.stage(key, attempt);
        Ok(())
    }

    /// Adds the answer to a generation.
    pub(crate) fn acknowledge(
        &mut self,
        sequence: u64,
        generation: u32,
        identity: &Identity,
        ack: &Ack,
    ) -> Result<(), JournalError> {
        let key = mutation_key(sequence, Part::Ack(generation));
        judged(rules::ack_has_its_facts(ack, &identity.namespace), &key)?;
        self.unwritten::<Ack>(&key, Rule::WrittenOnce)?;
        self.stage(key, ack);
        if ack.value == Presence::Absent {
            self.add_tombstone(identity, sequence, &Tombstone::new(ack.received_at))?;
        }
        Ok(())
    }

    /// Notes a failure: a new row, or one more of a row of the same kind and detail on this generation. Returns its id.
    pub(crate) fn fail(
        &mut self,
        sequence: u64,
        generation: u32,
        failed: &Failed<'_>,
        now: i64,
    ) -> Result<u64, JournalError> {
        let detail = sanitized(failed.detail, DETAIL_BYTES_MAX);
        let message = sanitized(failed.message, MESSAGE_BYTES_MAX);
        let equal = self.reads().failures(sequence)?.into_iter().find(|(_, failure)| {
            failure.generation == generation
                && failure.kind == failed.kind
                && failure.detail == detail
                && !sabotage::is("a-row-for-each-failure")
        });
        let (id, failure) = if let Some((id, old)) = equal {
            (id, Failure { message, last_at: now, count: old.count.saturating_add(1), ..old })
        } else {
            let id = self.change.next_failure.unwrap_or(self.cache.next_failure);
            self.change.next_failure = Some(id + 1);
            let kind = failed.kind;
            (id, Failure { generation, kind, detail, message, first_at: now, last_at: now, count: 1 })
        };
        self.stage(mutation_key(sequence, Part::Failure(id)), &failure);
        Ok(id)
    }

    /// The effects of a mutation as this transaction leaves them.
    fn effects(&self, sequence: u64) -> Result<Vec<(u32, Effect)>, JournalError> {
        let mut effects = self.reads().effects(sequence)?;
        for (index, effect) in &mut effects {
            if let Some(staged) = self.current(&mutation_key(sequence, Part::Effect(*index)))? {
                *effect = staged;
            }
        }
        Ok(effects)
    }

    /// Adds the effects of a mutation, in their order.
    pub(crate) fn add_effects(&mut self, sequence: u64, effects: &[Effect]) -> Result<(), JournalError> {
        for (index, effect) in (0u32..).zip(effects) {
            let key = mutation_key(sequence, Part::Effect(index));
            judged(rules::effect_has_its_facts(effect), &key)?;
            if !sabotage::is("effects-once-more") {
                self.unwritten::<Effect>(&key, Rule::EffectFacts)?;
            }
            self.stage(key, effect);
        }
        Ok(())
    }

    /// Settles a pending effect.
    pub(crate) fn settle_effect(
        &mut self,
        sequence: u64,
        index: u32,
        disposition: Disposition,
        now: i64,
    ) -> Result<(), JournalError> {
        let key = mutation_key(sequence, Part::Effect(index));
        let pending: Option<Effect> = self.current(&key)?;
        let pending = pending.filter(|effect| effect.disposition == Disposition::Pending);
        let effect = pending.ok_or_else(|| violation(Rule::EffectFacts, &key))?;
        let settled = Effect { disposition, completed_at: Some(now), ..effect };
        judged(rules::effect_has_its_facts(&settled), &key)?;
        self.stage(key, &settled);
        Ok(())
    }

    /// Skips every pending effect, and returns their indexes.
    pub(crate) fn skip_effects(&mut self, sequence: u64, now: i64) -> Result<Vec<u32>, JournalError> {
        let pending: Vec<u32> = self
            .reads()
            .effects(sequence)?
            .into_iter()
            .filter(|(_, effect)| effect.disposition == Disposition::Pending)
            .map(|(index, _)| index)
            .collect();
        for index in &pending {
            self.settle_effect(sequence, *index, Disposition::Skipped, now)?;
        }
        Ok(pending)
    }

    /// Adds an alias that was admitted, or moves it to its next state.
    pub(crate) fn put_alias(&mut self, source: &Identity, alias: Alias) -> Result<(), JournalError> {
        let key = RowKey::Alias(source.clone()).encode();
        judged(rules::alias_has_its_facts(source, &alias), &key)?;
        let sound = match self.cache.routes.get(source) {
            None => !self.cache.routes.leads_to(&alias.target, source),
            Some(old) => {
                old.target == alias.target
                    && (old.state == AliasState::Pending || alias.state == AliasState::Active)
            }
        };
        judged(if sound { Ok(()) } else { Err(Rule::AliasSound) }, &key)?;
        self.stage(key, &alias);
        self.change.aliases.push((source.clone(), alias));
        Ok(())
    }

    fn add_tombstone(
        &mut self,
        identity: &Identity,
        creator: u64,
        new: &Tombstone,
    ) -> Result<(), JournalError> {
        let key = RowKey::Tombstone(identity.clone(), creator).encode();
        judged(rules::tombstone_has_its_facts(new), &key)?;
        self.unwritten::<Tombstone>(&key, Rule::TombstoneSound)?;
        let other = self.reads().tombstones(identity)?.into_iter().any(|(_, it)| it.state == new.state);
        judged(if other { Err(Rule::TombstoneSound) } else { Ok(()) }, &key)?;
        self.stage(key, new);
        Ok(())
    }

    /// Moves a tombstone to its next state.
    pub(crate) fn move_tombstone(
        &mut self,
        identity: &Identity,
        creator: u64,
        new: &Tombstone,
    ) -> Result<(), JournalError> {
        let key = RowKey::Tombstone(identity.clone(), creator).encode();
        let old: Option<Tombstone> = self.current(&key)?;
        let old = old.ok_or_else(|| violation(Rule::TombstoneSound, &key))?;
        judged(rules::tombstone_moves_forward(&old, new), &key)?;
        if new.state == TombstoneState::Active {
            for (other, _) in self.reads().tombstones(identity)? {
                let other_key = RowKey::Tombstone(identity.clone(), other).encode();
                let active = self.current::<Tombstone>(&other_key)?.is_some_and(|it| it.state == new.state);
                judged(if active { Err(Rule::TombstoneSound) } else { Ok(()) }, &key)?;
            }
        }
        if let Some(successor) = new.superseded_by {
            self.change.superseded.push((identity.clone(), creator, successor));
        }
        self.stage(key, new);
        Ok(())
    }

    /// The server has confirmed the checkpoint `through`.
    pub(crate) fn confirm(&mut self, through: u64) -> Result<(), JournalError> {
        let client = self.client().ok_or_else(|| violation(Rule::ClientOrdered, CLIENT_KEY))?;
        let client = Client { confirmed_through: through, ..client.clone() };
        self.put_client(client)
    }

    /// Deletes the rows of the mutations up to `through`, which is confirmed.
    pub(crate) fn prune(&mut self, through: u64) -> Result<(), JournalError> {
        let confirmed = self.cache.confirmed_through();
        let may = through <= confirmed || sabotage::is("prune-past-the-checkpoint");
        judged(if may { Ok(()) } else { Err(Rule::PrefixTrue) }, CLIENT_KEY)?;
        let keys = self.reads().keys_of(self.cache.pruned_through + 1, through)?;
        self.writes.extend(keys.into_iter().map(|key| (key, None)));
        for pruned in &self.cache.superseded {
            let (identity, creator, successor) = pruned;
            if *creator <= through && *successor <= confirmed {
                self.writes.insert(RowKey::Tombstone(identity.clone(), *creator).encode(), None);
                self.change.unsuperseded.push(pruned.clone());
            }
        }
        self.change.pruned_through = Some(through);
        Ok(())
    }
}

/// A failure as it is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed<'f> {
    pub(crate) kind: FailureKind,
    pub(crate) detail: &'f str,
    pub(crate) message: &'f str,
}

fn judged(verdict: Verdict, key: &[u8]) -> Result<(), JournalError> {
    verdict.map_err(|rule| violation(rule, key))
}

fn violation(rule: Rule, key: &[u8]) -> JournalError {
    Violation { rule, row: describe(key) }.into()
}

impl Tombstone {
    /// A tombstone whose creator has not retired.
    pub(crate) fn new(created_at: i64) -> Self {
        Self {
            state: TombstoneState::Pending,
            created_at,
            activated_at: None,
            superseded_by: None,
            superseded_at: None,
        }
    }
}

#[cfg(test)]
#[path = "transaction/tests.rs"]
mod tests;
