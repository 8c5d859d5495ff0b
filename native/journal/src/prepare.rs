//! From an intent to a generation: the first one (T1), and the next one after a conflict (T9, or T10 if the server wins).

use std::collections::BTreeSet;

use crate::action::{Answer, Call};
use crate::event::EventKind;
use crate::inspect::Stall;
use crate::io::{Interrupt, Thrown, thrown};
use crate::names::{Disposition, FailureKind, Phase, Transition, detail};
use crate::records::{Attempt, Client, Effect, EffectTarget, Execution, Identity, Meta, Presence};
use crate::report::Blocked;
use crate::rules::Cause;
use crate::sabotage;
use crate::visit::{Go, Head, Visit};

/// Rounds after which a base that keeps changing is given up.
const CAPTURE_ROUNDS_MAX: u32 = 100;

/// A confirmed base, or why its bytes could not be made.
type Captured = Result<(Presence, Option<Meta>), Thrown>;

impl Visit {
    /// Reads the confirmed base of a key together with metadata that belongs to it.
    async fn capture(&self, key: &Identity) -> Result<Captured, Interrupt> {
        for _ in 0..CAPTURE_ROUNDS_MAX {
            let meta = self.io.status(key).await?;
            match self.io.read(key).await? {
                Err(codec) => return Ok(Err(codec)),
                Ok(Presence::Absent) => {
                    // Absent is believed only if nothing was there before and after.
                    if self.io.status(key).await?.is_none() && meta.is_none() {
                        return Ok(Ok((Presence::Absent, None)));
                    }
                }
                Ok(present) => return Ok(Ok((present, meta))),
            }
        }
        let message = format!("the base of {key} was still changing after {CAPTURE_ROUNDS_MAX} reads of it");
        Err(Interrupt::Failed(Thrown { message, call: None }))
    }

    /// T1 and the push of what it froze.
    pub(crate) async fn prepare(&mut self, at: &Identity, head: &Head) -> Result<Go, Interrupt> {
        let (base, meta) = match self.capture(at).await? {
            Ok(captured) => captured,
            Err(codec) => return self.park_codec(head, &codec).await,
        };
        let project = Call::Project {
            sequence: head.sequence,
            key: at.clone(),
            mutator: head.mutator(),
            base: base.clone(),
        };
        let mine = match self.io.ask(project).await? {
            (_, Answer::Value(mine)) => mine,
            (_, Answer::Declined) => {
                self.stall(head, Stall::Declined);
                self.report.blocked = Some(Blocked::Declined { sequence: head.sequence });
                return Ok(Go::Stop);
            }
            (call, Answer::Threw(message)) => {
                self.poison(head, call);
                return self.park(head, FailureKind::Projection, detail::PROJECTION_THROW, &message).await;
            }
            (call, answer) => {
                return self.park_undecodable(head, thrown(call, answer.clone()), &answer).await;
            }
        };
        let precondition = match self.precondition(at, &base, &mine, meta).await? {
            Ok(precondition) => precondition,
            Err(failed) => return self.park_selector(head, &failed).await,
        };
        let stales = Call::Stales { sequence: head.sequence, key: at.clone(), mutator: head.mutator() };
        let targets = match self.io.ask(stales).await? {
            (_, Answer::Stales { keys, namespaces }) => normalized(keys, namespaces),
            (call, answer) => {
                self.poison(head, call);
                self.stall(head, Stall::StalesFailed);
                self.report.blocked = Some(Blocked::Failed {
                    sequence: Some(head.sequence),
                    kind: FailureKind::Projection,
                    message: thrown(call, answer).message,
                });
                return Ok(Go::Stop);
            }
        };
        let (ready, attempt) =
            self.freeze(Transition::T1, at, head, (base, mine, precondition), targets).await?;
        self.push(at, &ready, attempt).await
    }

