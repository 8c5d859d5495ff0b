//! The rules of the journal by name, and those that judge one record or one change of it.
//!
//! They are run on the one path on which rows are written, and on every row when a journal is opened.

use crate::names::{AliasState, Disposition, FailureKind, Phase, TombstoneState, named};
use crate::records::{Ack, Alias, Client, Effect, Execution, Tombstone};
use crate::sabotage;

named! {
    /// A rule that rows and changes of rows keep.
    Rule {
        /// The format version is one this release reads.
        FormatVersion = "format-version",
        /// A key is of a known class, a value has its checksum and its fields.
        RowReadable = "row-readable",
        /// confirmed ≤ retired ≤ allocated, none of them ever goes back, the rest never changes.
        ClientOrdered = "client-ordered",
        /// A journal belongs to one client.
        ClientSame = "client-same",
        /// Intents are numbered without holes from the checkpoint to the last allocated sequence, each once.
        SequenceGapless = "sequence-gapless",
        /// Each intent has one execution, and each row of a mutation has its intent.
        MutationWhole = "mutation-whole",
        /// retiredThrough is the longest prefix of settled rows.
        PrefixTrue = "prefix-true",
        /// Attempt 0 has no time, generation 0 has no attempt, a failure is active exactly when parked, and so on.
        ExecutionFacts = "execution-facts",
        /// A change of phase, generation or attempt is one of the state machine's.
        EdgeKnown = "edge-known",
        /// A generation that is current has its attempt row; generations have no gap, one identity, their derived keys.
        AttemptKept = "attempt-kept",
        /// A conflict's receipt is on the generations that met one, and on no other.
        ReceiptPlaced = "receipt-placed",
        /// An acked row has the answer of its current generation.
        AckKept = "ack-kept",
        /// Attempts, receipts and answers are written once.
        WrittenOnce = "written-once",
        /// A parked row has the failure that parked it.
        ParkedFailure = "parked-failure",
        /// A retired row has no pending effect.
        EffectsSettled = "effects-settled",
        /// Effects are numbered from 0, complete exactly when settled, and settle once.
        EffectFacts = "effect-facts",
        /// A lane has one owner.
        LaneOwnedOnce = "lane-owned-once",
        /// An alias leads elsewhere in its namespace, never to another target, never in a circle.
        AliasSound = "alias-sound",
        /// A pending alias or tombstone belongs to a mutation that is acked and not retired.
        PendingCreator = "pending-creator",
        /// A tombstone moves forward, and is complete for its state.
        TombstoneSound = "tombstone-sound",
        /// An index has exactly the rows that it should have.
        IndexTrue = "index-true",
    }
}

/// A rule, and the row that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}: {row}")]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The row, and what is wrong with it.
    pub row: String,
}

/// Whether the rule holds.
pub(crate) type Verdict = Result<(), Rule>;

fn holds(condition: bool, rule: Rule) -> Verdict {
    if condition { Ok(()) } else { Err(rule) }
}

/// The client row by itself.
pub(crate) fn client_is_ordered(client: &Client) -> Verdict {
    holds(
        client.confirmed_through <= client.retired_through && client.retired_through <= client.allocated,
        Rule::ClientOrdered,
    )
}

/// A change of the client row; there is none before the first.
pub(crate) fn client_moves_forward(old: Option<&Client>, new: &Client) -> Verdict {
    client_is_ordered(new)?;
    let Some(old) = old else { return Ok(()) };
    holds(
        old.id == new.id
            && old.epoch == new.epoch
            && old.created_at == new.created_at
            && old.allocated <= new.allocated
            && old.retired_through <= new.retired_through
            && old.confirmed_through <= new.confirmed_through,
        Rule::ClientOrdered,
    )
}

/// An execution row by itself.
pub(crate) fn execution_has_its_facts(execution: &Execution) -> Verdict {
    let Execution { phase, generation, attempt, last_attempt_at, .. } = *execution;
    let prepared = match phase {
        Phase::Unprepared => generation == 0,
        // A row is parked before or after its first generation, and retired before it only by a tombstone's mask.
        Phase::Parked | Phase::Retired => true,
        _ => generation > 0,
    };
    let attempted = match phase {
        Phase::RefreshRequired | Phase::Acked | Phase::EffectsPending => attempt > 0,
        _ => true,
    };
    holds(
        prepared
            && attempted
            && (attempt == 0) == last_attempt_at.is_none()
            && (generation > 0 || attempt == 0)
            && (phase == Phase::Parked) == execution.active_failure.is_some()
            && (phase == Phase::Parked || !execution.remote_outcome_unknown)
            && (phase == Phase::Retired) == execution.retired_at.is_some()
            && (matches!(phase, Phase::Parked | Phase::Retired) || execution.dismissed.is_none()),
        Rule::ExecutionFacts,
    )
}

