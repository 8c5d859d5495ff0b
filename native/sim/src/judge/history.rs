//! What one process has gone through, as the world saw it.

use crate::log::CHANNELS_MAX;
use crate::set::Set;

/// No position.
pub(crate) const NONE: i64 = -1;
/// Above every position: nothing will ever come.
pub(crate) const NEVER: i64 = i64::MAX;

/// A number per channel.
pub(crate) type Positions = [i64; CHANNELS_MAX];

/// The names of topics, at most.
const NAMES_MAX: usize = 5;

/// The events of one process so far. A commit keeps it, an abort goes back to the one that was kept.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Messages taken in.
    pub(crate) fed: Set,
    /// Messages delivered.
    pub(crate) delivered: Set,
    /// Messages that were never taken in and never will be: skipped by the group, or below an effect that was
    /// delivered while their channel was not received, or of a deleted topic.
    pub(crate) covered: Set,
    /// The true causal past of what is sent now: what was delivered, and its pasts.
    pub(crate) known: Set,
    /// Highest position of `known` on each channel.
    pub(crate) known_up_to: Positions,
    /// Highest position on each channel that was delivered, or named by anything received.
    pub(crate) learned: Positions,
    /// Highest position on each channel that was named by anything delivered.
    pub(crate) past: Positions,
    /// Up to where each channel was fed, or covered.
    pub(crate) fed_up_to: Positions,
    /// The last position delivered on each channel.
    pub(crate) last_delivered: Positions,
    /// The channel that each topic name stood for when it was first received.
    pub(crate) names: [Option<usize>; NAMES_MAX],
}

impl History {
    pub(crate) fn new() -> Self {
        Self {
            fed: Set::default(),
            delivered: Set::default(),
            covered: Set::default(),
            known: Set::default(),
            known_up_to: [NONE; CHANNELS_MAX],
            learned: [NONE; CHANNELS_MAX],
            past: [NONE; CHANNELS_MAX],
            fed_up_to: [NONE; CHANNELS_MAX],
            last_delivered: [NONE; CHANNELS_MAX],
            names: [None; NAMES_MAX],
        }
    }

    /// Taken in and not delivered.
    pub(crate) fn held(&self) -> Set {
        self.fed.without(&self.delivered)
    }
}

pub(crate) fn raise(positions: &mut Positions, channel: usize, position: i64) {
    positions[channel] = positions[channel].max(position);
}

/// One execution of a process.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    /// Channels received, in the order of their bytes.
    pub(crate) received: Vec<usize>,
    /// The last position fed on each channel.
    pub(crate) fed_now: Positions,
    pub(crate) budget: usize,
    /// Held messages whose stored row was damaged while the execution ran.
    pub(crate) damaged: Set,
}

/// One process.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    /// As of the last commit.
    pub(crate) committed: History,
    /// As of now.
    pub(crate) now: History,
    pub(crate) execution: Execution,
}

impl Witness {
    pub(crate) fn new() -> Self {
        Self {
            committed: History::new(),
            now: History::new(),
            execution: Execution {
                received: Vec::new(),
                fed_now: [NONE; CHANNELS_MAX],
                budget: 0,
                damaged: Set::default(),
            },
        }
    }

    pub(crate) fn receives(&self, channel: usize) -> bool {
        self.execution.received.contains(&channel)
    }
}
