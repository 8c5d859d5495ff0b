//! A journal in a directory, on `RocksDB`.
//!
//! The directory holds `lock`, which keeps other processes out, and `rows`, the database. Unlike the ordering store's,
//! nothing else has these rows: the write-ahead log is on, a batch is durable when it is synced, and a database that does
//! not open is an error, never a reason to begin anew.

use std::fs::{self, File, TryLockError};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use parsley_journal::keys::KeyRange;
use parsley_journal::storage::{Batch, RowVisitor, Rows, Storage, StorageError};
use rocksdb::{BlockBasedOptions, Cache, DB, IteratorMode, Options, ReadOptions, WriteBatch};

const LOCK_FILE: &str = "lock";
const ROWS_DIRECTORY: &str = "rows";

/// Memory for rows that were written and are not in a table file yet.
const WRITE_BUFFER_BYTES: usize = 8 << 20;
/// Memory for rows that were read.
const BLOCK_CACHE_BYTES: usize = 16 << 20;

/// A journal's rows in a directory. One process at a time; closed when it is dropped.
pub struct RocksStorage {
    db: DB,
    /// Batches written so far.
    written: AtomicU64,
    /// Batches that are durable. Held for the length of a sync, never while a batch is written.
    synced: Mutex<u64>,
    /// After a sync has failed nobody knows what the disk has, so nothing is believed until the journal is opened again.
    failed: OnceLock<String>,
    directory: PathBuf,
    /// Declared last, so that the directory is free only once the database has closed.
    _lock: DirectoryLock,
}

/// What a directory is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Change,
    Create,
}

impl RocksStorage {
    /// Opens the journal of a directory, and makes both if they are missing.
    pub fn open(directory: &Path) -> Result<Self, StorageError> {
        fs::create_dir_all(directory).map_err(|e| io("creating", directory, &e))?;
        Self::open_as(directory, Purpose::Create)
    }

    /// Opens the journal of a directory that has one.
    pub fn open_existing(directory: &Path) -> Result<Self, StorageError> {
        Self::is_there(directory)?;
        Self::open_as(directory, Purpose::Change)
    }

    /// Opens the journal of a directory that has one, and changes no file in it. Every write fails.
    pub fn open_read_only(directory: &Path) -> Result<Self, StorageError> {
        Self::is_there(directory)?;
        Self::open_as(directory, Purpose::Read)
    }

    fn is_there(directory: &Path) -> Result<(), StorageError> {
        if directory.join(ROWS_DIRECTORY).is_dir() {
            return Ok(());
        }
        Err(StorageError(format!("{} holds no journal", directory.display())))
    }

    fn open_as(directory: &Path, purpose: Purpose) -> Result<Self, StorageError> {
        let lock = lock(directory, purpose)?;
        let rows = directory.join(ROWS_DIRECTORY);
        let options = options(purpose == Purpose::Create);
        let db = match purpose {
            Purpose::Read => DB::open_for_read_only(&options, rows, false),
            Purpose::Change | Purpose::Create => DB::open(&options, rows),
        };
        let db = db.map_err(|e| io("opening the rows of", directory, &e))?;
        if purpose == Purpose::Create {
            // The names of new files are durable only once their directories are.
            for made in [directory, directory.parent().unwrap_or(directory)] {
                File::open(made).and_then(|it| it.sync_all()).map_err(|e| io("syncing", made, &e))?;
            }
        }
        Ok(Self {
            db,
            written: AtomicU64::new(0),
            synced: Mutex::new(0),
            failed: OnceLock::new(),
            directory: directory.to_owned(),
            _lock: lock,
        })
    }

    fn failure(&self, action: &str, error: &rocksdb::Error) -> StorageError {
        io(action, &self.directory, error)
    }

    fn believed(&self) -> Result<(), StorageError> {
        self.failed.get().map_or(Ok(()), |failure| Err(StorageError(failure.clone())))
    }
}

fn options(create: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(BLOCK_CACHE_BYTES));
    let mut options = Options::default();
    options.create_if_missing(create);
    options.set_block_based_table_factory(&table);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_max_write_buffer_number(2);
    // A tail that was torn by a crash was never acknowledged; damage in front of it is an error.
    options.set_wal_recovery_mode(rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords);
    options.set_max_background_jobs(2);
    options.set_max_open_files(64);
    options.set_keep_log_file_num(2);
    options
}

fn io(action: &str, directory: &Path, error: &dyn std::fmt::Display) -> StorageError {
    StorageError(format!("{action} {}: {error}", directory.display()))
}

struct DirectoryLock(File);

impl Drop for DirectoryLock {
    /// Closing the file would not do: a child that is being spawned right now has it open as well.
    fn drop(&mut self) {
        // Can't fail for a lock that is held; if it did, closing the file is what is left.
        let _ = self.0.unlock();
    }
}

fn lock(directory: &Path, purpose: Purpose) -> Result<DirectoryLock, StorageError> {
    let path = directory.join(LOCK_FILE);
    let file = match purpose {
        Purpose::Create => File::create(path),
        Purpose::Change | Purpose::Read => File::open(path),
    };
    let file = file.map_err(|e| io("locking", directory, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(DirectoryLock(file)),
        Err(TryLockError::WouldBlock) => {
            let what = "is in use by another process: stop it, or ask it";
            Err(StorageError(format!("the journal in {} {what}", directory.display())))
        }
        Err(TryLockError::Error(e)) => Err(io("locking", directory, &e)),
    }
}

impl Rows for RocksStorage {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StorageError> {
        let value = self.db.get(key).map_err(|e| self.failure("reading", &e))?;
        Ok(value.map(Bytes::from))
    }

    fn scan(&self, range: &KeyRange, visitor: &mut RowVisitor<'_>) -> Result<(), StorageError> {
        let mut reads = ReadOptions::default();
        reads.set_iterate_lower_bound(range.start.clone());
        reads.set_iterate_upper_bound(range.end.clone());
        for row in self.db.iterator_opt(IteratorMode::Start, reads) {
            let (key, value) = row.map_err(|e| self.failure("reading", &e))?;
            if let ControlFlow::Break(()) = visitor(&key, &Bytes::from(value)) {
                break;
            }
        }
        Ok(())
    }
}

impl Storage for RocksStorage {
    fn write(&self, batch: &Batch) -> Result<(), StorageError> {
        self.believed()?;
        let mut writes = WriteBatch::default();
        for (key, value) in &batch.0 {
            match value {
                Some(value) => writes.put(key, value),
                None => writes.delete(key),
            }
        }
        self.db.write(writes).map_err(|e| self.failure("writing", &e))?;
        self.written.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Who waits for the sync of another finds, most often, that it has done theirs too.
    fn sync(&self) -> Result<(), StorageError> {
        let wanted = self.written.load(Ordering::Acquire);
        // Nothing that can panic is done under it.
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        self.believed()?;
        if *synced >= wanted {
            return Ok(());
        }
        let through = self.written.load(Ordering::Acquire);
        if let Err(error) = self.db.flush_wal(true) {
            let failure = self.failure("syncing", &error);
            let _ = self.failed.set(format!("{failure}; open the journal again"));
            return Err(failure);
        }
        *synced = through;
        Ok(())
    }
}
