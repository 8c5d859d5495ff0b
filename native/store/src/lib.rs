//! The ordering store: rows staged in memory over committed ones, and the engine that runs on them.
//!
//! # When a row reaches the backend
//!
//! A row is *staged* until it is known that the transaction its changelog record belongs to has committed. Staged rows
//! live in memory only, reads see them, and they reach the backend, in one batch each time, by exactly four ways:
//!
//! | call | rows written | stored offset, in the same batch |
//! |---|---|---|
//! | [`OrderingStore::commit`] | everything staged | becomes the one given |
//! | [`OrderingStore::settle`] | what earlier flushes staged, not what was staged since | forgotten |
//! | [`OrderingStore::restore`] past its bound | what was restored | forgotten |
//! | [`OrderingStore::commit`] with no offsets | everything staged | forgotten |
//!
//! Kafka Streams calls `commit` after each transaction when `enable.transactional.statestores` is on. When it is off
//! it does not, and the first sign that the transaction of a flush has committed is the next flush: that is when
//! `settle` is called. So a stored offset claims neither more nor less than the rows beside it.
//!
//! At open, rows without an offset are not believed, and dropped; Kafka Streams restores them from the changelog. A
//! crash takes staged rows and leaves a prefix of the written batches (see [`Backend`]), so what is found on disk is a
//! committed prefix of the changelog that ends at the stored offset, or it is dropped. An offset that is forgotten is
//! forgotten durably at once.
//!
//! # Failures stick
//!
//! After a failure of the backend the store refuses every call until it is opened again. After a refusal of the engine
//! a [`Task`] gives that refusal again until an engine is opened anew.

mod backend;
mod error;
mod memory;
mod overlay;
mod range;
mod read_ahead;
#[cfg(feature = "rocksdb")]
mod rocks;
#[cfg(feature = "rocksdb")]
mod settings;
mod store;
mod task;

pub use backend::{Backend, Batch, RowChange};
pub use error::StoreError;
pub use memory::{MemoryBackend, MemoryDisk};
pub use range::{Direction, KeyRange};
#[cfg(feature = "rocksdb")]
pub use rocks::RocksBackend;
#[cfg(feature = "rocksdb")]
pub use settings::Settings;
pub use store::{OrderingStore, RESTORE_STAGED_BYTES_MAX};
pub use task::{RowSink, Task, TaskError};
