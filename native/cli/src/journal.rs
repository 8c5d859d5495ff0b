//! `parsley journal …`: the mutation journal, replayed from a scenario or read from a directory.

mod answers;
mod directory;
mod fields;
mod print;
mod replay;
mod scenario;

use directory::Command;
pub(crate) use directory::{Failure, run};
pub(crate) use replay::{Output, Replay, Stop};
pub(crate) use scenario::parse;

/// What the words after `parsley journal` ask for, and whether it is to be told as JSON; `None` if nothing.
pub(crate) fn command<'a>(words: &[&'a str]) -> Option<(Command<'a>, bool)> {
    let json = words.contains(&"--json");
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--json").collect();
    let command = match words[..] {
        ["ls", _] => Command::Ls,
        ["show", _] => Command::Show(None),
        ["show", _, sequence] => Command::Show(Some(sequence.parse().ok()?)),
        ["dead", _] => Command::Dead,
        ["retry", _, sequence] => Command::Retry(sequence.parse().ok()?),
        ["discard", _, sequence, "--why", why] => Command::Discard { sequence: sequence.parse().ok()?, why },
        _ => return None,
    };
    Some((command, json))
}
