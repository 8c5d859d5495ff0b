//! After the server's answer: adopting it (T6), its effects on other keys (T7) and the end (T8).

use crate::action::{Answer, Call};
use crate::event::EventKind;
use crate::io::{Interrupt, KeyAnswer, Thrown, thrown};
use crate::names::{AliasState, Disposition, FailureKind, Phase, TombstoneState, Transition, detail};
use crate::reads::JournalError;
use crate::records::{
    Ack, Alias, Attempt, Dismissal, EffectTarget, Execution, Identity, Presence, Tombstone,
};
use crate::report::Blocked;
use crate::rules::Cause;
use crate::sabotage;
use crate::state::State;
use crate::transaction::{Subject, Transaction};
use crate::visit::{Go, Head, Visit};

impl Visit {
    /// T6, and then the effects.
    pub(crate) async fn adopt(&mut self, at: &Identity, head: &Head) -> Result<Go, Interrupt> {
        let ack = self.ack(head)?;
        if sabotage::is("push-after-the-receipt") {
            let request = self.request(head, &self.attempt(head)?);
            self.io.act(Call::Push(Box::new(request))).await?;
        }
        let Some(key) = self.adoption_key(at, head, &ack).await? else { return Ok(Go::Stop) };
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let adopted = match &ack.value {
            Presence::Absent => self.io.act_done(Call::Clear(key)).await?,
            Presence::Present(value) => {
                let value = value.clone();
                let apply = Call::Apply { key: key.clone(), value, codec_version: ack.codec_version };
                match self.io.act(apply).await? {
                    (_, Answer::Done) => {
                        self.io.act_done(Call::ConfirmFresh { key, etag: ack.etag.clone() }).await?
                    }
                    (id, Answer::Codec(message)) => {
                        let failed = Thrown { message, call: Some(id) };
                        self.note(head, FailureKind::Codec, detail::VALUE_CODEC_ACKED, failed).await?;
                        return Ok(Go::Stop);
                    }
                    (id, answer) => Err(thrown(id, answer)),
                }
            }
        };
        if let Err(failed) = adopted {
            self.note(head, FailureKind::Adoption, detail::ADOPTION_FAILED, failed).await?;
            return Ok(Go::Stop);
        }
        let pending = Execution { phase: Phase::EffectsPending, ..head.execution.clone() };
        self.io
            .commit(Transition::T6, |transaction, _| {
                transaction.execute(&head.subject(), &pending, Cause::Step)?;
                Ok((Some(sequence), ()))
            })
            .await?;
        let identity = self.told_identity(head)?;
        let present = ack.value != Presence::Absent;
        self.io.state().emit(Some(sequence), Some(&identity), EventKind::Adopted { generation, present });
        self.effects_of(&Head { execution: pending, ..head.clone() }).await
    }

    /// What was left of the effects, and then the end.
    pub(crate) async fn apply_effects(&mut self, at: &Identity, head: &Head) -> Result<Go, Interrupt> {
        let ack = self.ack(head)?;
        match self.adoption_key(at, head, &ack).await? {
            Some(_) => self.effects_of(head).await,
            None => Ok(Go::Stop),
        }
    }

    fn ack(&self, head: &Head) -> Result<Ack, Interrupt> {
        Ok(self.io.state().reads().ack(head.sequence, head.execution.generation)?)
    }

    /// Where the answer is adopted: at the end of the route of its target, if it has one. `None` if there is no key.
    async fn adoption_key(
        &mut self,
        at: &Identity,
        head: &Head,
        ack: &Ack,
    ) -> Result<Option<Identity>, Interrupt> {
        let Some(target) = &ack.target else { return Ok(Some(at.clone())) };
        let terminal = self.io.state().terminal(target);
        match self.io.key_of(&terminal).await? {
            KeyAnswer::Known => Ok(Some(terminal)),
            KeyAnswer::Unavailable => {
                self.report.blocked = Some(Blocked::Unavailable { identity: terminal });
                Ok(None)
            }
            KeyAnswer::Failed(detail, failed) => {
                self.note(head, FailureKind::Identity, detail, failed).await?;
                Ok(None)
            }
        }
    }

    /// T7 for each effect that is left, also after one has failed; T8 only if none has.
    async fn effects_of(&mut self, head: &Head) -> Result<Go, Interrupt> {
        let effects = self.io.state().reads().effects(head.sequence)?;
        let mut left = false;
        for (index, effect) in effects {
            if effect.disposition == Disposition::Pending {
                left |= !self.apply_effect(head, index, effect.target).await?;
            }
        }
        if left {
            return Ok(Go::Stop);
        }
        self.retire(head).await
    }

    /// T7: applies one effect. False if it is left.
    async fn apply_effect(
        &mut self,
        head: &Head,
        index: u32,
        target: EffectTarget,
    ) -> Result<bool, Interrupt> {
        let call = match target {
            EffectTarget::Namespace(namespace) => Call::Invalidate(namespace),
            EffectTarget::Key(identity) => {
                // This answer's own alias counts already: the effect goes where the key will be.
                let key = self.io.state().known().routes.terminal_after(&identity, head.sequence).clone();
                match self.io.key_of(&key).await? {
                    KeyAnswer::Known => Call::MarkStale(key),
                    KeyAnswer::Unavailable => {
                        self.report.blocked = Some(Blocked::Unavailable { identity: key });
                        return Ok(false);
                    }
                    KeyAnswer::Failed(detail, failed) => {
                        self.note(head, FailureKind::Identity, detail, failed).await?;
                        return Ok(false);
                    }
                }
            }
        };
        if let Err(failed) = self.io.act_done(call).await? {
            self.note(head, FailureKind::Effect, detail::EFFECT_TARGET_FAILED, failed).await?;
            return Ok(false);
        }
        let sequence = head.sequence;
        self.io
            .commit(Transition::T7, |transaction, state| {
                transaction.settle_effect(sequence, index, Disposition::Applied, state.now)?;
                Ok((Some(sequence), ()))
            })
            .await?;
        let identity = self.told_identity(head)?;
        let kind = EventKind::EffectApplied { generation: head.execution.generation, index };
        self.io.state().emit(Some(sequence), Some(&identity), kind);
        Ok(true)
    }

