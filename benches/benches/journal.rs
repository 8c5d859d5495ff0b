//! What the mutation journal costs without Java: accepting, draining through a server that answers at once, and opening.
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

use std::sync::Arc;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use parsley_journal::Config;
use parsley_journal::engine::Engine;
use parsley_journal::keys::KeyRange;
use parsley_journal::memory::MemoryStorage;
use parsley_journal::storage::{Batch, RowVisitor, Rows};
use parsley_mutations::{
    Accepted, BoxError, Cancellation, Codec, Identity, LocalState, Meta, MutationStore, MutatorHandle,
    Mutators, Push, PushOutcome, Resolution, RocksStorage, Server, Storage, StorageError,
};

/// Mutations per measured run in memory.
const MUTATIONS: u64 = 1_000;
/// Mutations per measured run where each waits for the disk.
const MUTATIONS_ON_DISK: u64 = 50;
/// Pending mutations of a journal that is opened.
const PENDING: u64 = 10_000;
const KEYS_PER_NAMESPACE: u64 = 10;
const VALUE_BYTES: usize = 100;

struct Bytewise;

impl Codec<Vec<u8>> for Bytewise {
    fn version(&self) -> u32 {
        1
    }

    fn encode(&self, value: &Vec<u8>) -> Result<Vec<u8>, BoxError> {
        Ok(value.clone())
    }

    fn decode(&self, _: u32, bytes: &[u8]) -> Result<Vec<u8>, BoxError> {
        Ok(bytes.to_vec())
    }
}

/// A server that takes everything at once, and a client that keeps nothing.
struct AtOnce;

impl Server<Identity, Vec<u8>> for AtOnce {
    fn push(
        &self,
        push: Push<Identity, Vec<u8>>,
        _: &Cancellation,
    ) -> Result<PushOutcome<Vec<u8>>, BoxError> {
        Ok(PushOutcome::Accepted(Accepted { value: push.mine, etag: None, target: None }))
    }

    fn retire(&self, _: &str, through: u64, _: &Cancellation) -> Result<u64, BoxError> {
        Ok(through)
    }
}

impl LocalState<Identity, Vec<u8>> for AtOnce {
    fn status(&self, _: &Identity) -> Result<Option<Meta>, BoxError> {
        Ok(None)
    }

    fn read(&self, _: &Identity) -> Result<Option<Vec<u8>>, BoxError> {
        Ok(None)
    }

    fn fresh_read(&self, _: &Identity, _: &Cancellation) -> Result<(), BoxError> {
        Ok(())
    }

    fn apply(&self, _: &Identity, _: Vec<u8>) -> Result<(), BoxError> {
        Ok(())
    }

    fn confirm_fresh(&self, _: &Identity, _: Option<&str>) -> Result<(), BoxError> {
        Ok(())
    }

    fn clear(&self, _: &Identity) -> Result<(), BoxError> {
        Ok(())
    }

    fn mark_stale(&self, _: &Identity) -> Result<(), BoxError> {
        Ok(())
    }

    fn invalidate_namespace(&self, _: &str) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Rows that outlive the store that wrote them.
#[derive(Clone)]
struct Kept(Arc<MemoryStorage>);

impl Rows for Kept {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        self.0.get(key)
    }

    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError> {
        self.0.scan(range, visitor)
    }
}

impl Storage for Kept {
    fn write(&self, batch: &Batch) -> Result<(), StorageError> {
        self.0.write(batch)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.0.sync()
    }
}

/// A store and what is done to it. Dropped after its directory's rows, which are gone with the directory.
struct Bench {
    store: MutationStore<Identity, Vec<u8>>,
    set: MutatorHandle<Vec<u8>>,
    value: Vec<u8>,
    _directory: Option<tempfile::TempDir>,
}

impl Bench {
    fn with(storage: impl Storage + 'static, directory: Option<tempfile::TempDir>) -> Self {
        let mut mutators = Mutators::new();
        let set = mutators.create("set", Bytewise, |value: &Vec<u8>| Ok(value.clone()));
        let set = set.expect("the name is free");
        let resolver = |identity: &Identity| Resolution::Key(identity.clone());
        let store = MutationStore::builder("bench", resolver, Bytewise, AtOnce, AtOnce)
            .mutators(mutators)
            .storage(storage)
            .open()
            .expect("an empty journal opens");
        Self { store, set, value: vec![7; VALUE_BYTES], _directory: directory }
    }

    fn in_memory() -> Self {
        Self::with(MemoryStorage::new(), None)
    }

    fn on_disk() -> Self {
        let directory = tempfile::tempdir().expect("there is room for a directory");
        let storage = RocksStorage::open(directory.path()).expect("an empty directory opens");
        Self::with(storage, Some(directory))
    }

    fn accept(self, count: u64, namespaces: u64) -> Self {
        for number in 0..count {
            let key = number / namespaces % KEYS_PER_NAMESPACE;
            let key = Identity::new(format!("n{}", number % namespaces), format!("k{key}"));
            self.store.mutate(&key, &self.set, &self.value).expect("it is accepted");
        }
        self
    }

    fn drain(self) -> Self {
        self.store.drain_all().expect("the server takes everything");
        assert_eq!(self.store.pending_writes().expect("the store is open"), []);
        self
    }
}

fn config() -> Config {
    Config {
        client: "bench".into(),
        epoch: 1,
        codec_version: 1,
        chooses_preconditions: false,
        lanes_max: 1,
        attempts_max: None,
        age_max_ms: None,
    }
}

// What a run made is returned, so that taking it down is not measured.
fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("journal in memory");
    group.throughput(Throughput::Elements(MUTATIONS));
    group.bench_function("enqueue", |b| {
        b.iter_batched(Bench::in_memory, |it| it.accept(MUTATIONS, 20), BatchSize::SmallInput);
    });
    for namespaces in [1, 20] {
        let full = || Bench::in_memory().accept(MUTATIONS, namespaces);
        group.bench_function(format!("drain, {namespaces} namespaces"), |b| {
            b.iter_batched(full, Bench::drain, BatchSize::SmallInput);
        });
    }
    group.throughput(Throughput::Elements(PENDING));
    let kept = Kept(Arc::default());
    drop(Bench::with(kept.clone(), None).accept(PENDING, 20));
    group.bench_function("recovery", |b| {
        b.iter(|| Engine::open(kept.0.clone(), config()).expect("the journal is sound"));
    });
    group.finish();

    let mut group = criterion.benchmark_group("journal on disk");
    group.sample_size(20);
    group.throughput(Throughput::Elements(MUTATIONS_ON_DISK));
    group.bench_function("enqueue", |b| {
        b.iter_batched(Bench::on_disk, |it| it.accept(MUTATIONS_ON_DISK, 20), BatchSize::PerIteration);
    });
    for namespaces in [1, 20] {
        let full = || Bench::on_disk().accept(MUTATIONS_ON_DISK, namespaces);
        group.bench_function(format!("drain, {namespaces} namespaces"), |b| {
            b.iter_batched(full, Bench::drain, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(journal_benches, benchmarks);
criterion_main!(journal_benches);
