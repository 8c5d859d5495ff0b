//! The `RocksDB` backend: one database per task.
//!
//! Rows are in the default column family, changelog offsets in the family `offsets`. The directory holds `lock`, which
//! keeps other stores out, and `rows`, the database. Everything in the database can be rebuilt from the changelog, so a
//! database that does not open, or in which a read has met damage, is deleted and begun anew.

use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use parsley_core::rows::RowVisitor;
use rocksdb::{
    ColumnFamily, DB, DEFAULT_COLUMN_FAMILY_NAME, ErrorKind, FlushOptions, Options, ReadOptions, WriteBatch,
    WriteOptions,
};

use crate::backend::{Backend, Batch};
use crate::error::StoreError;
use crate::range::{Direction, KeyRange};
use crate::settings::{Settings, Shared};

const OFFSETS: &str = "offsets";
const LOCK_FILE: &str = "lock";
const ROWS_DIRECTORY: &str = "rows";
/// Present in a directory whose rows a read has found damaged.
const DAMAGED_FILE: &str = "damaged";

/// A database in a directory of its own. Dropping it closes the database and then frees the directory.
pub struct RocksBackend {
    /// `None` only while the database is being replaced, or after that has failed.
    db: Option<DB>,
    reads: ReadOptions,
    options: Options,
    directory: PathBuf,
    settings: Settings,
    /// When the oldest batch was written that may not be durable yet.
    unflushed_since: Option<Instant>,
    /// Budgets that must live as long as the database.
    _shared: Arc<Shared>,
    /// Declared after the database, so that the directory is free only once the database has closed.
    _lock: DirectoryLock,
}

impl RocksBackend {
    /// Opens the database of a directory, creating what is missing and replacing what does not open.
    pub fn open(directory: &Path, settings: Settings) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(|e| StoreError::io("creating the store's directory", &e))?;
        let lock = lock(directory)?;
        let shared = Shared::of(&settings);
        let options = shared.options(&settings);
        let mut backend = Self {
            db: None,
            reads: ReadOptions::default(),
            options,
            directory: directory.to_owned(),
            settings,
            unflushed_since: None,
            _shared: shared,
            _lock: lock,
        };
        if backend.damage_marker().exists() {
            backend.clear()?;
        } else {
            match backend.open_rows() {
                Ok(db) => backend.db = Some(db),
                // Whatever is wrong, the changelog has the rows; what can't be helped by emptying fails again here.
                Err(_) => backend.clear()?,
            }
        }
        Ok(backend)
    }

    fn rows_directory(&self) -> PathBuf {
        self.directory.join(ROWS_DIRECTORY)
    }

    fn damage_marker(&self) -> PathBuf {
        self.directory.join(DAMAGED_FILE)
    }

    fn open_rows(&self) -> Result<DB, rocksdb::Error> {
        DB::open_cf_with_opts(
            &self.options,
            self.rows_directory(),
            [(DEFAULT_COLUMN_FAMILY_NAME, self.options.clone()), (OFFSETS, self.options.clone())],
        )
    }

    fn db(&self) -> Result<&DB, StoreError> {
        self.db.as_ref().ok_or_else(|| StoreError::io("reaching the database", &"it could not be replaced"))
    }

    /// Turns an error of `RocksDB` into ours, and has the next opening rebuild rows that were found damaged.
    fn failed(&self, action: &'static str, error: &rocksdb::Error) -> StoreError {
        if error.kind() == ErrorKind::Corruption {
            // If the marker can't be written the damage is met again, and refused again.
            let _ = File::create(self.damage_marker());
        }
        StoreError::io(action, error)
    }
}

fn offsets_of(db: &DB) -> &ColumnFamily {
    db.cf_handle(OFFSETS).expect("the database is only ever opened with this column family")
}

fn rows_of(db: &DB) -> &ColumnFamily {
    db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME).expect("every database has this column family")
}

/// Keeps other stores out of a directory.
struct DirectoryLock(File);

impl Drop for DirectoryLock {
    /// Closing the file would not do: a process that is being spawned right now has it open as well until it runs its
    /// program, and would keep the directory locked meanwhile.
    fn drop(&mut self) {
        // Can't fail for a lock that is held; if it did, closing the file is what is left.
        let _ = self.0.unlock();
    }
}