    /// T8: the end, with the alias or tombstone that the answer brought.
    async fn retire(&mut self, head: &Head) -> Result<Go, Interrupt> {
        let attempt = self.attempt(head)?;
        let ack = self.ack(head)?;
        let masked = self
            .io
            .commit(Transition::T8, |transaction, state| {
                let masked = settle_answer(transaction, state, head.sequence, &attempt, &ack)?;
                let retired = Execution {
                    phase: Phase::Retired,
                    retired_at: Some(state.now),
                    ..head.execution.clone()
                };
                transaction.execute(&head.subject(), &retired, Cause::Step)?;
                Ok((Some(head.sequence), masked))
            })
            .await?;
        self.report.retired += 1;
        let generation = head.execution.generation;
        let mut state = self.io.state();
        let retired_through = state.known().retired_through();
        for sequence in masked {
            let kind = EventKind::Retired { generation: 0, retired_through };
            state.emit(Some(sequence), Some(&attempt.identity), kind);
        }
        let kind = EventKind::Retired { generation, retired_through };
        state.emit(Some(head.sequence), Some(&attempt.identity), kind);
        Ok(Go::On)
    }
}

/// What a settled answer does to routes and deletions: its alias becomes active, older deletions on its route end, its
/// own deletion stands. Returns the pending rows that its deletion masks, which it retires.
pub(crate) fn settle_answer(
    transaction: &mut Transaction<'_>,
    state: &State,
    sequence: u64,
    attempt: &Attempt,
    ack: &Ack,
) -> Result<Vec<u64>, JournalError> {
    let now = state.now;
    let routes = &state.known().routes;
    let identity = &attempt.identity;
    let mut on_route = routes.all_leading_to(routes.terminal_after(identity, sequence));
    if let Some(alias) = routes.get(identity)
        && alias.state == AliasState::Pending
        && alias.created_by == sequence
    {
        on_route.extend(routes.all_leading_to(identity));
        let active = Alias { state: AliasState::Active, activated_at: Some(now), ..alias.clone() };
        transaction.put_alias(identity, active)?;
    }
    let reads = state.reads();
    for at in &on_route {
        for (creator, tombstone) in reads.tombstones(at)? {
            if tombstone.state == TombstoneState::Active {
                let superseded = Tombstone {
                    state: TombstoneState::Superseded,
                    superseded_by: Some(sequence),
                    superseded_at: Some(now),
                    ..tombstone
                };
                transaction.move_tombstone(at, creator, &superseded)?;
            }
        }
    }
    if ack.value != Presence::Absent {
        return Ok(Vec::new());
    }
    for (creator, tombstone) in reads.tombstones(identity)? {
        if creator == sequence {
            let active = Tombstone { state: TombstoneState::Active, activated_at: Some(now), ..tombstone };
            transaction.move_tombstone(identity, creator, &active)?;
        }
    }
    mask(transaction, state, sequence, &on_route)
}

/// Retires the rows before an answer that a deletion makes pointless: older ones of its identities.
fn mask(
    transaction: &mut Transaction<'_>,
    state: &State,
    sequence: u64,
    identities: &[Identity],
) -> Result<Vec<u64>, JournalError> {
    let reads = state.reads();
    let mut masked = Vec::new();
    for identity in identities {
        masked.extend(reads.pending_of(identity)?.into_iter().filter(|older| *older < sequence));
    }
    masked.sort_unstable();
    for older in &masked {
        let intent = reads.intent(*older)?;
        let execution = reads.execution(*older)?;
        transaction.skip_effects(*older, state.now)?;
        let retired = Execution { phase: Phase::Retired, retired_at: Some(state.now), ..execution.clone() };
        let subject = Subject { sequence: *older, intent: &intent, execution: &execution };
        transaction.execute(&subject, &retired, Cause::Mask)?;
    }
    Ok(masked)
}

/// T8 by hand: the answer is not adopted, what is left of its effects is skipped.
pub(crate) fn dismiss_answer(
    transaction: &mut Transaction<'_>,
    state: &State,
    subject: &Subject<'_>,
    dismissal: &Dismissal,
) -> Result<Identity, JournalError> {
    let Subject { sequence, execution, .. } = *subject;
    let attempt = state.reads().attempt(sequence, execution.generation)?;
    let ack = state.reads().ack(sequence, execution.generation)?;
    settle_answer(transaction, state, sequence, &attempt, &ack)?;
    transaction.skip_effects(sequence, state.now)?;
    let retired = Execution {
        phase: Phase::Retired,
        retired_at: Some(state.now),
        dismissed: Some(dismissal.clone()),
        ..execution.clone()
    };
    transaction.execute(subject, &retired, Cause::Dismissal)?;
    Ok(state.known().routes.terminal_after(&attempt.identity, sequence).clone())
}
