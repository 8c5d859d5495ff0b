//! Fuzz targets: one function for each reader of bytes that come from outside.
//!
//! A target takes any bytes and panics if a reader does what it must not. No reader may panic, and what a reader accepts
//! has to be written back as the same bytes, because every format here has one encoding for each content.
//!
//! The crate has no fuzzer in it. Its test feeds the corpus in `corpus/`, and seeded changes of it, to every target;
//! `libfuzzer/`, a package outside of the workspace, gives the same functions to libFuzzer.

mod crossing;
mod formats;
mod restore;

pub use crossing::{config, packed};
pub use formats::{causes, held_v1, held_v2, key, record};
pub use restore::restore;

/// Is given any bytes, and panics if something does what it must not.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: [(&str, Target); 8] = [
    ("causes", causes),
    ("key", key),
    ("held_v1", held_v1),
    ("held_v2", held_v2),
    ("record", record),
    ("packed", packed),
    ("config", config),
    ("restore", restore),
];
