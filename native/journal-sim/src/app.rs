//! The application: its keys, its mutators, and what it has confirmed of the server's values.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parsley_journal::action::{Answer, Mutator};
use parsley_journal::records::{Identity, Meta, Presence};

use crate::server::Server;

/// What a mutator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Sets a value.
    Set,
    /// Adds to the base.
    Append,
    /// Sets a value, and declines where there is none.
    Update,
    /// Deletes.
    Delete,
    /// Fails.
    Throw,
    /// Has arguments that can't be read.
    Garbled,
    /// Is not known any more.
    Missing,
}

/// One request of the application; a mutation's arguments are its number.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do.
    pub doing: Doing,
    /// Keys that become stale.
    pub keys: Vec<Identity>,
    /// Namespaces that become stale.
    pub namespaces: Vec<Arc<str>>,
}

/// The application. It outlives the processes: its confirmed values are durable for themselves.
#[derive(Debug, Default)]
pub struct App {
    requests: Vec<Request>,
    local: HashMap<Identity, (Presence, Option<Meta>)>,
}

impl App {
    /// A mutator for a request.
    pub fn request(&mut self, request: Request) -> Mutator {
        self.requests.push(request);
        let args = (self.requests.len() - 1).to_string();
        Mutator { name: "m".into(), version: 1, args: args.into() }
    }

    fn number(mutator: &Mutator) -> Option<usize> {
        std::str::from_utf8(&mutator.args).ok()?.parse().ok()
    }

    fn requested(&self, mutator: &Mutator) -> Option<&Request> {
        self.requests.get(Self::number(mutator)?)
    }

    /// Reads the arguments; `None` if they can be.
    pub fn unreadable(&self, mutator: &Mutator) -> Option<Answer> {
        match self.requested(mutator).map(|request| request.doing) {
            None | Some(Doing::Garbled) => Some(Answer::ArgsCodec("the arguments are garbled".to_owned())),
            Some(Doing::Missing) => Some(Answer::MutatorMissing("no mutator m in version 1".to_owned())),
            Some(_) => None,
        }
    }

    /// What a mutator makes of a base.
    pub fn project(&self, mutator: &Mutator, base: &Presence) -> Answer {
        if let Some(failed) = self.unreadable(mutator) {
            return failed;
        }
        let arg = Self::number(mutator).unwrap_or_default();
        let present = |value: String| Answer::Value(Presence::Present(Bytes::from(value)));
        match (self.requested(mutator).map_or(Doing::Garbled, |request| request.doing), base) {
            (Doing::Append, Presence::Present(base)) => {
                // The end is enough to tell values apart, and keeps them short.
                let tail = &base[base.len().saturating_sub(12)..];
                present(format!("{}.{arg}", String::from_utf8_lossy(tail)))
            }
            (Doing::Update, Presence::Absent) => Answer::Declined,
            (Doing::Delete, _) => Answer::Value(Presence::Absent),
            (Doing::Throw, _) => Answer::Threw(format!("request {arg} can't be done")),
            _ => present(format!("v{arg}")),
        }
    }

    /// What else becomes stale.
    pub fn stales(&self, mutator: &Mutator) -> Answer {
        match self.requested(mutator) {
            Some(request) => {
                Answer::Stales { keys: request.keys.clone(), namespaces: request.namespaces.clone() }
            }
            None => Answer::Threw("the arguments are garbled".to_owned()),
        }
    }

    /// The confirmed base.
    pub fn read(&self, key: &Identity) -> Presence {
        self.local.get(key).map_or(Presence::Absent, |(value, _)| value.clone())
    }

    /// The metadata of the confirmed base.
    pub fn status(&self, key: &Identity) -> Option<Meta> {
        self.local.get(key).and_then(|(_, meta)| meta.clone())
    }

    /// Fetches what the server has.
    pub fn fetch(&mut self, key: &Identity, server: &Server) {
        self.local.insert(key.clone(), server.value(key));
    }

    /// Adopts a value.
    pub fn apply(&mut self, key: &Identity, value: Bytes) {
        let meta = self.status(key);
        self.local.insert(key.clone(), (Presence::Present(value), meta));
    }

    /// Notes the version of an adopted value.
    pub fn confirm_fresh(&mut self, key: &Identity, etag: Option<Arc<str>>) {
        if let Some((Presence::Present(_), meta)) = self.local.get_mut(key) {
            *meta = etag.map(|etag| Meta { written_at: None, etag: Some(etag) });
        }
    }

    /// Forgets a value.
    pub fn clear(&mut self, key: &Identity) {
        self.local.remove(key);
    }
}
