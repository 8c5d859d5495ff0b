//! The push of a frozen generation, and what each of its answers makes durable: T2 to T5b.

use crate::action::{Accepted, Answer, Call, PushRequest};
use crate::event::{EventKind, FailureNote};
use crate::io::{Interrupt, thrown};
use crate::names::{AliasState, FailureKind, PendingState, Phase, Transition, detail};
use crate::records::{Ack, Alias, Attempt, Conflict, Execution, Identity, Meta, Presence};
use crate::report::Blocked;
use crate::rules::Cause;
use crate::sabotage;
use crate::state::State;
use crate::transaction::Failed;
use crate::visit::{Go, Head, Visit};

/// Equal conflicts in a row after which a mutation is given up.
const EQUAL_CONFLICTS_MAX: u32 = 3;

/// What an answer's target asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Admission {
    /// No alias.
    NoEdge,
    /// The pushed identity leads to this one.
    Edge(Identity),
    /// An alias that can't be: the detail of the failure.
    Violation(&'static str),
}

impl Visit {
    /// Pushes the frozen generation of a head that is READY or INFLIGHT.
    pub(crate) async fn push(
        &mut self,
        at: &Identity,
        head: &Head,
        attempt: Attempt,
    ) -> Result<Go, Interrupt> {
        if let Some(go) = self.decoded(head, &attempt).await? {
            return Ok(go);
        }
        if let Some(go) = self.frozen_key(at, head, &attempt.identity).await? {
            return Ok(go);
        }
        let inflight = self.take_lane(head).await?;
        let head = &inflight;
        let Execution { generation, attempt: pushed, .. } = head.execution;
        let kind = EventKind::Attempted { generation, attempt: pushed + 1 };
        self.io.state().emit(Some(head.sequence), Some(&attempt.identity), kind);
        let request = self.request(head, &attempt);
        let (call, answer) = match self.io.act(Call::Push(Box::new(request))).await {
            Err(Interrupt::Cancelled) if sabotage::is("note-a-cancelled-push") => {
                return self.failed(head, &attempt.identity, "cancelled").await;
            }
            answered => answered?,
        };
        self.report.pushes += 1;
        match answer {
            Answer::Accepted(accepted) => self.accepted(head, &attempt, accepted).await,
            Answer::Conflict(meta) => self.conflicted(head, attempt, meta).await,
            Answer::Rejected(reason) => {
                let kind = FailureKind::Transport;
                let failed = Failed { kind, detail: detail::PUSH_REJECTED, message: &reason };
                self.park_pushed(head, &failed, false).await
            }
            other => self.failed(head, &attempt.identity, &thrown(call, other).message).await,
        }
    }

    /// A generation as it is pushed, the same each time.
    pub(crate) fn request(&self, head: &Head, attempt: &Attempt) -> PushRequest {
        let mut idempotency_key = attempt.idempotency_key.clone();
        if sabotage::is("new-key-on-resend") && head.execution.attempt > 0 {
            idempotency_key = format!("{idempotency_key}.{}", head.execution.attempt).into();
        }
        PushRequest {
            key: attempt.identity.clone(),
            client: self.io.state().config.client.clone(),
            sequence: head.sequence,
            generation: head.execution.generation,
            retired_through: attempt.retired_through,
            idempotency_key,
            codec_version: attempt.codec_version,
            base: attempt.base.clone(),
            mine: attempt.mine.clone(),
            base_meta: attempt.precondition.clone(),
        }
    }

    /// T2, unless the generation is out already.
    async fn take_lane(&self, head: &Head) -> Result<Head, Interrupt> {
        if head.execution.phase == Phase::Inflight {
            return Ok(head.clone());
        }
        let inflight = Execution { phase: Phase::Inflight, ..head.execution.clone() };
        self.io
            .commit(Transition::T2, |transaction, _| {
                transaction.execute(&head.subject(), &inflight, Cause::Step)?;
                Ok((Some(head.sequence), ()))
            })
            .await?;
        Ok(Head { execution: inflight, ..head.clone() })
    }

