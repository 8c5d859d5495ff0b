//! The engine over a scenario: its calls are answered by scripted ports, its rows are in memory.

use std::sync::Arc;

use parsley_journal::action::{Action, Answer, Call, Mutator};
use parsley_journal::engine::{Engine, Operation as Task};
use parsley_journal::memory::MemoryStorage;
use parsley_journal::mutate::Mutation;
use parsley_journal::report::Outcome;
use parsley_journal::storage::Storage;
use parsley_journal::{Config, JournalError};
use serde_json::{Value, json};

use super::answers::Ports;
use super::print;
use super::scenario::{Operation, Step};
use crate::scenario::NotAScenario;

/// The lines to print.
pub(crate) type Output = Vec<Value>;

/// Why a scenario can't go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The line may not stand here.
    #[error(transparent)]
    NotAScenario(#[from] NotAScenario),
    /// The journal in memory failed, which is a bug.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The process dies at a commit.
#[derive(Clone, Copy, Debug)]
struct Kill {
    /// Commits until then, that one included.
    left: u64,
    before: bool,
}

/// A scenario that is being replayed.
pub(crate) struct Replay {
    rows: Arc<MemoryStorage>,
    engine: Option<Engine>,
    client: Option<String>,
    ports: Ports,
    now: i64,
    kill: Option<Kill>,
    /// Commits since the journal was opened.
    commits: u64,
    shows_commits: bool,
}

/// The operation died with its process.
struct Killed;

impl Replay {
    /// Nothing has happened. `shows_commits` prints a line for each commit.
    pub(crate) fn new(shows_commits: bool) -> Self {
        Self {
            rows: Arc::new(MemoryStorage::new()),
            engine: None,
            client: None,
            ports: Ports::default(),
            now: 0,
            kill: None,
            commits: 0,
            shows_commits,
        }
    }

    /// Whether a journal was ever opened.
    pub(crate) fn has_begun(&self) -> bool {
        self.client.is_some()
    }

    /// Does one line.
    pub(crate) fn apply(&mut self, operation: Operation, output: &mut Output) -> Result<(), Stop> {
        match (operation, &self.engine) {
            (Operation::Open { .. }, Some(_)) => {
                Err(NotAScenario("the journal is open already".to_owned()).into())
            }
            (Operation::Open { client, epoch }, None) => self.open(client, epoch, output),
            (Operation::Step(_), None) => {
                Err(NotAScenario("the journal is not open: only open may come here".to_owned()).into())
            }
            (Operation::Step(step), Some(_)) => self.step(step, output),
        }
    }

    fn open(&mut self, client: String, epoch: u64, output: &mut Output) -> Result<(), Stop> {
        if self.client.as_ref().is_some_and(|first| *first != client) {
            return Err(NotAScenario("a journal is opened again by the same client".to_owned()).into());
        }
        let config = Config {
            client: client.as_str().into(),
            epoch,
            codec_version: 1,
            chooses_preconditions: false,
            lanes_max: 1,
            attempts_max: None,
            age_max_ms: None,
        };
        self.client = Some(client);
        self.commits = 0;
        match Engine::open(self.rows.clone(), config) {
            Ok(engine) => self.engine = Some(engine),
            Err(damage) => output.push(json!({"event": "refused", "why": damage.to_string()})),
        }
        Ok(())
    }

    fn step(&mut self, step: Step, output: &mut Output) -> Result<(), Stop> {
        let Some(step) = self.ports.script(step) else { return Ok(()) };
        let Some(engine) = &self.engine else { return Ok(()) };
        match step {
            Step::Close => self.engine = None,
            Step::Clock(now) => self.now = now,
            Step::Kill { commit, before } => self.kill = Some(Kill { left: commit, before }),
            Step::Pending(key) => output.push(print::pending("pending", &engine.pending(&key)?)),
            Step::PendingWrites => output.push(print::pending("pendingWrites", &engine.pending_writes()?)),
            Step::DeadLetters => output.push(print::dead_letters(&engine.dead_letters()?)),
            Step::Journal => output.push(print::journal(&engine.dump()?)),
            Step::Mutate { key, mutator, args } => {
                let mutator = Mutator { name: mutator.into(), version: 1, args };
                self.run(Task::Mutate(Mutation { key, mutator }), output);
            }
            Step::Drain(Some(key)) => self.run(Task::Drain(key), output),
            Step::Drain(None) => self.run(Task::DrainAll, output),
            // No mutation has a number below 1, and the engine says so.
            Step::Retry(sequence) => self.run(Task::Retry(u64::try_from(sequence).unwrap_or(0)), output),
            Step::Discard { sequence, why } => {
                let sequence = u64::try_from(sequence).unwrap_or(0);
                self.run(Task::Discard { sequence, note: why }, output);
            }
            // Taken by the ports.
            Step::Jitter(_)
            | Step::Local { .. }
            | Step::Server(_)
            | Step::Retire(_)
            | Step::Resolver(..)
            | Step::Fail(..)
            | Step::Merge(_) => {}
        }
        Ok(())
    }

    fn run(&mut self, task: Task, output: &mut Output) {
        let Some(mut engine) = self.engine.take() else { return };
        engine.start(task);
        match self.drive(&mut engine, output) {
            Ok(()) => self.engine = Some(engine),
            Err(Killed) => output.push(json!({"event": "killed"})),
        }
    }

    fn drive(&mut self, engine: &mut Engine, output: &mut Output) -> Result<(), Killed> {
        while let Some(action) = engine.next(self.now) {
            match action {
                Action::Call { id, call, .. } => {
                    let answer = self.call(&call, output)?;
                    engine.answer(id, answer);
                }
                Action::Finished { outcome, .. } => output.push(ended(&outcome)),
                Action::Emit(_) | Action::Poison { .. } | Action::Abandon(_) => {}
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call, output: &mut Output) -> Result<Answer, Killed> {
        let Call::Commit { batch, transition, sequence } = call else {
            output.extend(print::call(call));
            return Ok(self.ports.answer(call));
        };
        let kill = self.kill.as_mut().and_then(|kill| {
            kill.left -= 1;
            (kill.left == 0).then_some(*kill)
        });
        if kill.is_some() {
            self.kill = None;
        }
        if kill.is_some_and(|kill| kill.before) {
            return Err(Killed);
        }
        if let Err(error) = self.rows.write(batch) {
            return Ok(Answer::Threw(error.to_string()));
        }
        self.commits += 1;
        if self.shows_commits {
            output.push(print::commit(self.commits, *transition, *sequence));
        }
        if kill.is_some() { Err(Killed) } else { Ok(Answer::Done) }
    }
}

fn ended(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Mutated(sequence) => json!({"event": "mutated", "sequence": sequence}),
        Outcome::Retried(sequence) => json!({"event": "retried", "sequence": sequence}),
        Outcome::Discarded { sequence, .. } => json!({"event": "discarded", "sequence": sequence}),
        Outcome::Refused(refused) => json!({"event": "refused", "why": refused.message}),
        Outcome::Drained(_, error) => print::drained(error.as_ref()),
    }
}
