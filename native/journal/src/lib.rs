//! The mutation journal: writes to the outside world that survive restarts, and drains that push each of them, in order,
//! with the same bytes and the same idempotency key, until it settles.
//!
//! Pure: the time is an argument, randomness and all else comes as the answer to a call. [`engine::Engine`] hands out
//! [`action::Action`]s and takes [`action::Answer`]s; a driver does what they say. `docs/drain.md` has the rules.

pub mod action;
pub mod backoff;
mod bytes_codec;
mod cache;
mod checkpoint;
mod dead_letters;
pub mod engine;
pub mod event;
#[cfg(test)]
mod fixture;
pub mod inspect;
mod io;
pub mod keys;
mod locks;
pub mod memory;
pub mod mutate;
pub mod names;
mod open;
mod pass;
mod prepare;
mod push;
mod reads;
pub mod records;
pub mod report;
mod routes;
pub mod rows;
pub mod rules;
mod sabotage;
mod settle;
mod state;
pub mod storage;
pub mod text;
mod transaction;
mod visit;

pub use reads::JournalError;
pub use state::Config;
