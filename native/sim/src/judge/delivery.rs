//! Judging what becomes of each record: how it is answered, and when it is delivered.

use super::history::{NEVER, NONE, raise};
use super::{Carriage, Expected, Judge, Judged, Rule, Violation, demand, place, reason};

impl Judge {
    /// A process is fed a message. Returns what it must answer.
    pub(crate) fn fed(&mut self, process: usize, message: usize, carriage: Carriage) -> Expected {
        let facts = &self.messages[message];
        let witness = &mut self.witnesses[process];
        let (header_bytes, is_broken) = match carriage {
            Carriage::Intact => (facts.header_bytes, facts.poisoned),
            Carriage::Broken(bytes) => (bytes, true),
        };
        if header_bytes > witness.execution.budget {
            return Expected::Refused(reason::OVER_BUDGET);
        }
        if is_broken {
            return Expected::Refused(reason::UNDECODABLE);
        }
        if facts.position <= witness.execution.fed_now[facts.channel] {
            return Expected::Refused(reason::OUT_OF_ORDER);
        }
        witness.execution.fed_now[facts.channel] = facts.position;
        for (channel, position) in &facts.stamp {
            raise(&mut witness.now.learned, *channel, *position);
        }
        let fed_up_to = witness.now.fed_up_to[facts.channel];
        let witness = &self.witnesses[process];
        if self.width(&witness.now.learned) > witness.execution.budget {
            return Expected::Refused(reason::OVER_BUDGET);
        }
        if fed_up_to == NEVER {
            return Expected::Refused(reason::OUT_OF_ORDER);
        }
        let facts = &self.messages[message];
        let now = &mut self.witnesses[process].now;
        if now.fed.has(message) || now.covered.has(message) {
            return Expected::Dropped;
        }
        now.fed.insert(message);
        raise(&mut now.fed_up_to, facts.channel, facts.position);
        Expected::Taken
    }

    /// A process answered, without refusing.
    pub(crate) fn answered(&self, message: usize, expected: Expected, dropped: bool) -> Judged {
        let facts = &self.messages[message];
        let at = || place(facts.channel, facts.position);
        match (expected, dropped) {
            (Expected::Taken, false) | (Expected::Dropped, true) => Ok(()),
            (Expected::Taken, true) => {
                Err(Violation::new(Rule::NothingLost, format!("{} is new and was dropped as a replay", at())))
            }
            (Expected::Dropped, false) => Err(Violation::new(
                Rule::Once,
                format!("{} was read or covered before and is taken for new", at()),
            )),
            (Expected::Refused(reason), _) => {
                Err(Violation::new(Rule::MissingRefusal, format!("{} had to be refused as {reason}", at())))
            }
        }
    }

    /// A process refused a record, or while it drained after one. `position` is what the refusal names.
    pub(crate) fn refused(
        &self,
        process: usize,
        expected: Expected,
        name: &str,
        position: Option<i64>,
    ) -> Judged {
        let witness = &self.witnesses[process];
        if let Expected::Refused(reason) = expected {
            return demand(reason == name, Rule::MissingRefusal, || {
                format!("{name} came instead of {reason}")
            });
        }
        let justified = match name {
            // The next delivery would make the stamp too wide.
            reason::OVER_BUDGET => self.heads(witness).any(|(channel, head)| {
                let mut learned = witness.now.learned;
                raise(&mut learned, channel, self.messages[head].position);
                self.is_deliverable(witness, head) && self.width(&learned) > witness.execution.budget
            }),
            reason::BAD_STATE => {
                let mut damaged = witness.execution.damaged.iter();
                damaged.any(|message| Some(self.messages[message].position) == position)
            }
            _ => false,
        };
        demand(justified, Rule::NeedlessRefusal, || format!("{name}, which nothing that happened explains"))
    }

