//! Writes to the outside world that must happen: journaled, then pushed in order with the same bytes and the same
//! idempotency key until they settle.
//!
//! [`MutationStore`] is blocking. From async code, call it through the runtime's pool for blocking work and keep the
//! [`Cancellation`] on the async side, so that dropping the request can cancel it:
//!
//! ```text
//! let cancellation = Cancellation::new();
//! let cancel_on_drop = cancellation.clone().on_drop();
//! let report = tokio::task::spawn_blocking(move || store.drain_until(&key, &cancellation)).await??;
//! drop(cancel_on_drop);
//! ```
//!
//! Callbacks are called on the threads that call the store, and on those that [`MutationStore::drain_all`] starts for the
//! time of the call, one for each lane that it works on at once.

mod cancellation;
mod directory;
mod error;
mod feed;
mod merge_packs;
mod mutators;
mod perform;
mod ports;
mod rocks;
pub mod scheduler;
mod store;
mod work;

pub use cancellation::{CancelOnDrop, Cancellation};
pub use directory::JournalDirectory;
pub use error::{BoxError, DrainFailed, Error};
pub use feed::{Feed, Poison};
pub use merge_packs::{Field, MergePack};
pub use mutators::{MutatorHandle, Mutators, Projection, Stales};
pub use parsley_journal::event::{Event, EventKind, FailureNote};
pub use parsley_journal::inspect::{DeadLetter, Dump, LaneOwner, LaneRow, PendingRow, Stall};
pub use parsley_journal::memory::MemoryStorage;
pub use parsley_journal::names::{FailureKind, PendingState};
pub use parsley_journal::records::{Client, Identity, Meta};
pub use parsley_journal::report::{Blocked, Checkpoint, IdentityReport, Report};
pub use parsley_journal::storage::{Storage, StorageError};
pub use ports::{
    Accepted, Clock, Codec, Jitter, KeyResolver, LocalState, Merge, MergePolicy, Push, PushOutcome,
    Resolution, Server, StoreKey, SystemClock,
};
pub use rocks::RocksStorage;
pub use store::{Builder, MutationStore};
