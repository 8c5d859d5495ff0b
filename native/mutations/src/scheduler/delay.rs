//! How long to wait before the next pass.

use std::collections::HashSet;
use std::time::Duration;

use parsley_journal::inspect::PendingRow;
use parsley_journal::names::PendingState;

use crate::error::Error;

/// A wait that grows with each failure, up to a greatest one.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The wait after the first failure.
    pub delay_first: Duration,
    /// By what it grows, at least 1; 1 keeps it constant.
    pub multiplier: f64,
    /// The greatest wait, and when an alarm set for safety goes off.
    pub delay_max: Duration,
}

impl Default for Policy {
    /// 30 seconds, doubled each time, up to an hour: never shorter than the engine's own backoff, so that a pass does not
    /// come while the engine still waits.
    fn default() -> Self {
        Self { delay_first: Duration::from_secs(30), multiplier: 2.0, delay_max: Duration::from_hours(1) }
    }
}

impl Policy {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.multiplier.is_finite() && self.multiplier >= 1.0 && self.delay_first <= self.delay_max {
            return Ok(());
        }
        let what = "a policy needs a multiplier of at least 1, and a first delay of at most the greatest";
        Err(Error::Configuration(what.to_owned()))
    }

    /// The wait after the `count`th failure; none after no failure.
    pub fn delay(&self, count: u32) -> Duration {
        let Some(doublings) = count.checked_sub(1) else { return Duration::ZERO };
        let factor = self.multiplier.powi(i32::try_from(doublings).unwrap_or(i32::MAX));
        let seconds = (self.delay_first.as_secs_f64() * factor).min(self.delay_max.as_secs_f64());
        Duration::from_secs_f64(seconds)
    }
}

/// When the first of the heads may have something to do; `None` if nothing waits. Rows come by sequence.
pub(crate) fn derive(policy: &Policy, waiting: &[PendingRow]) -> Option<Duration> {
    let mut seen = HashSet::new();
    waiting
        .iter()
        .filter(|row| seen.insert(&row.key))
        .map(|row| match row.state {
            PendingState::Inflight | PendingState::Adopting | PendingState::ApplyingEffects => Duration::ZERO,
            PendingState::Pending | PendingState::Refreshing => policy.delay(row.attempt),
        })
        .min()
}