    /// A process handed over a message whose content it kept.
    pub(crate) fn content(&self, message: usize, content: &[u8]) -> Judged {
        let facts = &self.messages[message];
        demand(facts.content == content, Rule::Content, || {
            format!(
                "{} came out as {content:02x?}, not as {:02x?}",
                place(facts.channel, facts.position),
                &facts.content[..]
            )
        })
    }

    /// A process delivers a message.
    pub(crate) fn delivered(&mut self, process: usize, message: usize) -> Judged {
        self.judge_truth(process, message)?;
        self.judge_turn(process, message)?;
        let facts = &self.messages[message];
        let now = &mut self.witnesses[process].now;
        now.delivered.insert(message);
        now.last_delivered[facts.channel] = facts.position;
        raise(&mut now.learned, facts.channel, facts.position);
        for (channel, position) in &facts.stamp {
            raise(&mut now.past, *channel, *position);
        }
        let mut learned = facts.past;
        learned.insert(message);
        for cause in learned.without(&now.known).iter() {
            raise(&mut now.known_up_to, self.messages[cause].channel, self.messages[cause].position);
        }
        now.known = now.known.with(&learned);
        let witness = &self.witnesses[process];
        demand(self.width(&witness.now.learned) <= witness.execution.budget, Rule::MissingRefusal, || {
            format!("the budget of {} bytes is exceeded after a delivery", witness.execution.budget)
        })
    }

    /// By the sets of messages alone.
    fn judge_truth(&self, process: usize, message: usize) -> Judged {
        let witness = &self.witnesses[process];
        let now = &witness.now;
        let facts = &self.messages[message];
        let at = || place(facts.channel, facts.position);
        demand(!now.delivered.has(message), Rule::Once, || format!("{} is delivered again", at()))?;
        demand(!now.covered.has(message), Rule::Once, || format!("{} is delivered, although covered", at()))?;
        demand(now.fed.has(message), Rule::Content, || format!("{} was never received", at()))?;
        demand(facts.position > now.last_delivered[facts.channel], Rule::ChannelOrder, || {
            format!("{} comes after {}", at(), now.last_delivered[facts.channel])
        })?;
        demand(!now.known.has(message) || self.channels[facts.channel].deleted, Rule::CauseFirst, || {
            format!("{} comes after an effect of it", at())
        })?;
        for cause in facts.past.without(&now.delivered).without(&now.covered).iter() {
            let cause = &self.messages[cause];
            // A sender that was told of a topic's deletion does not name it any more.
            let is_forgotten =
                self.channels[cause.channel].deleted && self.named(message, cause.channel) < cause.position;
            demand(!witness.receives(cause.channel) || is_forgotten, Rule::CauseFirst, || {
                format!("{} comes before its cause {}", at(), place(cause.channel, cause.position))
            })?;
        }
        Ok(())
    }

    /// By the causes as stamped, which may name more than the true past: what was received and not delivered.
    fn judge_turn(&self, process: usize, message: usize) -> Judged {
        let witness = &self.witnesses[process];
        let facts = &self.messages[message];
        let at = || place(facts.channel, facts.position);
        demand(self.is_deliverable(witness, message), Rule::CauseFirst, || {
            format!("{} comes before a cause that its header names", at())
        })?;
        for (channel, head) in self.heads(witness) {
            if channel == facts.channel {
                return demand(head == message, Rule::ChannelOrder, || {
                    format!("{} comes before {}", at(), self.messages[head].position)
                });
            }
            demand(!self.is_deliverable(witness, head), Rule::LowestFirst, || {
                format!("{} comes before {}", at(), place(channel, self.messages[head].position))
            })?;
        }
        Err(Violation::new(Rule::ChannelOrder, format!("{} is of a channel that is not received", at())))
    }

    fn named(&self, message: usize, channel: usize) -> i64 {
        let stamp = &self.messages[message].stamp;
        stamp.iter().find(|(at, _)| *at == channel).map_or(NONE, |(_, position)| *position)
    }
}