    /// T3: the push failed, and will be tried again unless it was the last time.
    async fn failed(&mut self, head: &Head, identity: &Identity, message: &str) -> Result<Go, Interrupt> {
        let kind = FailureKind::Transport;
        if self.is_last_try(head) {
            let failed = Failed { kind, detail: detail::ATTEMPTS_EXHAUSTED, message };
            return self.park_pushed(head, &failed, true).await;
        }
        let failed = Failed { kind, detail: detail::PUSH_FAILED, message };
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let note = self
            .io
            .commit(Transition::T3, |transaction, state| {
                transaction.fail(sequence, generation, &failed, state.now)?;
                let ready = answered(head, Phase::Ready, state.now);
                transaction.execute(&head.subject(), &ready, Cause::Step)?;
                Ok((Some(sequence), FailureNote::of(&failed, state.now)))
            })
            .await?;
        let kind = EventKind::Failed { generation, state: PendingState::Pending, failure: note };
        self.io.state().emit(Some(sequence), Some(identity), kind);
        self.report.blocked = Some(Blocked::Failed {
            sequence: Some(sequence),
            kind: FailureKind::Transport,
            message: message.to_owned(),
        });
        Ok(Go::Stop)
    }

    fn is_last_try(&self, head: &Head) -> bool {
        let state = self.io.state();
        let tries = head.execution.attempt.saturating_add(1);
        let age_ms = state.now.saturating_sub(head.intent.created_at);
        state.config.attempts_max.is_some_and(|max| tries >= max)
            || state.config.age_max_ms.is_some_and(|max| age_ms > max)
    }

    /// T5b: given up with the push counted.
    async fn park_pushed(
        &mut self,
        head: &Head,
        failed: &Failed<'_>,
        remote_outcome_unknown: bool,
    ) -> Result<Go, Interrupt> {
        let now = self.io.state().now;
        let parked = Execution { remote_outcome_unknown, ..answered(head, Phase::Parked, now) };
        self.park_as(Transition::T5b, head, parked, failed, None).await
    }

    /// T4: the receipt of a conflict; T4b if it is the last of three equal ones.
    async fn conflicted(
        &mut self,
        head: &Head,
        attempt: Attempt,
        meta: Option<Meta>,
    ) -> Result<Go, Interrupt> {
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let (received_at, unchanged) = {
            let state = self.io.state();
            let conflict = Conflict { meta: meta.clone(), received_at: state.now };
            (state.now, {
                let equal = equal_conflicts(&state, sequence, generation, &conflict)?;
                equal >= EQUAL_CONFLICTS_MAX && !sabotage::is("never-enough-conflicts")
            })
        };
        let identity = attempt.identity.clone();
        let receipt = Attempt { conflict: Some(Conflict { meta: meta.clone(), received_at }), ..attempt };
        let observed = EventKind::ConflictObserved { generation, server: meta };
        if unchanged {
            let failed = Failed {
                kind: FailureKind::Conflict,
                detail: detail::CONFLICT_UNCHANGED_BOUND,
                message: "the server answered three generations in a row with the same conflict",
            };
            let parked = answered(head, Phase::Parked, received_at);
            return self.park_as(Transition::T4b, head, parked, &failed, Some((&receipt, observed))).await;
        }
        self.io
            .commit(Transition::T4, |transaction, _| {
                transaction.receive_conflict(sequence, generation, &receipt)?;
                let refresh = answered(head, Phase::RefreshRequired, received_at);
                transaction.execute(&head.subject(), &refresh, Cause::Step)?;
                Ok((Some(sequence), ()))
            })
            .await?;
        self.io.state().emit(Some(sequence), Some(&identity), observed);
        self.report.blocked = Some(Blocked::Conflict { sequence });
        Ok(Go::Stop)
    }

