//! Parsley's pure core: the formats of causes and held messages, the keys of the ordering store, and the engine that
//! decides what is delivered, held or refused.
//!
//! Nothing here has a clock, a thread, a file or a global: everything arrives as an argument, so a run is a function
//! of its inputs and can be simulated. The rules are those of `docs/ordering.md`; each stands in one place.

pub mod causes;
pub mod channel;
pub mod crossing;
pub mod engine;
mod header;
pub mod held;
mod holds;
pub mod keys;
mod reader;
mod received;
pub mod refusal;
mod restore;
pub mod rows;
#[doc(hidden)]
pub mod sabotage;
mod table;

pub use causes::{CAUSES_HEADER, Cause, CausesError, RESERVED_HEADER_PREFIX};
pub use channel::{ChannelId, Partition, Position, TopicId};
pub use engine::{BUDGET_BYTES_DEFAULT, Blocked, CausesHeader, Engine, Next, Receipt, Received, Released};
pub use refusal::{Fault, Reason, Refusal};
pub use rows::{RowVisitor, Rows, RowsError};
