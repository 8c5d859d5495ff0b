//! What the judge can find.

/// A rule that was broken, and how. Ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// What happened, for people.
    pub what: String,
}

/// What must hold in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A mutation has one effect at the deduplicating server.
    OneEffect,
    /// Mutations of an identity have their effects in their order.
    Order,
    /// A generation is sent with the same bytes and the same idempotency key each time.
    SameBytes,
    /// No push follows a durable receipt.
    PushAfterReceipt,
    /// Nobody overtakes the owner of a lane.
    Lane,
    /// What leads to a call is durable before it is made.
    ActBeforeSync,
    /// Only the edges of the state machine, each with what led to it.
    Edge,
    /// Rows of a journal fit together.
    Rows,
    /// The settled prefix, the checkpoint and what is deleted below it are true.
    Checkpoint,
    /// Equal failures are one row.
    Coalesced,
    /// A drain of everything waits for the time of a head, before it calls anything; a drain of a key does not.
    Backoff,
    /// A pass does not chase what came later.
    Bound,
    /// An event tells what is durable.
    Event,
    /// What pending rows and dead letters say is what the rows are.
    Lists,
    /// An operation ends as what happened to it.
    Outcome,
    /// What was promised is not lost, and does not stop without a reason that is shown.
    NothingLost,
    /// The engine does not panic, stop or refuse its own journal.
    NoFailure,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is broken: {}", self.rule, self.what)
    }
}

impl Violation {
    pub(crate) fn new(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

pub(crate) type Judged<T = ()> = Result<T, Violation>;

/// Fails with a rule and words unless something holds.
pub(crate) fn demand(holds: bool, rule: Rule, what: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(Violation::new(rule, what())) }
}
