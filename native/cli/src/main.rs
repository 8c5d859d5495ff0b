//! The `parsley` binary: runs the engine over a scenario, and decodes what Parsley writes.
//!
//! Answers go to standard output, one JSON object a line; words for people go to standard error.

mod decode;
mod event;
mod hex;
mod journal;
mod replay;
mod scenario;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;

use event::Event;
use replay::{Replay, Stop};

/// What can be asked for, as it is typed.
const USAGE: &str =
    "  parsley replay FILE.jsonl              Run the engine over a scenario, one JSON object a line
  parsley journal replay [--commits] FILE.jsonl
                                         Run the mutation journal over a scenario; docs/drain.md describes it
  parsley journal ls DIR [--json]        Show the lanes of a journal's directory, and what waits in them
  parsley journal show DIR [SEQUENCE]    Show all rows of a journal, or those of one mutation, as JSON
  parsley journal dead DIR [--json]      Show the dead letters
  parsley journal retry DIR SEQUENCE [--json]
                                         Repeat a dead letter as a new mutation
  parsley journal discard DIR SEQUENCE --why TEXT [--json]
                                         Dismiss a row that will not go on by itself, saying who and why
  parsley decode causes HEX              Show the causes in the value of a parsley.causes header
  parsley decode held KEYHEX VALUEHEX    Show the held message in a row of the ordering store
  parsley --help | --version
";

const HELP: &str = "
HEX is lower-case; white space in it is passed over. One of the values may be -, which is read from standard input.
Answers are JSON objects, one a line, on standard output. docs/ordering.md and docs/drain.md describe scenarios and
answers. A journal's directory is shown only while no process has it open; times are milliseconds of the Unix epoch.

Exit status:
  0  done; a replay in which the engine refuses is done as well
  1  the bytes to decode are refused, the journal is damaged, in use or refuses, or the answers could not be written
  2  wrong arguments, or the file can't be read or is not a scenario
";

/// The first words of the commands, and what can be decoded.
const COMMANDS: [&str; 4] = ["replay", "journal", "decode", "help"];
const DECODABLE: [&str; 2] = ["causes", "held"];

/// From here on, of 1 for equal words, a word is taken for a slip of the other one.
const ALIKE: f64 = 0.5;

const REFUSED: u8 = 1;
const FAILED: u8 = 1;
const MISUSED: u8 = 2;

/// Why a command did not do what it was asked to.
enum Failure {
    /// The arguments or the scenario are wrong; with what to say.
    Misused(String),
    /// The bytes to decode were refused, which has been answered.
    Refused,
    /// The journal could not be opened, or refused, and why.
    Undone(String),
    /// The answers could not be written.
    Output(io::Error),
    /// A fault of this program.
    Internal(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut answers = Answers(BufWriter::new(io::stdout().lock()));
    let done = run(&arguments, &mut answers);
    // What was answered before a failure is shown before the words about it.
    let flushed = answers.0.flush().map_err(Failure::Output);
    match done.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads on, so there is nobody to tell: `parsley replay … | head` ends well.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Output(error)) => say(&format!("the answers can't be written: {error}"), FAILED),
        Err(Failure::Internal(what) | Failure::Undone(what)) => say(&what, FAILED),
        Err(Failure::Refused) => ExitCode::from(REFUSED),
        Err(Failure::Misused(what)) => say(&what, MISUSED),
    }
}

fn run(arguments: &[OsString], answers: &mut Answers<'_>) -> Result<(), Failure> {
    let words: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words[..] {
        ["replay", file] if file != "--help" => replay(Path::new(&arguments[1]), answers),
        ["journal", "replay", "--commits", file] | ["journal", "replay", file, "--commits"]
            if file != "--help" =>
        {
            let place = if words[2] == "--commits" { 3 } else { 2 };
            replay_journal(Path::new(&arguments[place]), true, answers)
        }
        ["journal", "replay", file] if file != "--help" => {
            replay_journal(Path::new(&arguments[2]), false, answers)
        }
        ["journal", .., "--help" | "-h"] => help(answers),
        ["journal", ref rest @ ..] => {
            let Some((command, json)) = journal::command(rest) else {
                return Err(Failure::Misused(format!("{}\n\nUsage:\n{USAGE}", misuse(&words))));
            };
            // Whatever the command is, the directory is its first argument.
            let directory = Path::new(&arguments[2]);
            journal::run(directory, &command, json, &mut answers.0).map_err(|failure| match failure {
                journal::Failure::Output(error) => Failure::Output(error),
                journal::Failure::Journal(error) => Failure::Undone(error.to_string()),
            })
        }
        ["decode", "causes", value] if value != "--help" => answers.only(&decode::causes(&bytes(value)?)),
        ["decode", "held", "-", "-"] => {
            Err(Failure::Misused("only one of the two values can come from standard input".to_owned()))
        }
        ["decode", "held", key, value] => answers.only(&decode::held(&bytes(key)?, bytes(value)?)),
        ["--version" | "-V"] => Ok(writeln!(answers.0, "parsley {}", env!("CARGO_PKG_VERSION"))?),
        [.., "--help" | "-h"] | ["help"] => help(answers),
        _ => Err(Failure::Misused(format!("{}\n\nUsage:\n{USAGE}", misuse(&words)))),
    }
}

