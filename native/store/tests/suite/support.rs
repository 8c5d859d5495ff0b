//! Helpers of the store's tests.

use std::ops::ControlFlow;
#[cfg(feature = "rocksdb")]
use std::{env, path::Path, process::Command};

use bytes::Bytes;
use parsley_store::{Backend, Direction, KeyRange, OrderingStore, StoreError};
#[cfg(feature = "rocksdb")]
use tempfile::TempDir;

/// Splitmix64: a run is a function of its seed.
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// The changelog partition of the store under test.
pub const NAME: &str = "changelog-0";

pub fn commit<B: Backend>(store: &mut OrderingStore<B>, offset: i64) {
    store.commit(&[(NAME.to_owned(), Some(offset))]).unwrap();
}

pub fn offset<B: Backend>(store: &OrderingStore<B>) -> Option<i64> {
    store.committed_offset(NAME).unwrap()
}

/// The rows of a range as the store shows them.
pub fn scanned<B: Backend>(
    store: &OrderingStore<B>,
    range: &KeyRange,
    direction: Direction,
) -> Vec<(Bytes, Bytes)> {
    try_scanned(store, range, direction).unwrap()
}

fn try_scanned<B: Backend>(
    store: &OrderingStore<B>,
    range: &KeyRange,
    direction: Direction,
) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
    let mut rows = Vec::new();
    store.scan(range, direction, &mut |key, value| {
        rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// Every row of the store.
pub fn rows<B: Backend>(store: &OrderingStore<B>) -> Vec<(Bytes, Bytes)> {
    try_rows(store).unwrap()
}

/// Every row of the store, where it can be read.
pub fn try_rows<B: Backend>(store: &OrderingStore<B>) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
    try_scanned(store, &KeyRange::all(), Direction::Forward)
}

/// A command that runs one test of this program, by its full name, in a process of its own.
#[cfg(feature = "rocksdb")]
pub fn child_of_test(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]);
    command
}

/// A directory for a store that a test ends or damages. In memory where the system has such a place: what is tried is the
/// death of a process and damage of files, which the kernel's cache outlives, and waiting for a disk would take minutes.
#[cfg(feature = "rocksdb")]
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap()
}
