//! When a head that failed may be tried again by a drain of everything.

use crate::names::Phase;
use crate::records::{Execution, Failure};

const BASE_MS: u64 = 1_000;
const CAP_MS: u64 = 300_000;

/// The greatest wait after the `count`th failure, counted from 1.
pub fn window_ms(count: u32) -> u64 {
    let doublings = count.saturating_sub(1).min(63);
    BASE_MS.saturating_mul(1 << doublings).min(CAP_MS)
}

/// How often a head has failed, and when it last did; `None` if nothing holds it back.
pub(crate) fn last_try(execution: &Execution, failures: &[(u64, Failure)]) -> Option<(u32, i64)> {
    match execution.phase {
        Phase::Ready | Phase::RefreshRequired => {
            execution.last_attempt_at.map(|last_attempt_at| (execution.attempt, last_attempt_at))
        }
        Phase::Acked | Phase::EffectsPending => failures
            .iter()
            .filter(|(_, failure)| failure.generation == execution.generation && failure.kind.is_post_ack())
            .max_by_key(|(id, failure)| (failure.last_at, *id))
            .map(|(_, failure)| (failure.count, failure.last_at)),
        Phase::Unprepared | Phase::Inflight | Phase::Parked | Phase::Retired => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_doubles_up_to_five_minutes() {
        assert_eq!(
            [1, 2, 3, 9, 10, 11, u32::MAX].map(window_ms),
            [1_000, 2_000, 4_000, 256_000, 300_000, 300_000, 300_000]
        );
    }
}
