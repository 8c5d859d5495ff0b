//! What a crash leaves: a committed prefix of what was written, with the offset that belongs to it, or nothing.
//!
//! A child process runs a seeded script on `RocksDB` and aborts. The parent opens what it left and compares it with the
//! states that the same script goes through in memory.

use std::collections::BTreeMap;
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, Command};

use bytes::Bytes;
use parsley_store::{Backend, MemoryBackend, MemoryDisk, OrderingStore, RocksBackend, Settings};
use tempfile::TempDir;

use crate::support::{NAME, Random, commit, offset, rows};

const DIRECTORY: &str = "PARSLEY_CRASH_DIRECTORY";
const SEED: &str = "PARSLEY_CRASH_SEED";
const SIGABRT: i32 = 6;

type Contents = Vec<(Bytes, Bytes)>;

/// Memtables so small that the script fills some of them: a crash then leaves something on disk.
fn settings() -> Settings {
    Settings { memtable_bytes: 64 * 1024, ..Settings::default() }
}

fn open_rocks(directory: &Path) -> OrderingStore<RocksBackend> {
    OrderingStore::open(RocksBackend::open(directory, settings()).unwrap()).unwrap()
}

/// Runs the script of a seed; shows the store after each commit.
///
/// Commits number themselves with their offset. Steps are flushed, and settled where `settles` says so, which forgets
/// the offset until the next commit.
fn run<B: Backend>(
    store: &mut OrderingStore<B>,
    seed: u64,
    mut committed: impl FnMut(i64, &OrderingStore<B>),
) {
    let mut random = Random::seeded(seed);
    let settles = random.below(2) == 0;
    let steps = i64::try_from(50 + random.below(400)).unwrap();
    for step in 1..=steps {
        for _ in 0..random.below(6) {
            let key = Bytes::from(format!("key {}", random.below(64)));
            let value = (random.below(4) > 0).then(|| {
                let width = usize::try_from(random.below(2000)).unwrap();
                Bytes::from(format!("{step} {}", "x".repeat(width)))
            });
            store.put_flushed(key, value).unwrap();
        }
        if settles && random.below(8) > 0 {
            store.settle().unwrap();
        } else {
            commit(store, step);
            committed(step, store);
        }
    }
}

/// Not a rule by itself: the process that the other tests crash.
#[test]
fn child_that_crashes_when_asked_to() {
    let (Ok(directory), Ok(seed)) = (env::var(DIRECTORY), env::var(SEED)) else {
        return;
    };
    let mut store = open_rocks(Path::new(&directory));
    run(&mut store, seed.parse().unwrap(), |_, _| ());
    process::abort();
}

/// A command that runs the child test on a directory.
fn child(directory: &Path, seed: u64) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "crash::child_that_crashes_when_asked_to", "--nocapture"]);
    command.env(DIRECTORY, directory).env(SEED, seed.to_string());
    command
}

fn states(seed: u64) -> BTreeMap<i64, Contents> {
    let mut states = BTreeMap::new();
    let mut store = OrderingStore::open(MemoryBackend::open(&MemoryDisk::new()).unwrap()).unwrap();
    run(&mut store, seed, |offset, store| {
        states.insert(offset, rows(store));
    });
    states
}

/// Rows are those of the offset beside them; without one there are none.
fn assert_committed_prefix<B: Backend>(store: &OrderingStore<B>, states: &BTreeMap<i64, Contents>) {
    let expected = offset(store).map_or_else(Vec::new, |offset| states[&offset].clone());
    assert!(rows(store) == expected, "the rows are not those of offset {:?}", offset(store));
}

#[test]
fn a_killed_process_leaves_a_committed_prefix_and_its_offset() {
    let mut prefixes = 0;
    for seed in 1..=24 {
        let directory = TempDir::new().unwrap();
        let crashed = child(directory.path(), seed).output().unwrap();
        assert_eq!(crashed.status.signal(), Some(SIGABRT), "seed {seed}: {crashed:?}");
        let store = open_rocks(directory.path());
        println!("seed {seed}: left at {:?}", offset(&store));
        assert_committed_prefix(&store, &states(seed));
        prefixes += u32::from(offset(&store).is_some());
    }
    assert!(prefixes > 5, "only {prefixes} crashes left anything, so the test shows little");
}

#[test]
fn a_crash_of_the_memory_twin_leaves_a_committed_prefix_and_its_offset() {
    for seed in 1..=24 {
        let states = states(seed);
        for batches_kept in [0, 1, 7, 100, usize::MAX] {
            println!("seed {seed}, {batches_kept} batches kept");
            let disk = MemoryDisk::new();
            run(&mut OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap(), seed, |_, _| ());
            disk.crash(batches_kept);
            let store = OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap();
            assert_committed_prefix(&store, &states);
        }
    }
}

#[test]
fn a_crash_does_not_bring_a_forgotten_offset_back() {
    let disk = MemoryDisk::new();
    let mut store = OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap();
    store.put_flushed(Bytes::from_static(b"a"), Some(Bytes::from_static(b"1"))).unwrap();
    commit(&mut store, 1);
    store.put_flushed(Bytes::from_static(b"a"), None).unwrap();
    store.settle().unwrap();
    assert_eq!(disk.crash(0), 0);
    drop(store);
    let store = OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap();
    assert_eq!(store.committed_offset(NAME), Ok(None));
    assert_eq!(rows(&store), []);
}
