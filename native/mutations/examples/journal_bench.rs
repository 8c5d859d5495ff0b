//! What a journal costs: opening one with a million pending mutations, and draining through a server that answers at once.
//!
//! `journal_bench` prints a table; `journal_bench open DIRECTORY` is what it runs in a process of its own, so that memory is
//! that of the opening alone.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use parsley_journal::Config;
use parsley_journal::action::{Action, Answer, Call, Mutator};
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::mutate::Mutation;
use parsley_mutations::{
    Accepted, BoxError, Cancellation, Codec, Identity, JournalDirectory, LocalState, Meta, MutationStore,
    Mutators, Push, PushOutcome, Resolution, RocksStorage, Server, Storage,
};

const PENDING: u64 = 1_000_000;
const DRAINED_IN_MEMORY: u64 = 50_000;
const DRAINED_ON_DISK: u64 = 3_000;

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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, directory] = &arguments[..]
        && command == "open"
    {
        return open(Path::new(directory));
    }
    for namespaces in [1, 20] {
        drain("memory", namespaces, DRAINED_IN_MEMORY, None)?;
    }
    for namespaces in [1, 20] {
        let directory = tempfile::tempdir()?;
        drain("disk", namespaces, DRAINED_ON_DISK, Some(directory.path()))?;
    }
    let directory = tempfile::tempdir()?;
    fill(directory.path())?;
    let opened = Command::new(std::env::current_exe()?).arg("open").arg(directory.path()).status()?;
    if opened.success() { Ok(()) } else { Err("the opening failed".into()) }
}

/// Accepts and drains so many mutations of 100 bytes, and prints how many a second.
fn drain(what: &str, namespaces: u64, count: u64, directory: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let mut mutators = Mutators::new();
    let set = mutators.create("set", Bytewise, |value: &Vec<u8>| Ok(value.clone()))?;
    let resolver = |identity: &Identity| Resolution::Key(identity.clone());
    let mut builder = MutationStore::builder("bench", resolver, Bytewise, AtOnce, AtOnce).mutators(mutators);
    if let Some(directory) = directory {
        builder = builder.storage(RocksStorage::open(directory)?);
    }
    let store = builder.open()?;
    let value = vec![7; 100];
    let started = Instant::now();
    for number in 0..count {
        let key =
            Identity::new(format!("n{}", number % namespaces), format!("k{}", number / namespaces % 10));
        store.mutate(&key, &set, &value)?;
    }
    let accepted = started.elapsed();
    let started = Instant::now();
    store.drain_all()?;
    let drained = started.elapsed();
    let left = store.pending_writes()?.len();
    println!(
        "{what:>6} {namespaces:>3} namespaces: accepted {:>8.0}/s, drained {:>8.0}/s, left {left}",
        per_second(count, accepted),
        per_second(count, drained)
    );
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn per_second(count: u64, time: std::time::Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Writes a journal of pending mutations of different keys, without a sync for each.
fn fill(directory: &Path) -> Result<(), Box<dyn Error>> {
    let storage = Arc::new(RocksStorage::open(directory)?);
    let config = Config {
        client: "bench".into(),
        epoch: 1,
        codec_version: 1,
        chooses_preconditions: false,
        lanes_max: 1,
        attempts_max: None,
        age_max_ms: None,
    };
    let mut engine = Engine::open(storage.clone(), config)?;
    for number in 0..PENDING {
        let key = Identity::new(format!("namespace-{}", number % 20), format!("key-{number}"));
        let mutator = Mutator { name: "set".into(), version: 1, args: Bytes::from_static(&[7; 100]) };
        engine.start(Operation::Mutate(Mutation { key, mutator }));
        while let Some(action) = engine.next(0) {
            if let Action::Call { id, call, .. } = action {
                if let Call::Commit { batch, .. } = &call {
                    storage.write(batch)?;
                }
                engine.answer(id, Answer::Done);
            }
        }
    }
    storage.sync()?;
    Ok(())
}

fn open(directory: &Path) -> Result<(), Box<dyn Error>> {
    let before = resident_kib()?;
    let started = Instant::now();
    let journal = JournalDirectory::open(directory)?;
    let took = started.elapsed();
    let after = resident_kib()?;
    let allocated = journal.client().map_or(0, |client| client.allocated);
    println!(
        "opened {allocated} pending mutations in {:.2} s, {:.1} MB more resident",
        took.as_secs_f64(),
        f64::from(u32::try_from(after.saturating_sub(before))?) / 1024.0
    );
    Ok(())
}

/// Resident memory, as Linux tells it.
fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM here")?;
    Ok(line.split_whitespace().nth(1).ok_or("VmHWM has no number")?.parse()?)
}
