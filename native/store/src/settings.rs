//! What a user may tune about `RocksDB`, and what the stores of one process share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, LogLevel, Options, WriteBufferManager};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Tuning of the `RocksDB` backend. Stores opened with equal budgets share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Budget of the block cache, for all stores that share it.
    pub block_cache_bytes: usize,
    /// Budget of all memtables, for all stores that share it. Passing it makes stores flush early, never wait.
    pub write_buffer_bytes: usize,
    /// Threads that flush and compact, for the whole process; the largest number asked for holds.
    pub background_threads: i32,
    /// Size at which one store's memtable is flushed.
    pub memtable_bytes: usize,
    /// Written batches are made durable by the first write this long after the oldest of them. It bounds how far a
    /// crash can throw a store back, and has to stay far below the changelog's `delete.retention.ms`: a store thrown
    /// back past it would miss the deletions that compaction has removed from the changelog.
    pub flush_age_max: Duration,
}

impl Default for Settings {
    /// Fits dozens of small stores in one process.
    fn default() -> Self {
        Self {
            block_cache_bytes: 32 * MIB,
            write_buffer_bytes: 32 * MIB,
            background_threads: 2,
            memtable_bytes: 4 * MIB,
            flush_age_max: Duration::from_mins(10),
        }
    }
}

/// The budgets that stores of one process draw on together.
pub(crate) struct Shared {
    pub(crate) block_cache: Cache,
    pub(crate) write_buffers: WriteBufferManager,
}

/// Live budgets by block cache and write buffer bytes. An entry is dead once its last store has closed.
type LiveBudgets = Mutex<Option<HashMap<(usize, usize), Weak<Shared>>>>;

static LIVE: LiveBudgets = Mutex::new(None);

impl Shared {
    pub(crate) fn of(settings: &Settings) -> Arc<Self> {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let live = live.get_or_insert_default();
        live.retain(|_, budgets| budgets.strong_count() > 0);
        let key = (settings.block_cache_bytes, settings.write_buffer_bytes);
        if let Some(shared) = live.get(&key).and_then(Weak::upgrade) {
            return shared;
        }
        let shared = Arc::new(Self {
            block_cache: Cache::new_lru_cache(settings.block_cache_bytes),
            // Stalling is off: a stream thread must not wait for the flushes of another one's store.
            write_buffers: WriteBufferManager::new_write_buffer_manager(settings.write_buffer_bytes, false),
        });
        live.insert(key, Arc::downgrade(&shared));
        shared
    }

    /// Options for the database and each of its column families.
    pub(crate) fn options(&self, settings: &Settings) -> Options {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        // Rows and offsets live in two column families; this makes a crash show both as of the same batch.
        options.set_atomic_flush(true);
        options.set_write_buffer_manager(&self.write_buffers);
        options.set_write_buffer_size(settings.memtable_bytes);
        options.set_arena_block_size(64 * KIB);
        options.set_max_background_jobs(settings.background_threads);
        // Kafka's own stores do not compress either: rows are small and the causes in them hardly repeat.
        options.set_compression_type(DBCompressionType::None);
        options.set_block_based_table_factory(&self.table());
        options.set_target_file_size_base(8 * MIB as u64);
        options.set_max_bytes_for_level_base(32 * MIB as u64);
        // Holds come and go like a queue; files full of deletions would slow the scan at every restart.
        options.add_compact_on_deletion_collector_factory(256, 128, 0.5);
        options.set_max_open_files(64);
        options.set_max_file_opening_threads(1);
        options.set_skip_stats_update_on_db_open(true);
        options.set_manifest_preallocation_size(64 * KIB);
        options.set_max_manifest_file_size(MIB);
        options.set_log_level(LogLevel::Warn);
        options.set_keep_log_file_num(1);
        options.set_max_log_file_size(MIB);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        options
    }

    fn table(&self) -> BlockBasedOptions {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&self.block_cache);
        // Indexes and filters count against the cache as well, or the budget would bound only half of the memory.
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
        table.set_bloom_filter(10.0, false);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(block_cache_bytes: usize) -> Settings {
        Settings { block_cache_bytes, ..Settings::default() }
    }

    #[test]
    fn equal_budgets_are_shared_and_end_with_their_last_store() {
        let first = Shared::of(&settings(7 * MIB));
        let second = Shared::of(&settings(7 * MIB));
        let other = Shared::of(&settings(9 * MIB));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &other));

        let ended = Arc::downgrade(&first);
        drop((first, second));
        assert!(ended.upgrade().is_none());
        assert!(Arc::strong_count(&Shared::of(&settings(7 * MIB))) == 1);
    }
}
