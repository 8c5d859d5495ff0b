//! What people are shown.

use parsley_journal::inspect::{DeadLetter, LaneRow, PendingRow};
use parsley_journal::records::Identity;

use super::{Judge, Judged, Rule, demand, key_of};

fn state_of(phase: &str) -> Option<&'static str> {
    match phase {
        "UNPREPARED" | "READY" => Some("PENDING"),
        "INFLIGHT" => Some("INFLIGHT"),
        "REFRESH_REQUIRED" => Some("REFRESHING"),
        "ACKED" => Some("ADOPTING"),
        "EFFECTS_PENDING" => Some("APPLYING_EFFECTS"),
        _ => None,
    }
}

impl Judge {
    /// The pending rows that are shown, of everything or of one key.
    pub fn lists_pending(&self, of: Option<&Identity>, shown: &[PendingRow]) -> Judged {
        let rows = &self.visible;
        let wanted = of.map(|key| rows.terminal(&key_of(key)));
        let mut expected = Vec::new();
        for (sequence, execution) in &rows.executions {
            let home = rows.home(*sequence);
            if let Some(state) = state_of(&execution.phase)
                && wanted.as_ref().is_none_or(|wanted| *wanted == home)
            {
                expected.push((home, *sequence, state, execution.attempt));
            }
        }
        let shown: Vec<_> =
            shown.iter().map(|it| (key_of(&it.key), it.sequence, it.state.name(), it.attempt)).collect();
        demand(shown == expected, Rule::Lists, || {
            format!("pending of {of:?} shows {shown:?}, it is {expected:?}")
        })
    }

    /// The dead letters that are shown.
    pub fn lists_dead(&self, shown: &[DeadLetter]) -> Judged {
        let rows = &self.visible;
        let mut expected = Vec::new();
        for (sequence, execution) in &rows.executions {
            if !execution.is("PARKED") || execution.dismissed {
                continue;
            }
            let frozen = rows.attempts.get(&(*sequence, execution.generation));
            let key = frozen.map_or(&rows.intents[sequence].key, |attempt| &attempt.key).clone();
            let id = execution.failure.unwrap_or_default();
            let failure = &rows.failures[&id];
            let what = (failure.kind.clone(), failure.detail.clone(), execution.unknown);
            expected.push((
                (failure.last_at, id),
                *sequence,
                key,
                execution.generation,
                execution.attempt,
                what,
            ));
        }
        expected.sort();
        let expected: Vec<_> = expected.into_iter().map(|(_, a, b, c, d, e)| (a, b, c, d, e)).collect();
        let shown: Vec<_> = shown
            .iter()
            .map(|it| {
                let what = (
                    it.failure.kind.name().to_owned(),
                    it.failure.detail.to_string(),
                    it.remote_outcome_unknown,
                );
                (it.sequence, key_of(&it.key), it.generation, it.attempts, what)
            })
            .collect();
        demand(shown == expected, Rule::Lists, || {
            format!("dead letters show {shown:?}, they are {expected:?}")
        })?;
        // Nobody is told that the server has not applied what it has.
        let hidden = expected.iter().find(|(sequence, .., (_, _, unknown))| {
            !unknown && self.effects.get(sequence).is_some_and(|effects| *effects > 0)
        });
        demand(hidden.is_none(), Rule::Lists, || format!("the server has applied the dead letter {hidden:?}"))
    }

    /// The lanes that are shown.
    pub fn lists_lanes(&self, shown: &[LaneRow]) -> Judged {
        for lane in shown {
            let owner = lane.owner.as_ref().map(|owner| owner.sequence);
            let expected = self.visible.owner(&lane.namespace);
            demand(owner == expected, Rule::Lists, || {
                format!("the lane of {} shows the owner {owner:?}, it is {expected:?}", lane.namespace)
            })?;
        }
        Ok(())
    }
}