    /// Commits the next generation of a head, and returns the head and the generation.
    async fn freeze(
        &mut self,
        transition: Transition,
        identity: &Identity,
        head: &Head,
        (base, mine, precondition): (Presence, Presence, Option<Meta>),
        targets: Vec<EffectTarget>,
    ) -> Result<(Head, Attempt), Interrupt> {
        let sequence = head.sequence;
        let generation = head.execution.generation + 1;
        let ready = Execution {
            phase: Phase::Ready,
            generation,
            attempt: 0,
            last_attempt_at: None,
            ..head.execution.clone()
        };
        let attempt = self
            .io
            .commit(transition, |transaction, state| {
                let client = state.known().client.as_ref();
                let attempt = Attempt {
                    identity: identity.clone(),
                    codec_version: state.config.codec_version,
                    base,
                    mine,
                    precondition,
                    retired_through: client.map_or(0, |client| client.retired_through),
                    idempotency_key: client
                        .map_or_else(String::new, |it: &Client| it.idempotency_key(sequence, generation))
                        .into(),
                    prepared_at: state.now,
                    conflict: None,
                };
                let effects: Vec<Effect> = targets
                    .into_iter()
                    .map(|target| Effect {
                        target,
                        created_at: state.now,
                        disposition: Disposition::Pending,
                        completed_at: None,
                    })
                    .collect();
                transaction.prepare(sequence, generation, &attempt)?;
                transaction.add_effects(sequence, &effects)?;
                transaction.execute(&head.subject(), &ready, Cause::Step)?;
                Ok((Some(sequence), attempt))
            })
            .await?;
        Ok((Head { execution: ready, ..head.clone() }, attempt))
    }

    async fn precondition(
        &self,
        key: &Identity,
        base: &Presence,
        mine: &Presence,
        base_meta: Option<Meta>,
    ) -> Result<Result<Option<Meta>, Thrown>, Interrupt> {
        if !self.io.state().config.chooses_preconditions {
            return Ok(Ok(base_meta));
        }
        let call = Call::Precondition { key: key.clone(), base: base.clone(), mine: mine.clone(), base_meta };
        Ok(match self.io.ask(call).await? {
            (_, Answer::Meta(meta)) => Ok(meta),
            (id, answer) => Err(thrown(id, answer)),
        })
    }

    /// After a conflict: fresh base, merge, and then the next generation or the end.
    pub(crate) async fn refresh(&mut self, at: &Identity, head: &Head) -> Result<Go, Interrupt> {
        let met = self.attempt(head)?;
        if let Some(go) = self.decoded(head, &met).await? {
            return Ok(go);
        }
        if let Some(go) = self.frozen_key(at, head, &met.identity).await? {
            return Ok(go);
        }
        self.unstall(head);
        let key = met.identity.clone();
        if let Err(failed) = self.io.act_done(Call::FreshRead(key.clone())).await? {
            return Err(Interrupt::Failed(failed));
        }
        let (theirs, meta) = match self.capture(&key).await? {
            Ok(captured) => captured,
            Err(codec) => return self.park_codec(head, &codec).await,
        };
        let merge = Call::Merge {
            key: key.clone(),
            codec_version: met.codec_version,
            base: met.base.clone(),
            mine: met.mine.clone(),
            theirs: theirs.clone(),
        };
        let mine = match self.io.ask(merge).await? {
            (_, Answer::Value(mine)) => mine,
            (_, Answer::ServerWins) => return self.yield_to_server(&key, head).await,
            (id, Answer::Codec(message)) => {
                return self.park_codec(head, &Thrown { message, call: Some(id) }).await;
            }
            (id, answer) => {
                let message = thrown(id, answer).message;
                return self.park(head, FailureKind::Conflict, detail::MERGE_FAILED, &message).await;
            }
        };
        let precondition = match self.precondition(&key, &theirs, &mine, meta).await? {
            Ok(precondition) => precondition,
            Err(failed) => return self.park_selector(head, &failed).await,
        };
        let targets = self.effects_once_more(&key, head).await?;
        let (ready, attempt) =
            self.freeze(Transition::T9, &key, head, (theirs, mine, precondition), targets).await?;
        self.push(at, &ready, attempt).await
    }

