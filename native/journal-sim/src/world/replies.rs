//! How each call is answered, by chance and by the moods of the world.

use parsley_journal::action::{Answer, Call};
use parsley_journal::names::Transition;
use parsley_journal::records::Identity;

use super::{HONEST, Resolver, World};
use crate::server::Mood;
use crate::stage::Reply;

fn threw(what: &str) -> Answer {
    // More than a line, and characters that no row may keep.
    Answer::Threw(format!("{what}\u{1} failed\nat a line that nobody keeps"))
}

impl World {
    /// A failure of storage, after which nobody knows whether it has happened.
    fn half_done(&mut self, what: &str) -> Reply {
        if self.random.chance(500) { Reply::Say(threw(what)) } else { Reply::DoAndSay(threw(what)) }
    }

    pub(super) fn reply_to(&mut self, call: &Call) -> Reply {
        let is_journal = matches!(call, Call::Commit { .. } | Call::Sync | Call::Draw { .. });
        if !is_journal && self.is_troubled(12) {
            return Reply::Say(Answer::Fatal);
        }
        if !is_journal && self.is_troubled(15) {
            return Reply::Say(Answer::Cancelled);
        }
        match call {
            Call::Commit { .. } if self.is_troubled(200) => self.half_done("write"),
            Call::Commit { transition: Transition::T5 | Transition::T5b, .. }
                if self.random.chance(self.wavering) =>
            {
                self.half_done("write")
            }
            Call::Sync if self.is_troubled(150) => self.half_done("sync"),
            Call::Draw { window_ms } => Reply::Say(Answer::Drawn(self.draw(*window_ms))),
            Call::Resolve(identity) => self.resolves(identity),
            Call::Status(_) if self.is_troubled(100) => Reply::Say(threw("status")),
            Call::Read(_) if self.is_troubled(60) => Reply::Say(threw("read")),
            Call::Read(_) | Call::Project { .. } | Call::Decode { .. } if self.is_troubled(30) => {
                Reply::Say(Answer::Codec("the bytes are garbled".to_owned()))
            }
            Call::Precondition { .. } if self.is_troubled(200) => Reply::Say(threw("precondition")),
            Call::Precondition { .. } if self.random.chance(300) => Reply::Say(Answer::Meta(None)),
            Call::Stales { .. } if self.is_troubled(200) => Reply::Say(threw("stales")),
            Call::Push(_) => Reply::Push(self.mood_of_push(call)),
            Call::FreshRead(_) if self.is_troubled(300) => self.fails("freshRead"),
            Call::Merge { .. } => self.merges(),
            Call::Apply { .. } if self.is_troubled(80) => {
                Reply::Say(Answer::Codec("the answer is garbled".to_owned()))
            }
            Call::Apply { .. } | Call::ConfirmFresh { .. } | Call::Clear(_) if self.is_troubled(400) => {
                self.fails("adoption")
            }
            Call::MarkStale(_) | Call::Invalidate(_) if self.is_troubled(400) => self.fails("effect"),
            Call::Retire { through } => self.retires(*through),
            _ => HONEST,
        }
    }

    /// It fails, done or not.
    fn fails(&mut self, what: &str) -> Reply {
        if self.random.chance(500) { Reply::Say(threw(what)) } else { Reply::DoAndSay(threw(what)) }
    }

    fn draw(&mut self, window_ms: u64) -> u64 {
        match self.random.below(4) {
            0 => 0,
            1 => window_ms,
            _ => self.random.next() % (window_ms + 1),
        }
    }

    fn resolves(&mut self, identity: &Identity) -> Reply {
        match self.resolver.get(identity).copied() {
            None if self.is_troubled(60) => Reply::Say(threw("resolver")),
            None => HONEST,
            Some(Resolver::Unknown) => Reply::Say(Answer::Unknown),
            Some(Resolver::Throws) => Reply::Say(threw("resolver")),
            Some(Resolver::Mismatches) => Reply::Say(Answer::Mismatch("another/key".to_owned())),
            Some(Resolver::Unavailable) => Reply::Say(Answer::Unavailable),
        }
    }

    fn merges(&mut self) -> Reply {
        if self.is_troubled(100) {
            return Reply::Say(threw("merge"));
        }
        match self.random.below(10) {
            0..=4 => HONEST,
            5..=6 => Reply::Say(Answer::Value(self.any_value())),
            _ => Reply::Say(Answer::ServerWins),
        }
    }

    fn retires(&mut self, through: u64) -> Reply {
        if !self.is_troubled(600) {
            return HONEST;
        }
        match self.random.below(5) {
            0 => Reply::Say(threw("retire")),
            1 => Reply::DoAndSay(threw("retire")),
            2 => Reply::Say(Answer::Confirmed(through + 1)),
            3 => Reply::Say(Answer::Confirmed(0)),
            _ => Reply::Say(Answer::Confirmed(through - 1)),
        }
    }

    /// How a push fares; for other calls it says nothing.
    pub(super) fn mood_of_push(&mut self, call: &Call) -> Mood {
        let Call::Push(request) = call else { return Mood::Honest };
        if self.stubborn.contains(&request.key) {
            let etags = [None, Some("stuck"), Some("stuck"), Some("stuck"), Some("moved")];
            return Mood::Stubborn(self.random.pick(&etags));
        }
        let has_named = self.stage.server.has_named(&request.idempotency_key);
        if self.random.chance(if has_named { self.wavering.max(self.renaming) } else { self.renaming }) {
            return Mood::Renamed(self.target(&request.key));
        }
        if self.random.chance(15) {
            return Mood::Deleted;
        }
        if !self.random.chance(self.turbulence) {
            return Mood::Honest;
        }
        match self.random.below(20) {
            0..=6 => Mood::LostOnTheWay,
            7..=13 => Mood::AnswerLost,
            14..=15 => Mood::Twice,
            16..=17 => Mood::Stubborn(self.random.pick(&[None, Some("a"), Some("b")])),
            18 => Mood::Refused,
            _ => Mood::Renamed(self.target(&request.key)),
        }
    }

    /// Another name for a key: mostly one that an alias may have.
    fn target(&mut self, key: &Identity) -> Identity {
        if self.random.chance(80) {
            return self.any_key();
        }
        let fitting: Vec<usize> =
            (0..self.keys.len()).filter(|at| self.keys[*at].namespace == key.namespace).collect();
        let at = self.random.pick(&fitting);
        self.keys[at].clone()
    }
}
