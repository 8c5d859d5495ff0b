//! Tests of the ordering store through its public names.

mod contract;
#[cfg(feature = "rocksdb")]
mod crash;
mod crash_points;
#[cfg(feature = "rocksdb")]
mod crash_points_on_disk;
mod faulty;
mod lives;
#[cfg(feature = "rocksdb")]
mod rocks;
mod support;
mod task;
