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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No effect before its cause, among the channels that the receiver receives.
    CauseFirst,
    /// No message twice in committed history, and a replay is known as one.
    Once,
    /// Messages of a channel in the order of their positions.
    ChannelOrder,
    /// All that can be delivered is.
    NothingLost,
    /// Among deliverable messages the one on the lowest channel goes first, so that a replay gives the same order.
    LowestFirst,
    /// A stamp names everything in the sender's causal past, and what it has received.
    StampTooSmall,
    /// A stamp names nothing else.
    StampTooLarge,
    /// A message is handed over byte for byte as it was received.
    Content,
    /// No refusal without its cause.
    NeedlessRefusal,
    /// What must be refused is, and by its name.
    MissingRefusal,
    /// After a restore the store holds exactly what the committed changelog amounts to.
    Rows,
    /// The store does not fail, and the engine does not panic, when nothing is wrong below them.
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
