//! Enums that are written by name. Names are only ever added; a name that is not known fails the reading.

macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$what])* $variant,)+ }

        impl $name {
            /// The name that is written, and shown to people.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value of a written name.
            pub fn of_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named;

named! {
    /// Where an execution stands.
    Phase {
        /// Accepted; nothing has been computed yet.
        Unprepared = "UNPREPARED",
        /// A generation is frozen and may be pushed.
        Ready = "READY",
        /// The generation may have reached the server.
        Inflight = "INFLIGHT",
        /// The server signalled a conflict; the next generation waits for a fresh base.
        RefreshRequired = "REFRESH_REQUIRED",
        /// The server's answer is durable; it is never pushed again.
        Acked = "ACKED",
        /// The answer is adopted; effects on other keys are left.
        EffectsPending = "EFFECTS_PENDING",
        /// Given up; a dead letter until it is retried or discarded.
        Parked = "PARKED",
        /// Done.
        Retired = "RETIRED",
    }
}

impl Phase {
    /// Before the server's answer is durable, and not given up.
    pub fn is_pre_ack(self) -> bool {
        matches!(self, Self::Unprepared | Self::Ready | Self::Inflight | Self::RefreshRequired)
    }

    /// The server's answer is durable and not all of it is done here.
    pub fn is_post_ack(self) -> bool {
        matches!(self, Self::Acked | Self::EffectsPending)
    }

    /// Still to be worked on.
    pub fn is_pending(self) -> bool {
        self.is_pre_ack() || self.is_post_ack()
    }
}

named! {
    /// How a pending row is shown.
    PendingState {
        /// Not on its way: waiting for its turn, or for the next try.
        Pending = "PENDING",
        /// The server may have it.
        Inflight = "INFLIGHT",
        /// A conflict waits for a fresh base.
        Refreshing = "REFRESHING",
        /// The server's answer waits to be adopted.
        Adopting = "ADOPTING",
        /// Adopted; effects on other keys are left.
        ApplyingEffects = "APPLYING_EFFECTS",
    }
}

impl PendingState {
    /// How a phase is shown; `None` for those that are no longer pending.
    pub fn of(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Unprepared | Phase::Ready => Some(Self::Pending),
            Phase::Inflight => Some(Self::Inflight),
            Phase::RefreshRequired => Some(Self::Refreshing),
            Phase::Acked => Some(Self::Adopting),
            Phase::EffectsPending => Some(Self::ApplyingEffects),
            Phase::Parked | Phase::Retired => None,
        }
    }
}

named! {
    /// What kind of thing failed.
    FailureKind {
        /// The resolver did not give the key of an identity.
        Identity = "IDENTITY",
        /// Bytes could not be read or written.
        Codec = "CODEC",
        /// The mutator failed, or the row was discarded before it was prepared.
        Projection = "PROJECTION",
        /// The server's answer is against the contract.
        Protocol = "PROTOCOL",
        /// A conflict could not be settled.
        Conflict = "CONFLICT",
        /// The push failed or was rejected.
        Transport = "TRANSPORT",
        /// The answer could not be adopted.
        Adoption = "ADOPTION",
        /// An effect on another key failed.
        Effect = "EFFECT",
        /// Storage or a local port failed; never a row.
        Persistence = "PERSISTENCE",
    }
}

impl FailureKind {
    /// The kinds that a row after its acknowledgement can have and that the caller of a keyed drain sees.
    pub fn is_post_ack(self) -> bool {
        matches!(self, Self::Adoption | Self::Effect | Self::Identity)
    }
}

named! {
    /// What an effect touches.
    EffectKind {
        /// One key becomes stale.
        Key = "KEY",
        /// A whole namespace becomes stale.
        Namespace = "NAMESPACE",
    }
}

named! {
    /// What has become of an effect.
    Disposition {
        /// To be done.
        Pending = "PENDING",
        /// Done.
        Applied = "APPLIED",
        /// Will never be done: its mutation had no effect.
        Skipped = "SKIPPED",
    }
}

named! {
    /// Whether an alias routes.
    AliasState {
        /// Its creator has not retired: the edge is fixed, and does not route.
        Pending = "PENDING",
        /// The source leads to the target.
        Active = "ACTIVE",
    }
}

named! {
    /// Whether a deletion still stands.
    TombstoneState {
        /// Its creator has not retired.
        Pending = "PENDING",
        /// The identity is deleted.
        Active = "ACTIVE",
        /// A later mutation brought the identity back.
        Superseded = "SUPERSEDED",
    }
}

