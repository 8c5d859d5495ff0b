//! The native methods of `dev.parsley.streams.internal`: `NativeStore` and `NativeEngine`; and of
//! `dev.parsley.mutations.internal`: `NativeJournal`.
//!
//! An export is the guard around an inner function, nothing else. The guard turns errors and panics into Java
//! exceptions, see [`guard`]; the inner function checks its arguments, finds the store behind the number that Java
//! holds, see [`handles`], and asks it. Nothing calls back into Java except to make an array or an exception.

// What the exports look like is JNI's choice: their names, and arguments passed by value.
#![allow(
    non_snake_case,
    reason = "JNI derives the names of exports from those of Java's classes and methods"
)]

mod exchange;
mod frame;
mod guard;
mod handles;
mod journal_answers;
mod journal_calls;
mod journal_lists;
mod journals;
mod native_engine;
mod native_journal;
mod native_store;
mod stores;
mod wire;

#[cfg(not(panic = "unwind"))]
compile_error!("a panic must unwind to the guard, or it would end the JVM");
