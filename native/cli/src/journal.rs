//! `parsley journal …`: the mutation journal, replayed from a scenario or read from a directory.

mod answers;
mod fields;
mod print;
mod replay;
mod scenario;

pub(crate) use replay::{Output, Replay, Stop};
pub(crate) use scenario::parse;
