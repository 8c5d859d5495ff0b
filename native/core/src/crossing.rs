//! What crosses between Java and the native library beside record parts: rows in packs, and what an engine is opened
//! with. Here and not at the boundary itself, so that the readers are tried without a JVM.

pub mod config;
pub mod packed;

pub use config::Config;
pub use packed::Malformed;
