//! A sound journal with a row of every kind, made by hand, for tests that damage it or write to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::keys::{CLIENT_KEY, Part, RowKey, VERSION_KEY, mutation_key};
use crate::memory::MemoryStorage;
use crate::names::{AliasState, Disposition, FailureKind, Phase, TombstoneState};
use crate::records::{
    Ack, Alias, Attempt, Client, Conflict, Effect, EffectTarget, Execution, Failure, Identity, Intent,
    Presence, Tombstone,
};
use crate::rows::{FORMAT_VERSION, Row, encode};

/// Rows by key.
#[derive(Clone, Default)]
pub(crate) struct Journal(pub(crate) BTreeMap<Vec<u8>, Bytes>);

pub(crate) const CLIENT: &str = "c";

pub(crate) fn client() -> Client {
    Client { allocated: 7, retired_through: 1, ..Client::new(CLIENT.into(), 1, 1) }
}

pub(crate) fn intent(namespace: &str, id: &str) -> Intent {
    Intent {
        identity: Identity::new(namespace, id),
        mutator: "m".into(),
        mutator_version: 1,
        args: Bytes::new(),
        retry_of: None,
        created_at: 1,
    }
}

/// An execution of a phase, after one push where there was one.
pub(crate) fn execution(phase: Phase) -> Execution {
    let prepared = !matches!(phase, Phase::Unprepared | Phase::Parked);
    let pushed = prepared && !matches!(phase, Phase::Ready | Phase::Inflight);
    Execution {
        phase,
        generation: u32::from(prepared),
        attempt: u32::from(pushed),
        last_attempt_at: pushed.then_some(4),
        active_failure: (phase == Phase::Parked).then_some(1),
        retired_at: (phase == Phase::Retired).then_some(5),
        ..Execution::new()
    }
}

pub(crate) fn attempt(sequence: u64, namespace: &str, id: &str) -> Attempt {
    Attempt {
        identity: Identity::new(namespace, id),
        codec_version: 1,
        base: Presence::Absent,
        mine: Presence::Present("v".into()),
        precondition: None,
        retired_through: 0,
        idempotency_key: client().idempotency_key(sequence, 1).into(),
        prepared_at: 2,
        conflict: None,
    }
}

pub(crate) fn ack(value: Presence, target: Option<Identity>) -> Ack {
    Ack { value, codec_version: 1, etag: None, target, received_at: 4 }
}

pub(crate) fn effect(disposition: Disposition) -> Effect {
    let completed_at = (disposition != Disposition::Pending).then_some(5);
    Effect { target: EffectTarget::Namespace("z".into()), created_at: 2, disposition, completed_at }
}

pub(crate) fn failure() -> Failure {
    Failure {
        generation: 0,
        kind: FailureKind::Projection,
        detail: "projection-throw".into(),
        message: "no".into(),
        first_at: 3,
        last_at: 3,
        count: 1,
    }
}

pub(crate) fn present() -> Presence {
    Presence::Present("v".into())
}

impl Journal {
    pub(crate) fn put<R: Row>(&mut self, key: Vec<u8>, record: &R) {
        let value = encode(&key, record);
        self.0.insert(key, value);
    }

    pub(crate) fn part<R: Row>(&mut self, sequence: u64, part: Part, record: &R) {
        self.put(mutation_key(sequence, part), record);
    }

    pub(crate) fn raw(&mut self, key: &RowKey, value: impl Into<Bytes>) {
        self.0.insert(key.encode(), value.into());
    }

    pub(crate) fn remove(&mut self, key: &RowKey) {
        self.0.remove(&key.encode()).expect("the row was there");
    }

    /// A mutation with its execution, its index row, and the attempt of its generation.
    pub(crate) fn mutation(&mut self, sequence: u64, namespace: &str, id: &str, phase: Phase) {
        let execution = execution(phase);
        self.part(sequence, Part::Intent, &intent(namespace, id));
        self.part(sequence, Part::Execution, &execution);
        if execution.generation > 0 {
            self.part(sequence, Part::Attempt(1), &attempt(sequence, namespace, id));
        }
        if phase.is_pending() {
            self.raw(&RowKey::Pending(Identity::new(namespace, id), sequence), Bytes::new());
        }
    }

    /// 1 retired, 2 acked with an alias, 3 parked, 4 unprepared, 5 met a conflict, 6 adopted a deletion, 7 ready.
    pub(crate) fn sound() -> Self {
        let mut journal = Self::default();
        journal.raw(&RowKey::Version, vec![FORMAT_VERSION]);
        journal.put(CLIENT_KEY.to_vec(), &client());
        journal.mutation(1, "a", "1", Phase::Retired);
        journal.part(1, Part::Ack(1), &ack(Presence::Absent, None));
        journal.part(1, Part::Effect(0), &effect(Disposition::Applied));
        journal.put(
            RowKey::Tombstone(Identity::new("a", "1"), 1).encode(),
            &Tombstone {
                state: TombstoneState::Active,
                created_at: 4,
                activated_at: Some(5),
                superseded_by: None,
                superseded_at: None,
            },
        );
        journal.mutation(2, "a", "2", Phase::Acked);
        journal.part(2, Part::Ack(1), &ack(present(), Some(Identity::new("a", "t"))));
        journal.put(
            RowKey::Alias(Identity::new("a", "2")).encode(),
            &Alias {
                target: Identity::new("a", "t"),
                state: AliasState::Pending,
                created_by: 2,
                created_at: 4,
                activated_at: None,
            },
        );
        journal.mutation(3, "b", "3", Phase::Parked);
        journal.part(3, Part::Failure(1), &failure());
        journal.raw(&RowKey::Dead(3, 1), 3u64.to_be_bytes().to_vec());
        journal.mutation(4, "b", "4", Phase::Unprepared);
        journal.mutation(5, "d", "5", Phase::RefreshRequired);
        let conflict = Some(Conflict { meta: None, received_at: 4 });
        journal.part(5, Part::Attempt(1), &Attempt { conflict, ..attempt(5, "d", "5") });
        journal.mutation(6, "e", "6", Phase::EffectsPending);
        journal.part(6, Part::Ack(1), &ack(Presence::Absent, None));
        journal.part(6, Part::Effect(0), &effect(Disposition::Pending));
        journal.put(RowKey::Tombstone(Identity::new("e", "6"), 6).encode(), &Tombstone::new(4));
        journal.mutation(7, "b", "7", Phase::Ready);
        journal
    }

    pub(crate) fn rows(self) -> Arc<MemoryStorage> {
        Arc::new(MemoryStorage::from(self.0))
    }

    /// The same without its format version, as no journal is.
    pub(crate) fn unversioned(mut self) -> Self {
        self.0.remove(VERSION_KEY);
        self
    }
}
