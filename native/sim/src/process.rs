//! One process of the world: a task of a causal node, with what outlives its executions.

use parsley_store::{MemoryBackend, MemoryDisk, Task};

use crate::changelog::{Changelog, Row};
use crate::judge::Subscription;
use crate::log::CHANNELS_MAX;

/// The name under which the store keeps its changelog's offset.
pub(crate) const CHANGELOG: &str = "sim-__parsley.node-changelog-0";

/// A record that was sent in the transaction that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) channel: usize,
    pub(crate) offset: i64,
    pub(crate) message: usize,
}

/// Why a process stopped, for the operator.
#[derive(Clone, Debug)]
pub(crate) struct Stopped {
    pub(crate) reason: &'static str,
    /// The message that was being fed.
    pub(crate) message: Option<usize>,
}

/// A process and what it leaves behind.
pub(crate) struct Process {
    /// Its task's number: it receives this partition of each of its topics.
    pub(crate) partition: usize,
    /// Names of the topics it receives.
    pub(crate) names: Vec<usize>,
    /// `enable.transactional.statestores`.
    pub(crate) transactional: bool,
    pub(crate) disk: MemoryDisk,
    pub(crate) changelog: Changelog,
    /// Offsets that the group has committed.
    pub(crate) group: [Option<i64>; CHANNELS_MAX],
    /// Sends of the transaction that is open. After a crash it stays open until the next start.
    pub(crate) sent: Vec<Sent>,
    /// Changelog rows of that transaction.
    pub(crate) flushed: Vec<Row>,
    /// Committed rows of a flush that no later flush has followed.
    pub(crate) unsettled: bool,
    /// The lowest changelog offset that the disk may come back with after a crash; `None`: with none.
    pub(crate) durable: Option<i64>,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) running: Option<Running>,
}

/// An execution.
pub(crate) struct Running {
    pub(crate) task: Task<MemoryBackend>,
    /// In the order given to the engine.
    pub(crate) subscriptions: Vec<Subscription>,
    /// Next offset to read of each.
    pub(crate) positions: Vec<i64>,
    /// A subscription that the consumer gets to less often, if any.
    pub(crate) slow: Option<usize>,
    /// Rows were damaged under it, so it must not commit.
    pub(crate) spoiled: bool,
}

impl Process {
    pub(crate) fn new(partition: usize, names: Vec<usize>, transactional: bool) -> Self {
        Self {
            partition,
            names,
            transactional,
            disk: MemoryDisk::new(),
            changelog: Changelog::default(),
            group: [None; CHANNELS_MAX],
            sent: Vec::new(),
            flushed: Vec::new(),
            unsettled: false,
            durable: None,
            stopped: None,
            running: None,
        }
    }

    /// The local state is gone: another machine, or wiped.
    pub(crate) fn lose_disk(&mut self) {
        self.disk = MemoryDisk::new();
        self.durable = None;
        self.unsettled = false;
    }

    /// The state is gone for good, changelog and group included.
    pub(crate) fn reset(&mut self) {
        self.lose_disk();
        self.changelog = Changelog::default();
        self.group = [None; CHANNELS_MAX];
    }

    /// What the store is told to have reached.
    pub(crate) fn offsets(&self) -> Vec<(String, Option<i64>)> {
        self.changelog.last().map(|offset| (CHANGELOG.to_owned(), Some(offset))).into_iter().collect()
    }

    /// The store was given an offset, which is not durable yet.
    pub(crate) fn offset_written(&mut self, offset: Option<i64>) {
        self.durable = match (offset, self.durable) {
            (None, _) => None,
            (Some(_), Some(older)) => Some(older),
            (offset, None) => offset,
        };
    }
}
