//! What the engine refuses, by name.

use std::fmt;

use crate::channel::{ChannelId, Position};
use crate::rows::RowsError;

/// Why the core says no. The names are a contract with operators and other implementations.
///
/// The reasons that only Kafka can show (changelogs, payloads, configurations) are refused by the Java library,
/// whose enum has these and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A causes header that is repeated, null, empty or breaks a rule of its format.
    UndecodableMetadata,
    /// Causes wider than the budget, incoming or to be sent.
    MetadataBudgetExceeded,
    /// A channel fed at or below a position that this execution has seen.
    OutOfOrderFeed,
    /// A position fed that this execution has covered.
    CoveredPositionFed,
    /// Rows that this build does not understand, or whose content is damaged.
    UnknownOrderingStateFormat,
    /// A received topic is not the one that the rows speak of.
    ChannelIdentityChanged,
    /// A channel with held messages is not received any more.
    ChannelRemovedWithHeldMessages,
    /// A topic was deleted while messages of it were held.
    ChannelDeletedWithUndeliveredMessages,
}

impl Reason {
    /// The name that operators see.
    pub fn name(self) -> &'static str {
        match self {
            Self::UndecodableMetadata => "UNDECODABLE_METADATA",
            Self::MetadataBudgetExceeded => "METADATA_BUDGET_EXCEEDED",
            Self::OutOfOrderFeed => "OUT_OF_ORDER_FEED",
            Self::CoveredPositionFed => "COVERED_POSITION_FED",
            Self::UnknownOrderingStateFormat => "UNKNOWN_ORDERING_STATE_FORMAT",
            Self::ChannelIdentityChanged => "CHANNEL_IDENTITY_CHANGED",
            Self::ChannelRemovedWithHeldMessages => "CHANNEL_REMOVED_WITH_HELD_MESSAGES",
            Self::ChannelDeletedWithUndeliveredMessages => "CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES",
        }
    }
}

/// A named reason to stop the whole process rather than guess. Nothing of the current step may be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The name.
    pub reason: Reason,
    /// The channel it is about, where it is about one.
    pub channel: Option<ChannelId>,
    /// The position it is about.
    pub position: Option<i64>,
    /// What the position was judged against.
    pub bound: Option<i64>,
    /// What happened, in words for people.
    pub detail: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, channel: None, position: None, bound: None, detail: detail.into() }
    }

    pub(crate) fn at(mut self, channel: ChannelId) -> Self {
        self.channel = Some(channel);
        self
    }

    pub(crate) fn position(mut self, position: Position) -> Self {
        self.position = Some(position.get());
        self
    }

    pub(crate) fn bound(mut self, bound: i64) -> Self {
        self.bound = Some(bound);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.name())?;
        if let Some(channel) = self.channel {
            write!(f, " on {channel}")?;
        }
        if let Some(position) = self.position {
            write!(f, " at {position}")?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// Why an engine call that reads the store gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The engine refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Rows(#[from] RowsError),
}
