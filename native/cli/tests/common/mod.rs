//! Runs the real binary.

// Each test file is a crate of its own and uses what it needs.
#![allow(dead_code)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::NamedTempFile;

/// What a run of `parsley` left behind.
pub struct Run {
    /// Its exit status.
    pub status: i32,
    /// Each line of its standard output.
    pub answers: Vec<Value>,
    /// Its standard error.
    pub words: String,
}

/// The binary, to be given arguments.
pub fn parsley() -> Command {
    Command::new(env!("CARGO_BIN_EXE_parsley"))
}

/// Runs a command whose answers are JSON.
pub fn run(arguments: &[&str]) -> Run {
    run_of(parsley().args(arguments).output().expect("the binary runs"))
}

fn run_of(output: Output) -> Run {
    let text = String::from_utf8(output.stdout).expect("answers are UTF-8");
    Run {
        status: output.status.code().expect("it was not killed"),
        answers: text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect(),
        words: String::from_utf8(output.stderr).expect("words are UTF-8"),
    }
}

/// Runs a command that reads standard input.
pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let output = parsley()
        .args(arguments)
        .stdin(file(input).reopen().expect("the file is there"))
        .output()
        .expect("the binary runs");
    run_of(output)
}

/// Replays a file.
pub fn replay(path: &Path) -> Run {
    run(&["replay", path.to_str().expect("the path is UTF-8")])
}

/// A file with this content.
pub fn file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("there is room for a file");
    file.write_all(content).expect("there is room for the content");
    file
}

/// Replays these lines.
pub fn replay_lines(lines: &[&str]) -> Run {
    replay(file((lines.join("\n") + "\n").as_bytes()).path())
}