    /// None: effects are captured once, before the first push.
    async fn effects_once_more(&self, key: &Identity, head: &Head) -> Result<Vec<EffectTarget>, Interrupt> {
        if !sabotage::is("effects-once-more") {
            return Ok(Vec::new());
        }
        let stales = Call::Stales { sequence: head.sequence, key: key.clone(), mutator: head.mutator() };
        match self.io.ask(stales).await? {
            (_, Answer::Stales { keys, namespaces }) => Ok(normalized(keys, namespaces)),
            _ => Ok(Vec::new()),
        }
    }

    /// T10: the server's value stands, and nothing here has had an effect.
    async fn yield_to_server(&mut self, identity: &Identity, head: &Head) -> Result<Go, Interrupt> {
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let skipped = self
            .io
            .commit(Transition::T10, |transaction, state| {
                let skipped = transaction.skip_effects(sequence, state.now)?;
                let retired = Execution {
                    phase: Phase::Retired,
                    retired_at: Some(state.now),
                    ..head.execution.clone()
                };
                transaction.execute(&head.subject(), &retired, Cause::Step)?;
                Ok((Some(sequence), skipped))
            })
            .await?;
        self.report.retired += 1;
        let mut state = self.io.state();
        for index in skipped {
            state.emit(Some(sequence), Some(identity), EventKind::EffectSkipped { generation, index });
        }
        let retired_through = state.known().retired_through();
        state.emit(Some(sequence), Some(identity), EventKind::Retired { generation, retired_through });
        Ok(Go::On)
    }

    /// Has all bytes of a generation read, so that a codec failure is found before the push, and before the lane is taken.
    pub(crate) async fn decoded(&mut self, head: &Head, attempt: &Attempt) -> Result<Option<Go>, Interrupt> {
        let call = Call::Decode {
            sequence: head.sequence,
            mutator: head.mutator(),
            generation: head.execution.generation,
            codec_version: attempt.codec_version,
            base: attempt.base.clone(),
            mine: attempt.mine.clone(),
        };
        match self.io.ask(call).await? {
            (_, Answer::Done) => Ok(None),
            (id, answer) => self.park_undecodable(head, thrown(id, answer.clone()), &answer).await.map(Some),
        }
    }

    async fn park_codec(&mut self, head: &Head, codec: &Thrown) -> Result<Go, Interrupt> {
        self.park(head, FailureKind::Codec, detail::VALUE_CODEC_PRE_ACK, &codec.message).await
    }

    async fn park_selector(&mut self, head: &Head, failed: &Thrown) -> Result<Go, Interrupt> {
        self.park(head, FailureKind::Conflict, detail::SELECTOR_FAILED, &failed.message).await
    }

    async fn park_undecodable(
        &mut self,
        head: &Head,
        failed: Thrown,
        answer: &Answer,
    ) -> Result<Go, Interrupt> {
        let detail = match answer {
            Answer::ArgsCodec(_) => detail::ARGS_CODEC,
            Answer::MutatorMissing(_) => detail::MUTATOR_MISSING,
            _ => detail::VALUE_CODEC_PRE_ACK,
        };
        self.park(head, FailureKind::Codec, detail, &failed.message).await
    }

    /// Shows the application's own error to those who listen for it.
    fn poison(&self, head: &Head, call: crate::action::CallId) {
        self.io.state().actions.push_back(crate::action::Action::Poison { sequence: head.sequence, call });
    }
}

/// Effects without repetition: namespaces by name, then keys by identity.
fn normalized(keys: Vec<Identity>, namespaces: Vec<std::sync::Arc<str>>) -> Vec<EffectTarget> {
    let targets: BTreeSet<EffectTarget> = namespaces
        .into_iter()
        .map(EffectTarget::Namespace)
        .chain(keys.into_iter().map(EffectTarget::Key))
        .collect();
    targets.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_sorted_and_named_once() {
        let targets = normalized(
            vec![Identity::new("b", "1"), Identity::new("a", "2"), Identity::new("b", "1")],
            vec!["z".into(), "y".into(), "z".into()],
        );
        assert_eq!(
            targets,
            [
                EffectTarget::Namespace("y".into()),
                EffectTarget::Namespace("z".into()),
                EffectTarget::Key(Identity::new("a", "2")),
                EffectTarget::Key(Identity::new("b", "1")),
            ]
        );
    }
}
