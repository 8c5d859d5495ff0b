//! The stores that are open in this process.

use parsley_core::Released;
use parsley_store::{RocksBackend, Task};

use crate::exchange::Exchange;
use crate::guard::Fault;
use crate::handles::Registry;

/// What one number stands for.
pub(crate) struct OpenStore {
    pub(crate) task: Task<RocksBackend>,
    /// The record that `next` has answered last, until Java takes its content.
    pub(crate) released: Option<Released>,
    /// Where causes come in and stamps go out; lent with the engine.
    pub(crate) exchange: Option<Exchange>,
    /// Where the causes of received records are copied to. Kept, so that a record costs no allocation.
    pub(crate) causes: Vec<u8>,
}

pub(crate) static STORES: Registry<OpenStore> = Registry::new();

/// Uses the store behind a number.
pub(crate) fn with_store<R>(
    handle: i64,
    call: impl FnOnce(&mut OpenStore) -> Result<R, Fault>,
) -> Result<R, Fault> {
    STORES.with(handle, call)?
}