/// Takes the directory for this store. Ours rather than `RocksDB`'s lock, because `RocksDB` tells a lock that is held from
/// damage only in the text of its error.
fn lock(directory: &Path) -> Result<DirectoryLock, StoreError> {
    let failed = |e: io::Error| StoreError::io("locking the store's directory", &e);
    let file = File::create(directory.join(LOCK_FILE)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(DirectoryLock(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { directory: directory.to_owned() }),
        Err(TryLockError::Error(e)) => Err(failed(e)),
    }
}

impl Backend for RocksBackend {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value =
            self.db()?.get_pinned_opt(key, &self.reads).map_err(|e| self.failed("reading a row", &e))?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
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
        let mut reads = ReadOptions::default();
        if let Some(from) = range.from() {
            reads.set_iterate_lower_bound(from);
        }
        if let Some(to) = range.to() {
            reads.set_iterate_upper_bound(to);
        }
        let mut rows = self.db()?.raw_iterator_opt(reads);
        match direction {
            Direction::Forward => rows.seek_to_first(),
            Direction::Reverse => rows.seek_to_last(),
        }
        while let Some((key, value)) = rows.item() {
            if visitor(key, value) == ControlFlow::Break(()) {
                return Ok(());
            }
            match direction {
                Direction::Forward => rows.next(),
                Direction::Reverse => rows.prev(),
            }
        }
        rows.status().map_err(|e| self.failed("scanning rows", &e))
    }

    fn approximate_entries(&self) -> Result<u64, StoreError> {
        let count = self.db()?.property_int_value(rocksdb::properties::ESTIMATE_NUM_KEYS);
        Ok(count.map_err(|e| self.failed("counting rows", &e))?.unwrap_or(0))
    }

    fn offsets(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let db = self.db()?;
        let mut offsets = Vec::new();
        let mut rows = db.raw_iterator_cf(offsets_of(db));
        rows.seek_to_first();
        while let Some((name, offset)) = rows.item() {
            match (std::str::from_utf8(name), offset.try_into()) {
                (Ok(name), Ok(offset)) => offsets.push((name.to_owned(), i64::from_be_bytes(offset))),
                // Not written by this build: as good as no offset, and rows without one are not believed.
                _ => return Ok(Vec::new()),
            }
            rows.next();
        }
        rows.status().map_err(|e| self.failed("reading the stored offsets", &e))?;
        Ok(offsets)
    }

    fn write(&mut self, batch: Batch<'_, '_>) -> Result<(), StoreError> {
        let db = self.db()?;
        let mut writes = WriteBatch::default();
        for (key, value) in batch.rows {
            match value {
                Some(value) => writes.put(key, value),
                None => writes.delete(key),
            }
        }
        for (name, offset) in batch.offsets {
            match offset {
                Some(offset) => writes.put_cf(offsets_of(db), name, offset.to_be_bytes()),
                None => writes.delete_cf(offsets_of(db), name),
            }
        }
        // No write-ahead log: the changelog is the log. Atomic flush keeps what a crash leaves on disk a prefix of the
        // written batches, and each batch that stores an offset stores the rows up to it, so the changelog from the
        // offset found on disk onwards holds exactly what the crash took.
        let mut how = WriteOptions::default();
        how.disable_wal(true);
        db.write_opt(writes, &how).map_err(|e| self.failed("writing rows", &e))?;

        let since = *self.unflushed_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.settings.flush_age_max { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let db = self.db()?;
        db.flush_cfs_opt(&[rows_of(db), offsets_of(db)], &FlushOptions::default())
            .map_err(|e| self.failed("flushing rows", &e))?;
        self.unflushed_since = None;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.db = None;
        match fs::remove_dir_all(self.rows_directory()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("emptying the store", &e));
            }
            _ => {}
        }
        self.db = Some(self.open_rows().map_err(|e| StoreError::io("opening the emptied store", &e))?);
        self.unflushed_since = None;
        match fs::remove_file(self.damage_marker()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("emptying the store", &e)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use parsley_core::rows::Rows;
    use tempfile::TempDir;

    use super::*;
    use crate::store::OrderingStore;

    #[test]
    fn closed_stores_leave_nothing_in_the_budgets_they_shared() {
        // Sizes that no other test has, so that the budgets are theirs alone.
        let settings = Settings { block_cache_bytes: 11 << 20, ..Settings::default() };
        let shared = Shared::of(&settings);
        let homes: Vec<TempDir> = (0..3).map(|_| TempDir::new().unwrap()).collect();
        for round in 1..=3 {
            let mut stores = Vec::new();
            for home in &homes {
                let backend = RocksBackend::open(home.path(), settings.clone()).unwrap();
                let mut store = OrderingStore::open(backend).unwrap();
                for key in 0..100_u8 {
                    store.put(vec![key].into(), Some(vec![key; 1_000].into())).unwrap();
                }
                store.commit(&[("changelog-0".to_owned(), Some(round))]).unwrap();
                assert!(Rows::get(&store, &[7]).unwrap().is_some());
                stores.push(store);
            }
            assert!(shared.write_buffers.get_usage() > 0);
            for store in stores {
                store.close().unwrap();
            }
            assert_eq!(shared.write_buffers.get_usage(), 0);
            assert_eq!(shared.block_cache.get_pinned_usage(), 0);
        }
    }
}
