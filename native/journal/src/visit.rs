//! One visit of a drain to an identity: which head is next, when it may go, and what is noted about it.
//!
//! The steps themselves are in `prepare`, `push` and `settle`.

use std::collections::{BTreeMap, HashSet};

use crate::action::Mutator;
use crate::backoff;
use crate::event::{EventKind, FailureNote};
use crate::inspect::Stall;
use crate::io::{Interrupt, Io, KeyAnswer, Thrown};
use crate::locks::Guard;
use crate::names::{FailureKind, PendingState, Phase, Transition};
use crate::records::{Attempt, Execution, Identity, Intent};
use crate::report::{Blocked, IdentityReport};
use crate::rules::Cause;
use crate::sabotage;
use crate::transaction::{Failed, Subject};

/// The mutation at the head of an identity.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) execution: Execution,
}

impl Head {
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { sequence: self.sequence, intent: &self.intent, execution: &self.execution }
    }

    pub(crate) fn mutator(&self) -> Mutator {
        Mutator {
            name: self.intent.mutator.clone(),
            version: self.intent.mutator_version,
            args: self.intent.args.clone(),
        }
    }
}

/// Whether a visit goes on after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Go {
    /// Look for the next head.
    On,
    /// Nothing more can be done here in this pass.
    Stop,
}

/// A failure after the answer, which the caller of a keyed drain sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) kind: FailureKind,
    pub(crate) thrown: Thrown,
    pub(crate) others: Vec<Thrown>,
}

/// A visit to an identity.
pub(crate) struct Visit {
    pub(crate) io: Io,
    /// Mutations behind it came later than the pass.
    bound: u64,
    /// Whether heads wait for their time.
    gated: bool,
    /// Heads that have drawn their time in this pass.
    drawn: HashSet<u64>,
    /// Where to look for the first pending row of an identity: all before it are gone.
    floors: BTreeMap<Identity, u64>,
    pub(crate) report: IdentityReport,
    pub(crate) kept: Option<Kept>,
    /// Every identity that the visit went on to.
    pub(crate) visited: Vec<Identity>,
}

impl Visit {
    pub(crate) fn new(io: Io, identity: Identity, bound: u64, gated: bool) -> Self {
        Self {
            io,
            bound,
            gated,
            drawn: HashSet::new(),
            floors: BTreeMap::new(),
            report: IdentityReport::new(identity),
            kept: None,
            visited: Vec::new(),
        }
    }

    /// Leaves what comes from now on to the next pass.
    pub(crate) fn set_bound(&mut self) {
        self.bound = self.io.state().known().allocated();
    }

    /// Works on an identity, whose lane is leased and whose key is at hand, until nothing more can be done.
    pub(crate) async fn work(&mut self, start: Identity, lease: &Guard) -> Result<(), Interrupt> {
        let mut at = start;
        loop {
            lease.work_on(&at);
            if self.visited.last() != Some(&at) {
                self.visited.push(at.clone());
            }
            let Some(head) = self.choose(&at)? else { return Ok(()) };
            if self.gated && !self.is_due(&head).await? {
                return Ok(());
            }
            if head.execution.phase != Phase::RefreshRequired {
                self.unstall(&head);
            }
            let went = self.dispatch(&at, &head).await;
            if let Err(Interrupt::Failed(thrown)) = &went {
                self.note_failed(&head, thrown);
            }
            if went? == Go::Stop {
                return Ok(());
            }
            // The head may have made the identity an alias; the rest of its rows wait at the new end of the route.
            at = self.io.state().terminal(&at);
        }
    }

    async fn dispatch(&mut self, at: &Identity, head: &Head) -> Result<Go, Interrupt> {
        match head.execution.phase {
            Phase::Unprepared => self.prepare(at, head).await,
            Phase::Ready | Phase::Inflight => {
                let attempt = self.attempt(head)?;
                self.push(at, head, attempt).await
            }
            Phase::RefreshRequired => self.refresh(at, head).await,
            Phase::Acked => self.adopt(at, head).await,
            Phase::EffectsPending => self.apply_effects(at, head).await,
            // Not pending, so never chosen.
            Phase::Parked | Phase::Retired => Ok(Go::Stop),
        }
    }

    /// The frozen generation of a head.
    pub(crate) fn attempt(&self, head: &Head) -> Result<Attempt, Interrupt> {
        Ok(self.io.state().reads().attempt(head.sequence, head.execution.generation)?)
    }

