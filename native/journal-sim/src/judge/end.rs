//! Nothing is lost: what the world must look like once it is quiet.

use parsley_journal::inspect::PendingRow;
use parsley_journal::names::Transition as T;

use super::{Judge, Judged, Rule, demand};

impl Judge {
    /// Everything has come to rest, nothing fails any more, and the power may go.
    pub fn rests(&self, pending: &[PendingRow]) -> Judged {
        let rows = &self.visible;
        demand(self.unsynced.is_empty() && self.durable == *rows, Rule::NothingLost, || {
            "at rest not everything is durable".to_owned()
        })?;
        let Some(client) = &rows.client else {
            return demand(self.promised.is_empty(), Rule::NothingLost, || "the journal is empty".to_owned());
        };
        demand(client.confirmed == client.retired, Rule::Checkpoint, || {
            format!("at rest the server was not told of all that is settled: {client:?}")
        })?;
        let kept = rows.intents.keys().find(|sequence| **sequence <= client.confirmed);
        demand(kept.is_none(), Rule::Checkpoint, || {
            format!("rows of {kept:?} are kept below {}", client.confirmed)
        })?;
        for sequence in &self.promised {
            let there = rows.executions.contains_key(sequence) || *sequence <= client.confirmed;
            demand(there, Rule::NothingLost, || format!("mutation {sequence} was promised and is gone"))?;
        }
        for row in pending {
            let waits_behind =
                pending.iter().any(|first| first.key == row.key && first.sequence < row.sequence);
            demand(row.stall.is_some() || waits_behind, Rule::NothingLost, || {
                format!("{row:?} does not go on, and nothing says why; {:?}", rows.executions[&row.sequence])
            })?;
        }
        for (sequence, transition) in &self.ended {
            let effects = self.effects.get(sequence).copied().unwrap_or(0);
            let expected = match transition {
                Some(T::T8) => 1,
                Some(T::T10) => 0,
                // Masked or discarded: whatever it was.
                _ => effects,
            };
            // A loss of power may have undone it, and then it is not at its end.
            let is_there = rows.executions.get(sequence).is_none_or(|it| it.is("RETIRED"));
            demand(!is_there || effects == expected, Rule::OneEffect, || {
                format!("mutation {sequence} ended by {transition:?} with {effects} effects at the server")
            })?;
        }
        Ok(())
    }
}
