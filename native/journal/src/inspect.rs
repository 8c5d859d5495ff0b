//! The journal as values, for people and for schedulers. Each answer is one look at committed rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use crate::backoff;
use crate::engine::Engine;
use crate::keys::{KeyRange, Part, RowKey};
use crate::names::PendingState;
use crate::reads::{JournalError, Reads, unreadable};
use crate::records::{Ack, Alias, Attempt, Client, Effect, Execution, Failure, Identity, Intent, Tombstone};
use crate::routes::Routes;
use crate::rows::{Row, RowError, decode};
use crate::state::State;

/// Why the last dispatch of a row in this process came to nothing, where no row tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Its mutator has nothing to do on the base, for now.
    Declined,
    /// What else becomes stale could not be told.
    StalesFailed,
    /// A local port failed before the answer.
    PortFailed,
}

impl Stall {
    /// The name that is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::StalesFailed => "stales-failed",
            Self::PortFailed => "port-failed",
        }
    }
}

/// A mutation that is still to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRow {
    /// The end of its identity's route.
    pub key: Identity,
    /// Its sequence.
    pub sequence: u64,
    /// Its mutator.
    pub mutator: Arc<str>,
    /// Where it stands.
    pub state: PendingState,
    /// Completed pushes of its current generation.
    pub attempt: u32,
    /// When it was accepted.
    pub created_at: i64,
    /// Why its last dispatch in this process came to nothing, where no row tells.
    pub stall: Option<Stall>,
}

/// A mutation that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The identity it was frozen with, else the one it was accepted for.
    pub key: Identity,
    /// Its sequence.
    pub sequence: u64,
    /// Its mutator.
    pub mutator: Arc<str>,
    /// Its last generation; 0 if it was never prepared.
    pub generation: u32,
    /// Completed pushes of that generation.
    pub attempts: u32,
    /// Why.
    pub failure: Failure,
    /// When.
    pub parked_at: i64,
    /// The server may have applied it.
    pub remote_outcome_unknown: bool,
}

/// A lane that has an owner, or work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRow {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The mutation that owns it, with where it stands.
    pub owner: Option<LaneOwner>,
    /// Mutations that wait in it, the owner included.
    pub pending: u64,
    /// When the oldest of them was accepted.
    pub oldest_created_at: i64,
}

/// The owner of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneOwner {
    /// Its sequence.
    pub sequence: u64,
    /// Where it stands.
    pub state: PendingState,
    /// Completed pushes of its current generation.
    pub attempts: u32,
    /// When a drain of everything will try it at the latest; `None` if nothing holds it back.
    pub eligible_by: Option<i64>,
}

/// Every row of a journal, by the order of its reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// The client; `None` before the first mutation.
    pub client: Option<Client>,
    /// Intents by sequence.
    pub intents: Vec<(u64, Intent)>,
    /// Executions by sequence.
    pub executions: Vec<(u64, Execution)>,
    /// Attempts by sequence and generation.
    pub attempts: Vec<(u64, u32, Attempt)>,
    /// Answers by sequence and generation.
    pub acks: Vec<(u64, u32, Ack)>,
    /// Failures by id, with their sequence.
    pub failures: Vec<(u64, u64, Failure)>,
    /// Effects by sequence and index.
    pub effects: Vec<(u64, u32, Effect)>,
    /// Aliases by source.
    pub aliases: Vec<(Identity, Alias)>,
    /// Tombstones by identity and creator.
    pub tombstones: Vec<(Identity, u64, Tombstone)>,
}

impl Engine {
    /// The client row; `None` before the first mutation.
    pub fn client(&self) -> Option<Client> {
        self.shared().lock().known().client.clone()
    }

    /// The pending mutations of a key and of all that leads to the same end, by sequence. Asks no resolver.
    pub fn pending(&self, key: &Identity) -> Result<Vec<PendingRow>, JournalError> {
        let mut state = self.shared().lock();
        state.cache()?;
        let terminal = state.terminal(key);
        let mut rows = Vec::new();
        for identity in state.known().routes.all_leading_to(&terminal) {
            for sequence in state.reads().pending_of(&identity)? {
                rows.extend(pending_row(&state, sequence)?);
            }
        }
        rows.sort_unstable_by_key(|row| row.sequence);
        Ok(rows)
    }

    /// All pending mutations, by sequence.
    pub fn pending_writes(&self) -> Result<Vec<PendingRow>, JournalError> {
        let mut state = self.shared().lock();
        state.cache()?;
        let mut sequences = Vec::new();
        for (identity, _) in state.reads().pending_identities()? {
            sequences.extend(state.reads().pending_of(&identity)?);
        }
        sequences.sort_unstable();
        let mut rows = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            rows.extend(pending_row(&state, sequence)?);
        }
        Ok(rows)
    }

    /// The mutations that were given up and are neither retried nor discarded, by the time they were parked.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, JournalError> {
        let state = self.shared().lock();
        let reads = state.reads();
        reads.dead()?.into_iter().map(|sequence| dead_letter(reads, sequence)).collect()
    }

    /// The lanes that have work, by namespace.
    pub fn lanes(&self) -> Result<Vec<LaneRow>, JournalError> {
        let mut state = self.shared().lock();
        state.cache()?;
        lanes(&state)
    }

    /// Every row.
    pub fn dump(&self) -> Result<Dump, JournalError> {
        let mut state = self.shared().lock();
        state.cache()?;
        dump(state.reads(), state.known().client.clone(), &state.known().routes)
    }
}