    /// The head of an identity: the row that owns the lane if it lives here, else the lowest pending one.
    pub(crate) fn choose(&mut self, at: &Identity) -> Result<Option<Head>, Interrupt> {
        let mut state = self.io.state();
        let owner = state.cache()?.owners.get(&at.namespace).copied();
        let owner = owner.filter(|_| !sabotage::is("overtake-in-the-lane"));
        let state = &*state;
        let sequence = if let Some(owner) = owner {
            let intent = state.reads().intent(owner)?;
            if state.terminal(&intent.identity) != *at {
                self.report.blocked = Some(Blocked::Owner { sequence: owner });
                return Ok(None);
            }
            owner
        } else {
            let mut lowest: Option<u64> = None;
            for identity in state.known().routes.all_leading_to(at) {
                let floor = self.floors.get(&identity).copied().unwrap_or(0);
                if let Some(first) = state.reads().first_pending(&identity, floor)? {
                    self.floors.insert(identity, first);
                    lowest = Some(lowest.map_or(first, |lowest| lowest.min(first)));
                }
            }
            match lowest.filter(|sequence| *sequence <= self.bound || sabotage::is("chase-later-intents")) {
                Some(sequence) => sequence,
                None => return Ok(None),
            }
        };
        let reads = state.reads();
        Ok(Some(Head { sequence, intent: reads.intent(sequence)?, execution: reads.execution(sequence)? }))
    }

    /// Whether the time of a head has come. Drawn once for each head of a pass.
    pub(crate) async fn is_due(&mut self, head: &Head) -> Result<bool, Interrupt> {
        if self.drawn.contains(&head.sequence) {
            return Ok(true);
        }
        let (failures, now) = {
            let state = self.io.state();
            let post_ack = head.execution.phase.is_post_ack();
            let failures = if post_ack { state.reads().failures(head.sequence)? } else { Vec::new() };
            (failures, state.now)
        };
        let Some((count, since)) = backoff::last_try(&head.execution, &failures) else { return Ok(true) };
        // A clock that was set back must not block.
        if since > now {
            return Ok(true);
        }
        self.drawn.insert(head.sequence);
        let jitter = self.jitter((head.sequence, count)).await?;
        let eligible_at = since.saturating_add(i64::try_from(jitter).unwrap_or(i64::MAX));
        if now >= eligible_at {
            return Ok(true);
        }
        self.report.blocked = Some(Blocked::Backoff { sequence: head.sequence, eligible_at });
        Ok(false)
    }

    /// Draws the wait of a head after so many failures.
    async fn jitter(&self, of: (u64, u32)) -> Result<u64, Interrupt> {
        #[cfg(feature = "sabotage")]
        if let Some(jitter) = self.io.state().jitters.get(&of) {
            return Ok(*jitter);
        }
        let jitter = self.io.draw(backoff::window_ms(of.1)).await?;
        #[cfg(feature = "sabotage")]
        if sabotage::is("keep-the-jitter") {
            self.io.state().jitters.insert(of, jitter);
        }
        Ok(jitter)
    }

    /// Looks for the key that a generation was frozen with, which may have become the source of an alias.
    pub(crate) async fn frozen_key(
        &mut self,
        at: &Identity,
        head: &Head,
        frozen: &Identity,
    ) -> Result<Option<Go>, Interrupt> {
        if frozen == at {
            return Ok(None);
        }
        match self.io.key_of(frozen).await? {
            KeyAnswer::Known => Ok(None),
            KeyAnswer::Unavailable => {
                self.report.blocked = Some(Blocked::Unavailable { identity: frozen.clone() });
                Ok(Some(Go::Stop))
            }
            KeyAnswer::Failed(detail, thrown) => {
                self.park(head, FailureKind::Identity, detail, &thrown.message).await?;
                Ok(Some(Go::Stop))
            }
        }
    }

    /// T11: gives a head up before an answer. What it attempted stays as it was.
    pub(crate) async fn park(
        &mut self,
        head: &Head,
        kind: FailureKind,
        detail: &str,
        message: &str,
    ) -> Result<Go, Interrupt> {
        let old = &head.execution;
        let may_be_applied = match old.phase {
            Phase::Inflight => true,
            Phase::Ready => old.attempt > 0,
            _ => false,
        };
        let remote_outcome_unknown = may_be_applied
            && !sabotage::is("forget-that-it-was-pushed")
            && matches!(kind, FailureKind::Identity | FailureKind::Codec);
        let parked = Execution { remote_outcome_unknown, ..old.clone() };
        self.park_as(Transition::T11, head, parked, &Failed { kind, detail, message }, None).await
    }