/// How an execution comes to change, as far as the rows before and after do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The drain's own step.
    Step,
    /// The failure that parks it.
    Failure(FailureKind),
    /// A tombstone that becomes active masks it.
    Mask,
    /// A person dismisses it.
    Dismissal,
}

/// A change of an execution row: one of the edges of the state machine, or none at all.
#[expect(clippy::match_same_arms, reason = "read beside the table of edges, each arm is a row of it")]
pub(crate) fn edge_is_known(old: &Execution, new: &Execution, cause: Cause) -> Verdict {
    use FailureKind::{Codec, Conflict, Identity, Projection, Protocol, Transport};
    use Phase::{Acked, EffectsPending, Inflight, Parked, Ready, RefreshRequired, Retired, Unprepared};

    execution_has_its_facts(new)?;
    if old == new {
        return Ok(());
    }
    let same_generation = old.generation == new.generation;
    let kept = same_generation && old.attempt == new.attempt && old.last_attempt_at == new.last_attempt_at;
    let pushed = same_generation && old.attempt.checked_add(1) == Some(new.attempt);
    let next_generation = old.generation.checked_add(1) == Some(new.generation)
        && new.attempt == 0
        && new.last_attempt_at.is_none();
    let dismissed = old.dismissed.is_none() && new.dismissed.is_some();
    let known = match (old.phase, new.phase, cause) {
        (Unprepared | RefreshRequired, Ready, Cause::Step) => next_generation,
        (Ready, Inflight, Cause::Step)
        | (Acked, EffectsPending, Cause::Step)
        | (EffectsPending | RefreshRequired, Retired, Cause::Step) => kept,
        (Inflight, Ready | RefreshRequired | Acked, Cause::Step) => pushed,
        (Inflight, Parked, Cause::Failure(Identity | Codec)) => kept,
        (Inflight, Parked, Cause::Failure(Conflict | Protocol | Transport)) => pushed,
        (Unprepared, Parked, Cause::Failure(Identity | Codec | Projection | Conflict))
        | (Ready, Parked, Cause::Failure(Identity | Codec))
        | (RefreshRequired, Parked, Cause::Failure(Identity | Codec | Conflict)) => kept,
        (_, Retired, Cause::Mask) => old.phase.is_pre_ack() && !old.owns_lane() && kept,
        (Acked | EffectsPending, Parked, _) if sabotage::is("park-after-the-answer") => kept,
        (Acked | EffectsPending, Retired, Cause::Dismissal) | (Unprepared, Parked, Cause::Dismissal) => {
            kept && dismissed
        }
        (Parked, Parked, Cause::Dismissal) => {
            kept && dismissed
                && old.active_failure == new.active_failure
                && old.remote_outcome_unknown == new.remote_outcome_unknown
        }
        _ => false,
    };
    let undismissed = cause == Cause::Dismissal || old.dismissed == new.dismissed;
    holds(known && undismissed, Rule::EdgeKnown)
}

/// An effect by itself.
pub(crate) fn effect_has_its_facts(effect: &Effect) -> Verdict {
    holds((effect.disposition == Disposition::Pending) == effect.completed_at.is_none(), Rule::EffectFacts)
}

/// An answer by itself, for a generation of `namespace`.
pub(crate) fn ack_has_its_facts(ack: &Ack, namespace: &str) -> Verdict {
    let sound = ack.target.as_ref().is_none_or(|target| {
        matches!(ack.value, crate::records::Presence::Present(_)) && *target.namespace == *namespace
    });
    holds(sound, Rule::AckKept)
}

/// An alias by itself.
pub(crate) fn alias_has_its_facts(source: &crate::records::Identity, alias: &Alias) -> Verdict {
    holds(
        source.namespace == alias.target.namespace
            && *source != alias.target
            && (alias.state == AliasState::Active) == alias.activated_at.is_some(),
        Rule::AliasSound,
    )
}

/// A tombstone by itself.
pub(crate) fn tombstone_has_its_facts(tombstone: &Tombstone) -> Verdict {
    let superseded = tombstone.state == TombstoneState::Superseded;
    holds(
        (tombstone.state == TombstoneState::Pending) == tombstone.activated_at.is_none()
            && superseded == tombstone.superseded_by.is_some()
            && superseded == tombstone.superseded_at.is_some(),
        Rule::TombstoneSound,
    )
}

/// A change of a tombstone: forward only, and the time of its activation stays.
pub(crate) fn tombstone_moves_forward(old: &Tombstone, new: &Tombstone) -> Verdict {
    tombstone_has_its_facts(new)?;
    let forward = match (old.state, new.state) {
        (TombstoneState::Pending, TombstoneState::Active) => true,
        (TombstoneState::Active, TombstoneState::Superseded) => old.activated_at == new.activated_at,
        _ => old == new,
    };
    holds(forward && old.created_at == new.created_at, Rule::TombstoneSound)
}

#[cfg(test)]
#[path = "rules/tests.rs"]
mod tests;
