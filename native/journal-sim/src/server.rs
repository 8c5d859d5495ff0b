//! The other side: it deduplicates by idempotency key, checks preconditions, and loses what it says.

use std::collections::{BTreeMap, HashMap};

use parsley_journal::action::{Accepted, Answer, PushRequest};
use parsley_journal::records::{Identity, Meta, Presence};

/// How a push fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As the contract says.
    Honest,
    /// It never arrives.
    LostOnTheWay,
    /// It is applied, and the answer is lost.
    AnswerLost,
    /// It arrives twice.
    Twice,
    /// It will never be taken.
    Refused,
    /// The server signals a conflict with this version, whatever it has.
    Stubborn(Option<&'static str>),
    /// It is taken, and the server names another identity for it, also for a push that it has named one for before.
    Renamed(Identity),
    /// It is taken as a deletion.
    Deleted,
}

/// The server and its own log.
#[derive(Debug, Default)]
pub struct Server {
    values: HashMap<Identity, (Presence, u64)>,
    answers: HashMap<String, Accepted>,
    versions: u64,
    /// What had an effect, in order: sequence and generation.
    pub log: Vec<(u64, u32)>,
    /// Effects by sequence.
    pub effects: BTreeMap<u64, u32>,
    confirmed: u64,
}

impl Server {
    /// Answers a push.
    pub fn push(&mut self, request: &PushRequest, mood: &Mood) -> Answer {
        match mood {
            Mood::LostOnTheWay => Answer::Threw("the connection was refused".to_owned()),
            Mood::AnswerLost => {
                self.take(request, mood);
                Answer::Threw("the connection was reset".to_owned())
            }
            Mood::Twice => {
                self.take(request, mood);
                self.take(request, mood)
            }
            _ => self.take(request, mood),
        }
    }

    fn take(&mut self, request: &PushRequest, mood: &Mood) -> Answer {
        if let Some(answer) = self.answers.get_mut(&*request.idempotency_key) {
            if let Mood::Renamed(target) = mood
                && answer.value != Presence::Absent
            {
                answer.target = Some(target.clone());
            }
            return Answer::Accepted(answer.clone());
        }
        match mood {
            Mood::Refused => return Answer::Rejected("over quota".to_owned()),
            Mood::Stubborn(etag) => {
                let meta = etag.map(|etag| Meta { written_at: None, etag: Some(etag.into()) });
                return Answer::Conflict(meta);
            }
            _ => {}
        }
        let current = self.value(&request.key);
        if !fits(request, &current) {
            return Answer::Conflict(current.1);
        }
        self.versions += 1;
        let value = if *mood == Mood::Deleted { Presence::Absent } else { request.mine.clone() };
        let target = match mood {
            Mood::Renamed(target) => Some(target.clone()),
            _ => None,
        };
        if let Some(target) = &target {
            self.values.insert(target.clone(), (value.clone(), self.versions));
        }
        self.values.insert(request.key.clone(), (value.clone(), self.versions));
        let etag = Some(self.versions.to_string().into());
        let answer = Accepted { value, codec_version: request.codec_version, etag, target };
        self.answers.insert(request.idempotency_key.to_string(), answer.clone());
        self.log.push((request.sequence, request.generation));
        *self.effects.entry(request.sequence).or_default() += 1;
        Answer::Accepted(answer)
    }

    /// Whether it has answered this push with another identity.
    pub fn has_named(&self, idempotency_key: &str) -> bool {
        self.answers.get(idempotency_key).is_some_and(|answer| answer.target.is_some())
    }

    /// What it has, with its version.
    pub fn value(&self, key: &Identity) -> (Presence, Option<Meta>) {
        match self.values.get(key) {
            Some((Presence::Present(value), version)) => {
                let etag = Some(version.to_string().into());
                (Presence::Present(value.clone()), Some(Meta { written_at: None, etag }))
            }
            _ => (Presence::Absent, None),
        }
    }

    /// Somebody else writes.
    pub fn write(&mut self, key: &Identity, value: Presence) {
        self.versions += 1;
        self.values.insert(key.clone(), (value, self.versions));
    }

    /// Confirms a checkpoint.
    pub fn retire(&mut self, through: u64) -> u64 {
        self.confirmed = self.confirmed.max(through);
        self.confirmed
    }
}

/// Whether the server still has what the push was computed from, as far as the push says.
fn fits(request: &PushRequest, (value, meta): &(Presence, Option<Meta>)) -> bool {
    let etag = |meta: &Option<Meta>| meta.as_ref().and_then(|meta| meta.etag.clone());
    match (&request.base, etag(&request.base_meta)) {
        (Presence::Absent, _) => *value == Presence::Absent,
        (Presence::Present(_), None) => true,
        (Presence::Present(_), wanted) => wanted == etag(meta),
    }
}
