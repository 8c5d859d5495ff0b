//! Tests of the ordering store through its public names.

mod contract;
#[cfg(feature = "rocksdb")]
mod crash;
#[cfg(feature = "rocksdb")]
mod rocks;
mod support;
mod task;
