//! Tests of the ordering store through its public names.

mod contract;
#[cfg(feature = "rocksdb")]
mod crash;
mod crash_points;
#[cfg(feature = "rocksdb")]
mod crash_points_on_disk;
#[cfg(feature = "rocksdb")]
mod damage;
#[cfg(all(feature = "rocksdb", target_os = "linux"))]
mod disk_limits;
mod faulty;
mod lives;
#[cfg(feature = "rocksdb")]
mod reports;
#[cfg(feature = "rocksdb")]
mod rocks;
mod support;
mod task;