named! {
    /// A transition: one transaction of the journal.
    Transition {
        /// Accepts an intent.
        T0 = "T0",
        /// Freezes the first generation.
        T1 = "T1",
        /// Takes the lane, before the push.
        T2 = "T2",
        /// The push failed.
        T3 = "T3",
        /// The push met a conflict.
        T4 = "T4",
        /// The third equal conflict in a row.
        T4b = "T4b",
        /// The server's answer.
        T5 = "T5",
        /// The server rejected it, answered against the contract, or the tries are used up.
        T5b = "T5b",
        /// The answer is adopted.
        T6 = "T6",
        /// One effect is done.
        T7 = "T7",
        /// Done, with its alias or tombstone.
        T8 = "T8",
        /// The next generation, after a conflict.
        T9 = "T9",
        /// Done: the server's value stands.
        T10 = "T10",
        /// Given up before an answer.
        T11 = "T11",
        /// Evidence of a failure after the answer.
        T12 = "T12",
        /// The server confirmed the checkpoint.
        T13 = "T13",
        /// Rows that nobody needs any more are deleted.
        T14 = "T14",
        /// A dead letter becomes a new intent.
        Retry = "retry",
        /// A row is dismissed by hand.
        Discard = "discard",
    }
}

/// Details of failures that the machine itself gives, by their written names.
pub mod detail {
    /// The resolver knows no key.
    pub const RESOLVER_NULL: &str = "resolver-null";
    /// The resolver failed.
    pub const RESOLVER_THROW: &str = "resolver-throw";
    /// The resolver's key has another identity.
    pub const RESOLVER_MISMATCH: &str = "resolver-identity-mismatch";
    /// The mutator failed.
    pub const PROJECTION_THROW: &str = "projection-throw";
    /// No mutator of that name and version.
    pub const MUTATOR_MISSING: &str = "mutator-missing";
    /// The arguments could not be read.
    pub const ARGS_CODEC: &str = "args-codec";
    /// A value could not be read or written before the push.
    pub const VALUE_CODEC_PRE_ACK: &str = "value-codec-pre-ack";
    /// The value of an answer could not be read.
    pub const VALUE_CODEC_ACKED: &str = "value-codec-acked";
    /// The push failed.
    pub const PUSH_FAILED: &str = "push-failed";
    /// The server rejected the push for good.
    pub const PUSH_REJECTED: &str = "push-rejected";
    /// The limit on attempts or age was reached.
    pub const ATTEMPTS_EXHAUSTED: &str = "attempts-exhausted";
    /// The choice of the precondition failed.
    pub const SELECTOR_FAILED: &str = "selector-failed";
    /// The merge failed.
    pub const MERGE_FAILED: &str = "merge-failed";
    /// The third equal conflict in a row.
    pub const CONFLICT_UNCHANGED_BOUND: &str = "conflict-unchanged-bound";
    /// The answer's target is in another namespace.
    pub const ALIAS_CROSS_NAMESPACE: &str = "alias-cross-namespace";
    /// The source leads to another target already.
    pub const ALIAS_RETARGET: &str = "alias-retarget";
    /// The target leads back to the source.
    pub const ALIAS_CYCLE: &str = "alias-cycle";
    /// The same push was answered with another target before.
    pub const ALIAS_RETRY_TARGET_MISMATCH: &str = "alias-retry-target-mismatch";
    /// The answer could not be adopted.
    pub const ADOPTION_FAILED: &str = "adoption-failed";
    /// An effect's target failed.
    pub const EFFECT_TARGET_FAILED: &str = "effect-target-failed";
    /// Discarded by hand before it was prepared.
    pub const DISCARDED: &str = "discarded";
    /// The server could not be told of the checkpoint.
    pub const RETIRE_FAILED: &str = "retire-failed";
    /// The server's answer to a checkpoint is impossible.
    pub const RETIRE_ACK_INVALID: &str = "retire-ack-invalid";
    /// The confirmed checkpoint could not be stored.
    pub const RETIRE_CONFIRMATION_FAILED: &str = "retire-confirmation-failed";
    /// Rows below the checkpoint could not be deleted.
    pub const RETIRE_PRUNE_FAILED: &str = "retire-prune-failed";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_its_value() {
        for phase in [Phase::Unprepared, Phase::RefreshRequired, Phase::EffectsPending, Phase::Retired] {
            assert_eq!(Phase::of_name(phase.name()), Some(phase));
        }
        assert_eq!(Phase::of_name("unprepared"), None);
    }
}
