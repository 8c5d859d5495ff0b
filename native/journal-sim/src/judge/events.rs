//! What is told is durable.

use parsley_journal::event::{Event, EventKind};

use super::{Judge, Judged, Rule, demand};

impl Judge {
    /// An event is told.
    pub fn told(&self, event: &Event) -> Judged {
        let rows = &self.durable;
        let Some(sequence) = event.sequence else {
            let confirmed = rows.client.as_ref().map_or(0, |client| client.confirmed);
            return match event.kind {
                EventKind::CheckpointConfirmed { confirmed: told, .. } => {
                    demand(told <= confirmed, Rule::Event, || {
                        format!("told is {told}, confirmed is {confirmed}")
                    })
                }
                _ => Ok(()),
            };
        };
        let is_pruned = !rows.intents.contains_key(&sequence)
            && rows.client.as_ref().is_some_and(|client| sequence <= client.confirmed);
        if is_pruned {
            return Ok(());
        }
        let phase = rows.phase(sequence);
        let execution = rows.executions.get(&sequence);
        let failed =
            |detail: &str| rows.failures.values().any(|it| it.sequence == sequence && it.detail == detail);
        let effect_is = |index: u32, disposition: &str| {
            rows.effects.get(&(sequence, index)).is_some_and(|effect| effect.disposition == disposition)
        };
        let is_true = match &event.kind {
            EventKind::Enqueued { .. } => execution.is_some(),
            EventKind::Attempted { generation, attempt } => {
                execution.is_some_and(|it| it.generation == *generation && it.attempt + 1 == *attempt)
                    && phase == "INFLIGHT"
            }
            EventKind::ConflictObserved { generation, .. } => {
                rows.attempts.get(&(sequence, *generation)).is_some_and(|attempt| attempt.conflict.is_some())
            }
            EventKind::Acknowledged { generation, present } => {
                rows.acks.get(&(sequence, *generation)).is_some_and(|ack| ack.value.is_some() == *present)
            }
            EventKind::Adopted { .. } => matches!(phase, "EFFECTS_PENDING" | "RETIRED"),
            EventKind::EffectApplied { index, .. } => effect_is(*index, "APPLIED"),
            EventKind::EffectSkipped { index, .. } => effect_is(*index, "SKIPPED"),
            EventKind::Failed { failure, .. } => failed(&failure.detail),
            EventKind::Parked { failure, .. } => phase == "PARKED" && failed(&failure.detail),
            EventKind::Retired { retired_through, .. } => {
                phase == "RETIRED"
                    && rows.client.as_ref().is_some_and(|client| client.retired >= *retired_through)
            }
            EventKind::CheckpointConfirmed { .. } | EventKind::CheckpointFailed { .. } => true,
        };
        demand(is_true, Rule::Event, || {
            format!("{:?} of mutation {sequence} is told, durably it is {execution:?}", event.kind)
        })
    }
}
