//! One call of the engine as a callback of the application: bytes become values and values bytes, errors become answers.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use parsley_journal::action::{self, Answer, Call, Mutator, PushRequest};
use parsley_journal::records::{Identity, Presence};

use crate::cancellation::Cancellation;
use crate::error::BoxError;
use crate::mutators::{Erased, MutatorError, Projection};
use crate::ports::{Accepted, Merge, Push, PushOutcome, Resolution, StoreKey};
use crate::store::Ports;
use crate::work::Done;

/// A callback's answer, or the error that it failed with.
type Called = Result<Answer, BoxError>;

impl MutatorError {
    pub(crate) fn into_source(self) -> BoxError {
        match self {
            Self::Args(source) | Self::Threw(source) => source,
        }
    }
}

impl<K: StoreKey, V: Send + Sync + 'static> Ports<K, V> {
    /// Does a call. An error comes back in words, and as itself beside them.
    pub(crate) fn perform(&self, call: &Call, cancellation: &Cancellation) -> Done {
        match self.call(call, cancellation) {
            Ok(answer) => answer.into(),
            Err(error) => {
                // A callback that fails because the caller gave up has not failed.
                let given_up =
                    cancellation.is_cancelled() && !matches!(call, Call::Commit { .. } | Call::Sync);
                let answer = if given_up { Answer::Cancelled } else { Answer::Threw(error.to_string()) };
                Done { answer, error: Some(error) }
            }
        }
    }

    fn call(&self, call: &Call, cancellation: &Cancellation) -> Called {
        match call {
            Call::Commit { batch, .. } => done(self.storage.write(batch).map_err(Into::into)),
            Call::Sync => done(self.storage.sync().map_err(Into::into)),
            Call::Draw { window_ms } => Ok(Answer::Drawn(self.jitter.draw(*window_ms))),
            Call::Resolve(identity) => self.resolve(identity, cancellation),
            Call::Status(identity) => Ok(Answer::Meta(self.local.status(&self.key(identity)?)?)),
            Call::Read(identity) => self.read(identity),
            Call::Project { key, mutator, base, .. } => self.project(key, mutator, base),
            Call::Precondition { key, base, mine, base_meta } => {
                let Some(policy) = &self.merge else { return Ok(Answer::Meta(base_meta.clone())) };
                let version = self.codec.version();
                let base = self.value(version, base)?;
                let mine = self.value(version, mine)?;
                Ok(Answer::Meta(policy.precondition(&self.key(key)?, base, mine, base_meta.clone())?))
            }
            Call::Stales { key, mutator, .. } => self.stales(key, mutator),
            Call::Decode { mutator, codec_version, base, mine, .. } => {
                Ok(self.decodable(mutator, *codec_version, [base, mine]))
            }
            Call::Push(request) => self.push(request, cancellation),
            Call::FreshRead(key) => done(self.local.fresh_read(&self.key(key)?, cancellation)),
            Call::Merge { key, codec_version, base, mine, theirs } => {
                self.merged(key, *codec_version, [base, mine], theirs)
            }
            Call::Apply { key, value, codec_version } => match self.codec.decode(*codec_version, value) {
                Ok(value) => done(self.local.apply(&self.key(key)?, value)),
                Err(error) => Ok(Answer::Codec(error.to_string())),
            },
            Call::ConfirmFresh { key, etag } => {
                done(self.local.confirm_fresh(&self.key(key)?, etag.as_deref()))
            }
            Call::Clear(key) => done(self.local.clear(&self.key(key)?)),
            Call::MarkStale(key) => done(self.local.mark_stale(&self.key(key)?)),
            Call::Invalidate(namespace) => done(self.local.invalidate_namespace(namespace)),
            Call::Retire { through } => {
                Ok(Answer::Confirmed(self.server.retire(&self.client, *through, cancellation)?))
            }
        }
    }

    /// The key of an identity that the engine knows to be kept.
    fn key(&self, identity: &Identity) -> Result<K, BoxError> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(identity).cloned().ok_or_else(|| format!("the key of {identity} was forgotten").into())
    }

    fn resolve(&self, identity: &Identity, cancellation: &Cancellation) -> Called {
        Ok(match self.resolver.resolve(identity, cancellation)? {
            Resolution::Unknown => Answer::Unknown,
            Resolution::Unavailable => Answer::Unavailable,
            Resolution::Key(key) => {
                let found = key.identity();
                if found == *identity {
                    self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(found, key);
                    Answer::Known
                } else {
                    Answer::Mismatch(found.to_string())
                }
            }
        })
    }

    fn read(&self, identity: &Identity) -> Called {
        let value = self.local.read(&self.key(identity)?)?;
        Ok(self.encoded(value.as_ref()))
    }

    fn encoded(&self, value: Option<&V>) -> Answer {
        match value.map(|value| self.codec.encode(value)) {
            None => Answer::Value(Presence::Absent),
            Some(Ok(bytes)) if u32::try_from(bytes.len()).is_err() => {
                Answer::Codec(format!("a value of {} bytes is too long to be journaled", bytes.len()))
            }
            Some(Ok(bytes)) => Answer::Value(Presence::Present(Bytes::from(bytes))),
            Some(Err(error)) => Answer::Codec(error.to_string()),
        }
    }

    fn value(&self, version: u32, value: &Presence) -> Result<Option<V>, BoxError> {
        match value {
            Presence::Absent => Ok(None),
            Presence::Present(bytes) => self.codec.decode(version, bytes).map(Some),
        }
    }

    fn mutator(&self, mutator: &Mutator) -> Result<&dyn Erased<K, V>, Answer> {
        self.mutators.0.get(&mutator.name).map(|it| &**it).ok_or_else(|| {
            Answer::MutatorMissing(format!("no mutator '{}' is registered: register it again", mutator.name))
        })
    }

    fn project(&self, key: &Identity, mutator: &Mutator, base: &Presence) -> Called {
        let found = match self.mutator(mutator) {
            Ok(found) => found,
            Err(answer) => return Ok(answer),
        };
        let base = match self.value(self.codec.version(), base) {
            Ok(base) => base,
            Err(error) => return Ok(Answer::Codec(error.to_string())),
        };
        match found.project(mutator.version, &mutator.args, &self.key(key)?, base) {
            Ok(Projection::Value(value)) => Ok(self.encoded(Some(&value))),
            Ok(Projection::Absent) => Ok(Answer::Value(Presence::Absent)),
            Ok(Projection::Decline) => Ok(Answer::Declined),
            Err(MutatorError::Args(error)) => Ok(Answer::ArgsCodec(error.to_string())),
            Err(MutatorError::Threw(error)) => Err(error),
        }
    }

    fn stales(&self, key: &Identity, mutator: &Mutator) -> Called {
        let found = match self.mutator(mutator) {
            Ok(found) => found,
            Err(answer) => return Ok(answer),
        };
        let stales = found
            .stales(mutator.version, &mutator.args, &self.key(key)?)
            .map_err(MutatorError::into_source)?;
        Ok(Answer::Stales {
            keys: stales.keys.iter().map(StoreKey::identity).collect(),
            namespaces: stales.namespaces.into_iter().map(Arc::from).collect(),
        })
    }

    fn decodable(&self, mutator: &Mutator, version: u32, values: [&Presence; 2]) -> Answer {
        let found = match self.mutator(mutator) {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        if let Err(error) = found.check(mutator.version, &mutator.args) {
            return Answer::ArgsCodec(error.into_source().to_string());
        }
        for value in values {
            if let Err(error) = self.value(version, value) {
                return Answer::Codec(error.to_string());
            }
        }
        Answer::Done
    }

    fn push(&self, request: &PushRequest, cancellation: &Cancellation) -> Called {
        let push = Push {
            key: self.key(&request.key)?,
            identity: request.key.clone(),
            client: request.client.clone(),
            sequence: request.sequence,
            generation: request.generation,
            retired_through: request.retired_through,
            idempotency_key: request.idempotency_key.clone(),
            base: self.value(request.codec_version, &request.base)?,
            mine: self.value(request.codec_version, &request.mine)?,
            base_meta: request.base_meta.clone(),
        };
        Ok(match self.server.push(push, cancellation)? {
            PushOutcome::Conflict(meta) => Answer::Conflict(meta),
            PushOutcome::Rejected(reason) => Answer::Rejected(reason),
            PushOutcome::Accepted(Accepted { value, etag, target }) => match self.encoded(value.as_ref()) {
                Answer::Value(value) => Answer::Accepted(action::Accepted {
                    value,
                    codec_version: self.codec.version(),
                    etag,
                    target,
                }),
                // The server has it and its answer can't be kept: the push is repeated until it can.
                other => return Err(format!("the server's answer can't be journaled: {other:?}").into()),
            },
        })
    }

    fn merged(
        &self,
        key: &Identity,
        version: u32,
        [base, mine]: [&Presence; 2],
        theirs: &Presence,
    ) -> Called {
        let Some(policy) = &self.merge else { return Ok(Answer::ServerWins) };
        let base = self.value(version, base)?;
        let mine = self.value(version, mine)?;
        let theirs = self.value(self.codec.version(), theirs)?;
        Ok(match policy.merge(&self.key(key)?, base, mine, theirs)? {
            Merge::ServerWins => Answer::ServerWins,
            Merge::Retry(None) => Answer::Value(Presence::Absent),
            Merge::Retry(Some(value)) => self.encoded(Some(&value)),
        })
    }
}

fn done(result: Result<(), BoxError>) -> Called {
    result.map(|()| Answer::Done)
}
