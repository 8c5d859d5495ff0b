//! Accepting an intent: T0.

use crate::action::{CallId, Mutator};
use crate::event::EventKind;
use crate::io::{Interrupt, Io, KeyAnswer, Thrown};
use crate::names::Transition;
use crate::records::{Client, Identity, Intent};
use crate::report::{Outcome, Refused, RefusedKind};
use crate::state::State;

/// A request to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What it is about.
    pub key: Identity,
    /// How to compute the new value.
    pub mutator: Mutator,
}

pub(crate) async fn mutate(io: Io, mutation: Mutation) -> Outcome {
    match accept(&io, mutation).await {
        Ok(sequence) => Outcome::Mutated(sequence),
        Err(refused) => Outcome::Refused(refused),
    }
}

async fn accept(io: &Io, mutation: Mutation) -> Result<u64, Refused> {
    io.state().kept.insert(mutation.key.clone());
    loop {
        let terminal = io.state().terminal(&mutation.key);
        match io.key_of(&terminal).await? {
            KeyAnswer::Known => {}
            KeyAnswer::Unavailable => {
                let message = format!("the resolver can't tell the key of {terminal} now: try again");
                return Err(Refused { kind: RefusedKind::Unavailable, message, call: None });
            }
            KeyAnswer::Failed(_, Thrown { message, call }) => {
                return Err(Refused { kind: RefusedKind::Unresolved, message, call });
            }
        }
        let accepted = io
            .commit(Transition::T0, |transaction, state| {
                if state.terminal(&mutation.key) != terminal {
                    // An alias became active meanwhile: begin again at the new end of the route.
                    return Ok((None, None));
                }
                let intent = Intent {
                    identity: terminal.clone(),
                    mutator: mutation.mutator.name.clone(),
                    mutator_version: mutation.mutator.version,
                    args: mutation.mutator.args.clone(),
                    retry_of: None,
                    created_at: state.now,
                };
                let sequence = transaction.enqueue(&intent, || first_client(state))?;
                Ok((Some(sequence), Some(sequence)))
            })
            .await?;
        if let Some(sequence) = accepted {
            announce(io, sequence, &terminal, &mutation.mutator);
            io.durable().await?;
            return Ok(sequence);
        }
    }
}

/// Tells of an accepted intent.
pub(crate) fn announce(io: &Io, sequence: u64, identity: &Identity, mutator: &Mutator) {
    let kind = EventKind::Enqueued { mutator: mutator.name.clone() };
    io.state().emit(Some(sequence), Some(identity), kind);
}

/// The client row of a journal that has none.
pub(crate) fn first_client(state: &State) -> Client {
    Client::new(state.config.client.clone(), state.config.epoch, state.now)
}

impl From<Interrupt> for Refused {
    fn from(interrupt: Interrupt) -> Self {
        let (kind, message, call): (_, _, Option<CallId>) = match interrupt {
            Interrupt::Cancelled => (RefusedKind::Cancelled, "the caller gave up".to_owned(), None),
            Interrupt::Fatal(call) => (RefusedKind::Fatal, "a callback panicked".to_owned(), Some(call)),
            Interrupt::Failed(Thrown { message, call }) => (RefusedKind::Storage, message, call),
        };
        Self { kind, message, call }
    }
}
