//! What it costs to open a journal with a million pending mutations. What is small enough to be repeated is measured in
//! `benches/benches/journal.rs`.
//!
//! `journal_bench` writes the journal and prints one line; `journal_bench open DIRECTORY` is what it runs in a process of its
//! own, so that memory is that of the opening alone.

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
use parsley_mutations::{Identity, JournalDirectory, RocksStorage, Storage};

const PENDING: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, directory] = &arguments[..]
        && command == "open"
    {
        return open(Path::new(directory));
    }
    let directory = tempfile::tempdir()?;
    fill(directory.path())?;
    let opened = Command::new(std::env::current_exe()?).arg("open").arg(directory.path()).status()?;
    if opened.success() { Ok(()) } else { Err("the opening failed".into()) }
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