    /// T5: the server's answer, after which nothing is pushed again; T5b if its target can't be.
    async fn accepted(
        &mut self,
        head: &Head,
        attempt: &Attempt,
        accepted: Accepted,
    ) -> Result<Go, Interrupt> {
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let source = &attempt.identity;
        let target = accepted.target.filter(|_| accepted.value != Presence::Absent);
        let admission = admit(&mut self.io.state(), (sequence, generation), source, target.as_ref());
        if let Admission::Violation(detail) = admission {
            let to = target.map_or_else(String::new, |target| target.to_string());
            let message = format!("the server answered that {source} is {to}");
            let failed = Failed { kind: FailureKind::Protocol, detail, message: &message };
            let went = self.park_pushed(head, &failed, true).await?;
            self.io.state().seen_targets.remove(&(sequence, generation));
            return Ok(went);
        }
        let present = accepted.value != Presence::Absent;
        self.io
            .commit(Transition::T5, |transaction, state| {
                let ack = Ack {
                    value: accepted.value,
                    codec_version: accepted.codec_version,
                    etag: accepted.etag,
                    target,
                    received_at: state.now,
                };
                transaction.acknowledge(sequence, generation, source, &ack)?;
                if let Admission::Edge(target) = admission
                    && state.known().routes.get(source).is_none()
                {
                    let alias = Alias {
                        target,
                        state: AliasState::Pending,
                        created_by: sequence,
                        created_at: state.now,
                        activated_at: None,
                    };
                    transaction.put_alias(source, alias)?;
                }
                let acked = answered(head, Phase::Acked, state.now);
                transaction.execute(&head.subject(), &acked, Cause::Step)?;
                Ok((Some(sequence), ()))
            })
            .await?;
        self.report.acks += 1;
        let mut state = self.io.state();
        // The answer is durable: the generation is never pushed again, so there is nothing left to compare.
        state.seen_targets.remove(&(sequence, generation));
        state.emit(Some(sequence), Some(source), EventKind::Acknowledged { generation, present });
        Ok(Go::On)
    }
}

/// The execution after its push was answered.
fn answered(head: &Head, phase: Phase, now: i64) -> Execution {
    Execution {
        phase,
        attempt: head.execution.attempt + 1,
        last_attempt_at: Some(now),
        ..head.execution.clone()
    }
}

/// How many of the last generations, this one included, met this same conflict.
fn equal_conflicts(
    state: &State,
    sequence: u64,
    generation: u32,
    conflict: &Conflict,
) -> Result<u32, Interrupt> {
    let mut equal = 1;
    while equal < EQUAL_CONFLICTS_MAX && generation > equal {
        let earlier = state.reads().attempt(sequence, generation - equal)?;
        if earlier.conflict.as_ref().map(Conflict::version) != Some(conflict.version()) {
            break;
        }
        equal += 1;
    }
    Ok(equal)
}

/// Judges an answer's target; the first rule that applies decides.
fn admit(
    state: &mut State,
    generation: (u64, u32),
    source: &Identity,
    target: Option<&Identity>,
) -> Admission {
    let Some(target) = target.filter(|target| *target != source) else { return Admission::NoEdge };
    // Also of an answer that is against another rule: it may not become durable, and the push is answered again.
    let seen = state.seen_targets.entry(generation).or_insert_with(|| target.clone());
    let differs = seen != target && !sabotage::is("forget-a-seen-target");
    if target.namespace != source.namespace {
        return Admission::Violation(detail::ALIAS_CROSS_NAMESPACE);
    }
    let routes = &state.known().routes;
    if routes.get(source).is_some_and(|edge| edge.target != *target) {
        return Admission::Violation(detail::ALIAS_RETARGET);
    }
    if routes.leads_to(target, source) {
        return Admission::Violation(detail::ALIAS_CYCLE);
    }
    if differs {
        return Admission::Violation(detail::ALIAS_RETRY_TARGET_MISMATCH);
    }
    Admission::Edge(target.clone())
}
