//! The in-memory twin of the `RocksDB` backend, for tests, simulation and replay.
//!
//! A [`MemoryDisk`] plays the directory: it outlives the store that is open on it, lets one store in at a time, and can
//! be crashed, which takes back the newest batches that were not flushed, as many as the caller says.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parsley_core::rows::RowVisitor;

use crate::backend::{Backend, Batch};
use crate::error::StoreError;
use crate::range::{Direction, KeyRange};

/// Batches that a crash can take back. Older ones count as flushed, which bounds the memory they take.
const UNFLUSHED_BATCHES_MAX: usize = 256;

/// Rows and offsets as they stand after some number of batches.
#[derive(Clone, Debug, Default)]
struct Contents {
    rows: BTreeMap<Bytes, Bytes>,
    offsets: BTreeMap<String, i64>,
}

/// A batch as it was written.
struct Written {
    rows: Vec<(Bytes, Option<Bytes>)>,
    offsets: Vec<(String, Option<i64>)>,
}

impl Contents {
    fn apply(&mut self, written: &Written) {
        for (key, value) in &written.rows {
            match value {
                Some(value) => self.rows.insert(key.clone(), value.clone()),
                None => self.rows.remove(key),
            };
        }
        for (name, offset) in &written.offsets {
            match offset {
                Some(offset) => self.offsets.insert(name.clone(), *offset),
                None => self.offsets.remove(name),
            };
        }
    }
}

#[derive(Default)]
struct Disk {
    flushed: Contents,
    unflushed: VecDeque<Written>,
    now: Contents,
    /// Which opening the store that may use this disk came from; `None` when no store has it open.
    open: Option<u64>,
    openings: u64,
}

/// What an in-memory store leaves behind. Clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Disk>>);

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Crashes the process that has the disk open: its store fails from now on, and of the batches that were not
    /// flushed the first `batches_kept` survive. Returns how many there were.
    pub fn crash(&self, batches_kept: usize) -> usize {
        let mut disk = self.lock();
        let unflushed = disk.unflushed.len();
        let Disk { flushed, unflushed: batches, .. } = &mut *disk;
        for written in batches.drain(..).take(batches_kept) {
            flushed.apply(&written);
        }
        disk.now = disk.flushed.clone();
        disk.open = None;
        unflushed
    }

    /// A panic in a test must not hide what the disk holds: no change of it can be half done.
    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store's hold on a [`MemoryDisk`]; dropping it lets the next store in.
pub struct MemoryBackend {
    disk: MemoryDisk,
    opening: u64,
}

impl MemoryBackend {
    /// Opens a disk that no other store has open.
    pub fn open(disk: &MemoryDisk) -> Result<Self, StoreError> {
        let mut locked = disk.lock();
        if locked.open.is_some() {
            return Err(StoreError::InUse { directory: PathBuf::from("the memory disk") });
        }
        locked.openings += 1;
        let opening = locked.openings;
        locked.open = Some(opening);
        drop(locked);
        Ok(Self { disk: disk.clone(), opening })
    }

    fn disk(&self) -> Result<MutexGuard<'_, Disk>, StoreError> {
        let disk = self.disk.lock();
        if disk.open == Some(self.opening) {
            Ok(disk)
        } else {
            Err(StoreError::io("reaching the memory disk", &"it has crashed"))
        }
    }
}

impl Drop for MemoryBackend {
    fn drop(&mut self) {
        let mut disk = self.disk.lock();
        if disk.open == Some(self.opening) {
            disk.open = None;
        }
    }
}

impl Backend for MemoryBackend {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.disk()?.now.rows.get(key).cloned())
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visitor: &mut RowVisitor<'_>,
    ) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        let disk = self.disk()?;
        let mut rows = disk.now.rows.range::<[u8], _>(range.bounds());
        let mut next = || match direction {
            Direction::Forward => rows.next(),
            Direction::Reverse => rows.next_back(),
        };
        while let Some((key, value)) = next() {
            if visitor(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn approximate_entries(&self) -> Result<u64, StoreError> {
        Ok(self.disk()?.now.rows.len() as u64)
    }

    fn offsets(&self) -> Result<Vec<(String, i64)>, StoreError> {
        Ok(self.disk()?.now.offsets.iter().map(|(name, offset)| (name.clone(), *offset)).collect())
    }

    fn write(&mut self, batch: Batch<'_, '_>) -> Result<(), StoreError> {
        let written = Written {
            rows: batch.rows.map(|(key, value)| (key.clone(), value.cloned())).collect(),
            offsets: batch.offsets.to_vec(),
        };
        let mut disk = self.disk()?;
        disk.now.apply(&written);
        disk.unflushed.push_back(written);
        if disk.unflushed.len() > UNFLUSHED_BATCHES_MAX {
            let Disk { flushed, unflushed, .. } = &mut *disk;
            unflushed.drain(..1).for_each(|oldest| flushed.apply(&oldest));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let mut disk = self.disk()?;
        disk.unflushed.clear();
        disk.flushed = disk.now.clone();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        let mut disk = self.disk()?;
        disk.unflushed.clear();
        disk.now = Contents::default();
        disk.flushed = Contents::default();
        Ok(())
    }
}