fn help(answers: &mut Answers<'_>) -> Result<(), Failure> {
    let about =
        "Shows what Parsley's engines decide, what its formats say, and what a journal of mutations holds.";
    Ok(write!(answers.0, "{about}\n\nUsage:\n{USAGE}{HELP}")?)
}

/// What is wrong with arguments that are none.
fn misuse(words: &[&str]) -> String {
    match words {
        [] => "tell what to do".to_owned(),
        ["decode", what, ..] if !DECODABLE.contains(what) => {
            format!("{what:?} is nothing that parsley decodes{}", suggestion(what, &DECODABLE))
        }
        [command, ..] if !COMMANDS.contains(command) => {
            format!("{command:?} is no command of parsley{}", suggestion(command, &COMMANDS))
        }
        [command, ..] => format!("these are not the arguments of parsley {command}"),
    }
}

fn suggestion(typed: &str, known: &[&str]) -> String {
    known
        .iter()
        .map(|word| (strsim::normalized_damerau_levenshtein(typed, word), word))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map_or_else(String::new, |(_, word)| format!(", did you mean {word:?}?"))
}

/// The bytes that an argument stands for, or standard input when it is `-`.
fn bytes(argument: &str) -> Result<Vec<u8>, Failure> {
    let (text, whose) = if argument == "-" {
        let text = io::read_to_string(io::stdin())
            .map_err(|error| Failure::Misused(format!("standard input can't be read: {error}")))?;
        (text, "standard input".to_owned())
    } else {
        (argument.to_owned(), format!("{argument:?}"))
    };
    let digits: String = text.split_ascii_whitespace().collect();
    let wrong = || Failure::Misused(format!("{whose} is not an even number of lower-case hex digits"));
    hex::decode(&digits).ok_or_else(wrong)
}

fn replay(path: &Path, answers: &mut Answers<'_>) -> Result<(), Failure> {
    let mut replay = Replay::new().map_err(|stop| Failure::Internal(stop.to_string()))?;
    let mut events = Vec::new();
    each_line(path, |place, line| {
        let applied = scenario::parse(line).map_err(Stop::from).and_then(|op| replay.apply(op, &mut events));
        for event in events.drain(..) {
            answers.write(&event)?;
            if let Event::Refused { text, .. } = event {
                answers.0.flush()?;
                explain(&format!("{place}: {text}"));
            }
        }
        applied.map_err(|stop| match stop {
            Stop::NotAScenario(what) => Failure::Misused(format!("{place}: {what}")),
            Stop::Store(error) => Failure::Internal(format!("{place}: {error}")),
        })
    })
}

fn replay_journal(path: &Path, shows_commits: bool, answers: &mut Answers<'_>) -> Result<(), Failure> {
    let mut replay = journal::Replay::new(shows_commits);
    let mut output = journal::Output::new();
    each_line(path, |place, line| {
        let applied = journal::parse(line).map_err(journal::Stop::from);
        let applied = applied.and_then(|operation| replay.apply(operation, &mut output));
        for event in output.drain(..) {
            writeln!(answers.0, "{event}")?;
        }
        applied.map_err(|stop| match stop {
            journal::Stop::NotAScenario(what) => Failure::Misused(format!("{place}: {what}")),
            journal::Stop::Journal(error) => Failure::Internal(format!("{place}: {error}")),
        })
    })?;
    if replay.has_begun() {
        return Ok(());
    }
    Err(Failure::Misused(format!("{}, line 1: a scenario begins with open", path.display())))
}

/// Gives each line of a file to `each`, with its place in words.
fn each_line(path: &Path, mut each: impl FnMut(&str, &[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let unreadable = |error| Failure::Misused(format!("{} can't be read: {error}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        each(&format!("{}, line {number}", path.display()), &line)?;
    }
    Ok(())
}

/// Standard output, one JSON object a line.
struct Answers<'a>(BufWriter<StdoutLock<'a>>);

impl Answers<'_> {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        writeln!(self.0, "{}", event.to_json())
    }

    /// The one answer of a command, which fails if that is a refusal.
    fn only(&mut self, event: &Event) -> Result<(), Failure> {
        self.write(event)?;
        let Event::Refused { text, .. } = event else { return Ok(()) };
        self.0.flush()?;
        explain(text);
        Err(Failure::Refused)
    }
}

/// Words for people. That nobody hears them is no reason to fail.
fn explain(what: &str) {
    let _ = writeln!(io::stderr(), "parsley: {what}");
}

fn say(what: &str, status: u8) -> ExitCode {
    explain(what);
    ExitCode::from(status)
}