    /// Parks a head as `parked` says, with what else belongs into the transaction.
    pub(crate) async fn park_as(
        &mut self,
        transition: Transition,
        head: &Head,
        parked: Execution,
        failed: &Failed<'_>,
        conflict: Option<(&Attempt, EventKind)>,
    ) -> Result<Go, Interrupt> {
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let note = self
            .io
            .commit(transition, |transaction, state| {
                let id = transaction.fail(sequence, generation, failed, state.now)?;
                if let Some((receipt, _)) = &conflict {
                    transaction.receive_conflict(sequence, generation, receipt)?;
                }
                let parked = Execution { phase: Phase::Parked, active_failure: Some(id), ..parked.clone() };
                transaction.execute(&head.subject(), &parked, Cause::Failure(failed.kind))?;
                Ok((Some(sequence), FailureNote::of(failed, state.now)))
            })
            .await?;
        self.report.parked.push(sequence);
        let identity = self.told_identity(head)?;
        let mut state = self.io.state();
        if let Some((_, observed)) = conflict {
            state.emit(Some(sequence), Some(&identity), observed);
        }
        state.emit(Some(sequence), Some(&identity), EventKind::Parked { generation, failure: note });
        Ok(Go::On)
    }

    /// T12: notes a failure after the answer. The phase stays; the caller of a keyed drain sees the first one.
    pub(crate) async fn note(
        &mut self,
        head: &Head,
        kind: FailureKind,
        detail: &str,
        thrown: Thrown,
    ) -> Result<(), Interrupt> {
        if sabotage::is("park-after-the-answer") {
            self.park(head, kind, detail, &thrown.message).await?;
            return Ok(());
        }
        let sequence = head.sequence;
        let generation = head.execution.generation;
        let failed = Failed { kind, detail, message: &thrown.message };
        let note = self
            .io
            .commit(Transition::T12, |transaction, state| {
                transaction.fail(sequence, generation, &failed, state.now)?;
                Ok((Some(sequence), FailureNote::of(&failed, state.now)))
            })
            .await?;
        let identity = self.told_identity(head)?;
        if let Some(pending) = PendingState::of(head.execution.phase) {
            let kind = EventKind::Failed { generation, state: pending, failure: note };
            self.io.state().emit(Some(sequence), Some(&identity), kind);
        }
        self.report.blocked =
            Some(Blocked::Failed { sequence: Some(sequence), kind, message: thrown.message.clone() });
        if kind.is_post_ack() {
            match &mut self.kept {
                Some(first) => first.others.push(thrown),
                None => self.kept = Some(Kept { kind, thrown, others: Vec::new() }),
            }
        }
        Ok(())
    }

    /// Forgets why an earlier dispatch of the head came to nothing: this one has its keys and goes ahead.
    pub(crate) fn unstall(&self, head: &Head) {
        self.io.state().stalls.remove(&head.sequence);
    }

    /// Why the head can't go on, where no row tells.
    pub(crate) fn stall(&mut self, head: &Head, stall: Stall) {
        self.io.state().stalls.insert(head.sequence, stall);
    }

    fn note_failed(&mut self, head: &Head, thrown: &Thrown) {
        // A failure without a call is the storage's, which says nothing about the row.
        if head.execution.phase.is_pre_ack() && thrown.call.is_some() {
            self.stall(head, Stall::PortFailed);
        }
        self.report.blocked = Some(Blocked::Failed {
            sequence: Some(head.sequence),
            kind: FailureKind::Persistence,
            message: thrown.message.clone(),
        });
    }

    /// The identity under which a mutation is told of: where it was enqueued, later where its generation is pushed.
    pub(crate) fn told_identity(&self, head: &Head) -> Result<Identity, Interrupt> {
        if head.execution.generation == 0 {
            return Ok(head.intent.identity.clone());
        }
        Ok(self.attempt(head)?.identity)
    }
}

impl FailureNote {
    /// A failure that was just noted.
    pub(crate) fn of(failed: &Failed<'_>, now: i64) -> Self {
        use crate::text::{DETAIL_BYTES_MAX, MESSAGE_BYTES_MAX, sanitized};
        Self {
            kind: failed.kind,
            detail: sanitized(failed.detail, DETAIL_BYTES_MAX),
            message: sanitized(failed.message, MESSAGE_BYTES_MAX),
            occurred_at: now,
        }
    }
}