fn pending_row(state: &State, sequence: u64) -> Result<Option<PendingRow>, JournalError> {
    let intent = state.reads().intent(sequence)?;
    let execution = state.reads().execution(sequence)?;
    Ok(PendingState::of(execution.phase).map(|pending| PendingRow {
        // Where a generation is frozen is on the same route, so it ends where the intent's does.
        key: state.terminal(&intent.identity),
        sequence,
        mutator: intent.mutator,
        state: pending,
        attempt: execution.attempt,
        created_at: intent.created_at,
        stall: state.stalls.get(&sequence).copied(),
    }))
}

fn dead_letter(reads: Reads<'_>, sequence: u64) -> Result<DeadLetter, JournalError> {
    let intent = reads.intent(sequence)?;
    let execution = reads.execution(sequence)?;
    let key = match execution.generation {
        0 => intent.identity,
        generation => reads.attempt(sequence, generation)?.identity,
    };
    let failure = reads.failure(sequence, execution.active_failure.unwrap_or_default())?;
    Ok(DeadLetter {
        key,
        sequence,
        mutator: intent.mutator,
        generation: execution.generation,
        attempts: execution.attempt,
        parked_at: failure.last_at,
        failure,
        remote_outcome_unknown: execution.remote_outcome_unknown,
    })
}

fn lanes(state: &State) -> Result<Vec<LaneRow>, JournalError> {
    let mut lanes: Vec<LaneRow> = Vec::new();
    for (identity, first) in state.reads().pending_identities()? {
        let pending = state.reads().pending_of(&identity)?.len() as u64;
        let created_at = state.reads().intent(first)?.created_at;
        match lanes.last_mut() {
            // Identities come sorted, so those of a namespace follow each other.
            Some(lane) if lane.namespace == identity.namespace => {
                lane.pending += pending;
                lane.oldest_created_at = lane.oldest_created_at.min(created_at);
            }
            _ => {
                let owner = state.known().owners.get(&identity.namespace);
                lanes.push(LaneRow {
                    owner: owner.map(|sequence| lane_owner(state, *sequence)).transpose()?.flatten(),
                    namespace: identity.namespace,
                    pending,
                    oldest_created_at: created_at,
                });
            }
        }
    }
    Ok(lanes)
}

fn lane_owner(state: &State, sequence: u64) -> Result<Option<LaneOwner>, JournalError> {
    let execution = state.reads().execution(sequence)?;
    let post_ack = execution.phase.is_post_ack();
    let failures = if post_ack { state.reads().failures(sequence)? } else { Vec::new() };
    let eligible_by = backoff::last_try(&execution, &failures).map(|(count, since)| {
        since.saturating_add(i64::try_from(backoff::window_ms(count)).unwrap_or(i64::MAX))
    });
    Ok(PendingState::of(execution.phase).map(|state| LaneOwner {
        sequence,
        state,
        attempts: execution.attempt,
        eligible_by,
    }))
}

fn dump(reads: Reads<'_>, client: Option<Client>, routes: &Routes) -> Result<Dump, JournalError> {
    let mut dump = Dump { client, ..Dump::default() };
    let mut failed = None;
    reads.0.scan(&KeyRange::mutations(1, u64::MAX), &mut |key, value| match dump.add(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    dump.failures.sort_unstable_by_key(|(id, _, _)| *id);
    dump.aliases = routes.iter().map(|(source, alias)| (source.clone(), alias.clone())).collect();
    dump.tombstones = reads.all_tombstones()?;
    Ok(dump)
}

impl Dump {
    fn add(&mut self, key: &[u8], value: &Bytes) -> Result<(), JournalError> {
        match RowKey::parse(key) {
            Some(RowKey::Mutation(sequence, part)) => match part {
                Part::Intent => self.intents.push((sequence, read(key, value)?)),
                Part::Execution => self.executions.push((sequence, read(key, value)?)),
                Part::Attempt(generation) => self.attempts.push((sequence, generation, read(key, value)?)),
                Part::Ack(generation) => self.acks.push((sequence, generation, read(key, value)?)),
                Part::Failure(id) => self.failures.push((id, sequence, read(key, value)?)),
                Part::Effect(index) => self.effects.push((sequence, index, read(key, value)?)),
            },
            // No other rows are in the range that is read.
            _ => return Err(unreadable(key, RowError::Fields)),
        }
        Ok(())
    }
}

fn read<R: Row>(key: &[u8], value: &Bytes) -> Result<R, JournalError> {
    decode(key, value).map_err(|error| unreadable(key, error))
}
