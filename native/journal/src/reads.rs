//! Typed reads of the journal's rows.

use std::ops::ControlFlow;

use bytes::Bytes;

use crate::keys::{KeyRange, Part, RowKey, mutation_key};
use crate::records::{Ack, Attempt, Effect, Execution, Failure, Identity, Intent, Tombstone};
use crate::rows::{Row, RowError, decode};
use crate::rules::{Rule, Violation};
use crate::storage::{Rows, StorageError};

/// Why the journal could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The storage failed.
    #[error("the journal's storage failed: {0}")]
    Storage(#[from] StorageError),
    /// A row breaks a rule.
    #[error("the journal is damaged, {0}")]
    Rule(#[from] Violation),
}

/// The rule that a row breaks that can't be read.
pub(crate) fn unreadable(key: &[u8], error: RowError) -> JournalError {
    let rule = match error {
        RowError::Version(_) => Rule::FormatVersion,
        RowError::Cut | RowError::Checksum | RowError::Fields => Rule::RowReadable,
    };
    Violation { rule, row: format!("{}: {error}", describe(key)) }.into()
}

/// A key in words.
pub(crate) fn describe(key: &[u8]) -> String {
    match RowKey::parse(key) {
        None => format!("the row with key {}", hex(key)),
        Some(RowKey::Version) => "the format version".to_owned(),
        Some(RowKey::Client) => "the client".to_owned(),
        Some(RowKey::Mutation(sequence, part)) => match part {
            Part::Intent => format!("the intent of mutation {sequence}"),
            Part::Execution => format!("the execution of mutation {sequence}"),
            Part::Attempt(generation) => format!("generation {generation} of mutation {sequence}"),
            Part::Ack(generation) => format!("the answer to generation {generation} of mutation {sequence}"),
            Part::Failure(id) => format!("failure {id} of mutation {sequence}"),
            Part::Effect(index) => format!("effect {index} of mutation {sequence}"),
        },
        Some(RowKey::Alias(source)) => format!("the alias of {source}"),
        Some(RowKey::Tombstone(identity, sequence)) => {
            format!("the tombstone of {identity} by mutation {sequence}")
        }
        Some(RowKey::Pending(identity, sequence)) => {
            format!("the index of pending rows at {identity}, mutation {sequence}")
        }
        Some(RowKey::Dead(_, failure)) => format!("the index of dead letters at failure {failure}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads records. What must be there and is not is damage.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'a>(pub(crate) &'a dyn Rows);

impl Reads<'_> {
    pub(crate) fn find<R: Row>(&self, key: &[u8]) -> Result<Option<R>, JournalError> {
        match self.0.get(key)? {
            None => Ok(None),
            Some(value) => decode(key, &value).map(Some).map_err(|error| unreadable(key, error)),
        }
    }

    fn part<R: Row>(&self, sequence: u64, part: Part) -> Result<R, JournalError> {
        let key = mutation_key(sequence, part);
        self.find(&key)?.ok_or_else(|| {
            Violation { rule: Rule::MutationWhole, row: format!("{} is missing", describe(&key)) }.into()
        })
    }

    pub(crate) fn intent(&self, sequence: u64) -> Result<Intent, JournalError> {
        self.part(sequence, Part::Intent)
    }

    pub(crate) fn execution(&self, sequence: u64) -> Result<Execution, JournalError> {
        self.part(sequence, Part::Execution)
    }

    /// `None` for a sequence that was never given, or is pruned.
    pub(crate) fn find_execution(&self, sequence: u64) -> Result<Option<Execution>, JournalError> {
        self.find(&mutation_key(sequence, Part::Execution))
    }

    pub(crate) fn attempt(&self, sequence: u64, generation: u32) -> Result<Attempt, JournalError> {
        self.part(sequence, Part::Attempt(generation))
    }

    pub(crate) fn ack(&self, sequence: u64, generation: u32) -> Result<Ack, JournalError> {
        self.part(sequence, Part::Ack(generation))
    }

    fn all<R: Row, K>(
        &self,
        range: &KeyRange,
        mut pick: impl FnMut(RowKey) -> Option<K>,
    ) -> Result<Vec<(K, R)>, JournalError> {
        let mut found = Vec::new();
        let mut failed = None;
        self.0.scan(range, &mut |key: &[u8], value: &Bytes| {
            let Some(picked) = RowKey::parse(key).and_then(&mut pick) else {
                failed = Some(unreadable(key, RowError::Fields));
                return ControlFlow::Break(());
            };
            match decode(key, value) {
                Ok(record) => found.push((picked, record)),
                Err(error) => {
                    failed = Some(unreadable(key, error));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        failed.map_or(Ok(found), Err)
    }

    /// The failures of a mutation, by id.
    pub(crate) fn failures(&self, sequence: u64) -> Result<Vec<(u64, Failure)>, JournalError> {
        self.all(&KeyRange::failures(sequence), |key| match key {
            RowKey::Mutation(_, Part::Failure(id)) => Some(id),
            _ => None,
        })
    }

    /// The effects of a mutation, by index.
    pub(crate) fn effects(&self, sequence: u64) -> Result<Vec<(u32, Effect)>, JournalError> {
        self.all(&KeyRange::effects(sequence), |key| match key {
            RowKey::Mutation(_, Part::Effect(index)) => Some(index),
            _ => None,
        })
    }

    /// The tombstones of an identity, by creator.
    pub(crate) fn tombstones(&self, identity: &Identity) -> Result<Vec<(u64, Tombstone)>, JournalError> {
        self.all(&KeyRange::tombstones_of(identity), |key| match key {
            RowKey::Tombstone(_, sequence) => Some(sequence),
            _ => None,
        })
    }

    /// One failure of a mutation.
    pub(crate) fn failure(&self, sequence: u64, id: u64) -> Result<Failure, JournalError> {
        self.part(sequence, Part::Failure(id))
    }

    /// Every tombstone, by identity and creator.
    pub(crate) fn all_tombstones(&self) -> Result<Vec<(Identity, u64, Tombstone)>, JournalError> {
        let found = self.all(&KeyRange::tombstones(), |key| match key {
            RowKey::Tombstone(identity, sequence) => Some((identity, sequence)),
            _ => None,
        })?;
        Ok(found.into_iter().map(|((identity, creator), tombstone)| (identity, creator, tombstone)).collect())
    }

    /// The lowest pending sequence of an intent's identity, from `from` on.
    pub(crate) fn first_pending(&self, identity: &Identity, from: u64) -> Result<Option<u64>, JournalError> {
        let mut first = None;
        self.0.scan(&KeyRange::pending_of(identity, from), &mut |key, _| {
            first = key.last_chunk::<8>().map(|sequence| u64::from_be_bytes(*sequence));
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// The pending sequences of an intent's identity.
    pub(crate) fn pending_of(&self, identity: &Identity) -> Result<Vec<u64>, JournalError> {
        let mut sequences = Vec::new();
        self.0.scan(&KeyRange::pending_of(identity, 0), &mut |key, _| {
            sequences.extend(key.last_chunk::<8>().map(|sequence| u64::from_be_bytes(*sequence)));
            ControlFlow::Continue(())
        })?;
        Ok(sequences)
    }

    /// Every identity of an intent with pending rows, with the lowest sequence of each.
    pub(crate) fn pending_identities(&self) -> Result<Vec<(Identity, u64)>, JournalError> {
        let mut found: Vec<(Identity, u64)> = Vec::new();
        let mut last_prefix: Vec<u8> = Vec::new();
        let mut failed = None;
        self.0.scan(&KeyRange::pending(), &mut |key, _| {
            // Only the first row of an identity is read; the others share all but the sequence with it.
            let prefix = &key[..key.len().saturating_sub(8)];
            if prefix == last_prefix {
                return ControlFlow::Continue(());
            }
            prefix.clone_into(&mut last_prefix);
            match RowKey::parse(key) {
                Some(RowKey::Pending(identity, sequence)) => found.push((identity, sequence)),
                _ => failed = Some(unreadable(key, RowError::Fields)),
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        failed.map_or(Ok(found), Err)
    }

    /// The sequences of the dead letters, by the time they were parked.
    pub(crate) fn dead(&self) -> Result<Vec<u64>, JournalError> {
        let mut sequences = Vec::new();
        self.0.scan(&KeyRange::dead(), &mut |_, value| {
            sequences.extend(value.first_chunk::<8>().map(|sequence| u64::from_be_bytes(*sequence)));
            ControlFlow::Continue(())
        })?;
        Ok(sequences)
    }

    /// The key of every row of the mutations from `first` to `last`.
    pub(crate) fn keys_of(&self, first: u64, last: u64) -> Result<Vec<Vec<u8>>, JournalError> {
        let mut keys = Vec::new();
        self.0.scan(&KeyRange::mutations(first, last), &mut |key, _| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }
}
