//! The parts of a world together: one process with its journal, its disk, the application, the server, and the judge who
//! watches. Whoever plays it decides which call is answered next, and how.

use std::collections::BTreeMap;
use std::sync::Arc;

use parsley_journal::Config;
use parsley_journal::action::{Action, Answer, Call, CallId, TaskId};
use parsley_journal::engine::{Engine, Operation};
use parsley_journal::event::Event;
use parsley_journal::records::Identity;
use parsley_journal::report::Outcome;
use parsley_sim::Trace;

use crate::app::App;
use crate::disk::Disk;
use crate::judge::{Judge, Judged, Rule, Violation};
use crate::server::{Mood, Server};

/// A call that waits for its answer.
#[derive(Clone, Debug)]
pub struct Out {
    /// Whose it is.
    pub task: TaskId,
    /// Its number.
    pub id: CallId,
    /// What is asked.
    pub call: Call,
}

/// How a call is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is done, and answered as it should be.
    Honest,
    /// A push fares like this.
    Push(Mood),
    /// It is not done, and answered so.
    Say(Answer),
    /// It is done, and answered so all the same.
    DoAndSay(Answer),
}

/// A world's parts.
pub struct Stage {
    /// The journal's storage.
    pub disk: Arc<Disk>,
    /// The other side.
    pub server: Server,
    /// The application.
    pub app: App,
    /// Who watches.
    pub judge: Judge,
    /// The story.
    pub trace: Trace,
    /// The clock.
    pub now: i64,
    /// The running process.
    pub engine: Option<Engine>,
    /// Calls that are out, in the order in which they were made.
    pub calls: Vec<Out>,
    /// Calls that nobody waits for any more.
    pub abandoned: Vec<Out>,
    /// Operations that are under way.
    pub tasks: BTreeMap<TaskId, Operation>,
    /// What was told in this process.
    pub events: Vec<Event>,
    /// How the operations of this process ended.
    pub outcomes: Vec<(TaskId, Outcome)>,
}

impl Stage {
    /// An empty journal of `client`, and no process.
    pub fn new(client: &str, with_lines: bool) -> Self {
        Self {
            disk: Arc::default(),
            server: Server::default(),
            app: App::default(),
            judge: Judge::new(client),
            trace: Trace::new(with_lines),
            now: 1_000_000,
            engine: None,
            calls: Vec::new(),
            abandoned: Vec::new(),
            tasks: BTreeMap::new(),
            events: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// Starts a process.
    pub fn open(&mut self, config: Config) -> Judged {
        self.trace.tell('o', [config.lanes_max, 0], || format!("opens, {} lanes", config.lanes_max));
        self.judge.opened();
        match Engine::open(self.disk.clone(), config) {
            Ok(engine) => {
                self.engine = Some(engine);
                Ok(())
            }
            Err(error) => Err(Violation { rule: Rule::NoFailure, what: format!("its own journal: {error}") }),
        }
    }

    /// Starts an operation.
    pub fn start(&mut self, operation: Operation) -> Judged<TaskId> {
        let Some(engine) = &mut self.engine else { panic!("no process runs") };
        let task = engine.start(operation.clone());
        self.trace
            .tell('s', [number(task.0), 0], || format!("task {} starts: {}", task.0, shown(&operation)));
        self.judge.started(task, &operation);
        self.tasks.insert(task, operation);
        self.pump()?;
        Ok(task)
    }

    /// Gives an operation up.
    pub fn cancel(&mut self, task: TaskId) -> Judged {
        self.trace.tell('x', [number(task.0), 0], || format!("task {} is given up", task.0));
        self.judge.cancelled(task);
        if let Some(engine) = &mut self.engine {
            engine.cancel(task);
        }
        self.pump()
    }

    /// Takes over what the engine wants.
    pub fn pump(&mut self) -> Judged {
        self.judge.is_now(self.now);
        while let Some(action) = self.engine.as_mut().and_then(|engine| engine.next(self.now)) {
            match action {
                Action::Call { task, id, call } => {
                    self.trace.tell('c', [number(task.0), number(id.0)], || {
                        format!("  task {} asks for {}", task.0, called(&call))
                    });
                    self.judge.called(task, id, &call, self.now)?;
                    self.calls.push(Out { task, id, call });
                }
                Action::Abandon(id) => {
                    if let Some(at) = self.calls.iter().position(|out| out.id == id) {
                        self.abandoned.push(self.calls.remove(at));
                    }
                }
                Action::Emit(event) => {
                    self.trace.tell('e', [number(event.sequence.unwrap_or(0)), 0], || {
                        format!("    told of {}: {:?}", event.sequence.unwrap_or(0), event.kind)
                    });
                    self.judge.told(&event)?;
                    self.events.push(event);
                }
                Action::Poison { .. } => {}
                Action::Finished { task, outcome } => {
                    self.trace.tell('f', [number(task.0), 0], || {
                        format!("task {} ends: {}", task.0, ended(&outcome))
                    });
                    self.tasks.remove(&task);
                    self.judge.finished(task, &outcome)?;
                    self.outcomes.push((task, outcome));
                }
            }
        }
        let stands_still = self.calls.is_empty() && self.engine.as_ref().is_some_and(Engine::is_busy);
        if stands_still {
            return Err(Violation { rule: Rule::NoFailure, what: "the engine waits for nothing".to_owned() });
        }
        Ok(())
    }

    /// Answers the call at this place of [`Stage::calls`].
    pub fn reply(&mut self, at: usize, reply: &Reply) -> Judged {
        let out = self.calls.remove(at);
        let answer = match reply {
            Reply::Honest => self.perform(&out, &Mood::Honest)?,
            Reply::Push(mood) => self.perform(&out, mood)?,
            Reply::Say(answer) => answer.clone(),
            Reply::DoAndSay(answer) => {
                self.perform(&out, &Mood::Honest)?;
                answer.clone()
            }
        };
        self.trace.tell('r', [number(out.id.0), kind(&answer)], || {
            format!("  task {}'s {} is answered {answer:?}", out.task.0, called(&out.call))
        });
        self.judge.answered(out.task, out.id, &out.call, &answer)?;
        if let Some(engine) = &mut self.engine {
            engine.answer(out.id, answer);
        }
        self.pump()
    }

    /// Does what a call asks for, and gives the answer.
    pub fn perform(&mut self, out: &Out, mood: &Mood) -> Judged<Answer> {
        Ok(match &out.call {
            Call::Commit { batch, transition, sequence } => {
                self.trace.tell('w', [number(sequence.unwrap_or(0)), 0], || {
                    format!("    {transition} of {} is written", sequence.unwrap_or(0))
                });
                self.disk.write(batch);
                self.judge.committed(out.task, batch, *transition, *sequence, self.now)?;
                Answer::Done
            }
            Call::Sync => {
                self.disk.sync();
                self.judge.synced()?;
                Answer::Done
            }
            Call::Draw { window_ms } => Answer::Drawn(*window_ms),
            Call::Resolve(_) => Answer::Known,
            Call::Status(key) => Answer::Meta(self.app.status(key)),
            Call::Read(key) => Answer::Value(self.app.read(key)),
            Call::Project { mutator, base, .. } => self.app.project(mutator, base),
            Call::Precondition { base_meta, .. } => Answer::Meta(base_meta.clone()),
            Call::Stales { mutator, .. } => self.app.stales(mutator),
            Call::Decode { mutator, .. } => self.app.unreadable(mutator).unwrap_or(Answer::Done),
            Call::Push(request) => {
                let answer = self.server.push(request, mood);
                for (sequence, generation) in std::mem::take(&mut self.server.log) {
                    self.trace.tell('E', [number(sequence), generation as usize], || {
                        format!("    mutation {sequence} has its effect, by generation {generation}")
                    });
                    self.judge.had_effect(sequence)?;
                }
                answer
            }
            Call::FreshRead(key) => {
                self.app.fetch(key, &self.server);
                Answer::Done
            }
            Call::Merge { mine, .. } => Answer::Value(mine.clone()),
            Call::Apply { key, value, .. } => {
                self.app.apply(key, value.clone());
                Answer::Done
            }
            Call::ConfirmFresh { key, etag } => {
                self.app.confirm_fresh(key, etag.clone());
                Answer::Done
            }
            Call::Clear(key) => {
                self.app.clear(key);
                Answer::Done
            }
            Call::MarkStale(_) | Call::Invalidate(_) => Answer::Done,
            Call::Retire { through } => Answer::Confirmed(self.server.retire(*through)),
        })
    }

    /// The process dies; with `power` the disk keeps only so many of the batches that were not synced.
    pub fn kill(&mut self, power: Option<usize>) {
        self.trace.tell('k', [power.unwrap_or(0), usize::from(power.is_some())], || match power {
            None => "the process is killed".to_owned(),
            Some(kept) => {
                format!("the power goes; of {} unsynced transactions {kept} are left", self.disk.unsynced())
            }
        });
        self.engine = None;
        self.calls.clear();
        self.abandoned.clear();
        self.tasks.clear();
        self.events.clear();
        self.outcomes.clear();
        if let Some(kept) = power {
            self.disk.lose_power(kept);
        }
        self.judge.killed(power);
    }

    /// Answers everything as it should be until nothing is out.
    pub fn settle(&mut self) -> Judged {
        while !self.calls.is_empty() {
            self.reply(0, &Reply::Honest)?;
        }
        Ok(())
    }

    /// Compares what is shown with what is there.
    pub fn inspect(&mut self, keys: &[Identity]) -> Judged {
        let Some(engine) = &self.engine else { return Ok(()) };
        let failed = |error| Violation { rule: Rule::Lists, what: format!("it can't be shown: {error}") };
        self.judge.lists_pending(None, &engine.pending_writes().map_err(failed)?)?;
        for key in keys {
            self.judge.lists_pending(Some(key), &engine.pending(key).map_err(failed)?)?;
        }
        self.judge.lists_dead(&engine.dead_letters().map_err(failed)?)?;
        self.judge.lists_lanes(&engine.lanes().map_err(failed)?)
    }

    /// Lets everything settle: nothing fails any more, time passes, and drains follow each other until none changes
    /// anything. The judge then says whether anything was lost.
    pub fn come_to_rest(&mut self, keys: &[Identity]) -> Judged {
        self.settle()?;
        for _ in 0..ROUNDS_MAX {
            self.now += PAST_ANY_BACKOFF_MS;
            let before = self.disk.rows();
            self.start(Operation::DrainAll)?;
            self.settle()?;
            if self.disk.rows() == before {
                self.inspect(keys)?;
                let Some(engine) = &self.engine else { return Ok(()) };
                let pending = engine.pending_writes().map_err(|error| Violation {
                    rule: Rule::Lists,
                    what: format!("it can't be shown: {error}"),
                })?;
                return self.judge.rests(&pending);
            }
        }
        Err(Violation { rule: Rule::NothingLost, what: format!("no rest after {ROUNDS_MAX} drains") })
    }
}

/// Drains after which a quiet world must have come to rest.
const ROUNDS_MAX: u32 = 80;
const PAST_ANY_BACKOFF_MS: i64 = 400_000;

fn number(of: u64) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}

/// A number for each kind of answer, for the digest.
fn kind(answer: &Answer) -> usize {
    match answer {
        Answer::Done => 0,
        Answer::Threw(_) => 1,
        Answer::Cancelled => 2,
        Answer::Drawn(drawn) => 100 + number(*drawn),
        Answer::Value(_) => 3,
        Answer::Accepted(_) => 4,
        Answer::Conflict(_) => 5,
        Answer::Rejected(_) => 6,
        _ => 7,
    }
}

fn shown(operation: &Operation) -> String {
    match operation {
        Operation::Mutate(mutation) => {
            format!("mutate {} by {}", mutation.key, String::from_utf8_lossy(&mutation.mutator.args))
        }
        Operation::Drain(key) => format!("drain {key}"),
        Operation::DrainAll => "drain".to_owned(),
        Operation::Retry(sequence) => format!("retry {sequence}"),
        Operation::Discard { sequence, .. } => format!("discard {sequence}"),
    }
}

/// A call in words, without the rows of a transaction.
pub fn called(call: &Call) -> String {
    match call {
        Call::Commit { transition, sequence, .. } => {
            format!("commit {transition} of {}", sequence.unwrap_or(0))
        }
        Call::Push(request) => format!("push {} at {}", request.idempotency_key, request.key),
        Call::Project { sequence, key, .. } => format!("project {sequence} at {key}"),
        Call::Stales { sequence, .. } => format!("stales {sequence}"),
        Call::Decode { sequence, .. } => format!("decode {sequence}"),
        Call::Merge { key, .. } => format!("merge {key}"),
        Call::Precondition { key, .. } => format!("precondition {key}"),
        Call::Apply { key, .. } => format!("apply {key}"),
        Call::Resolve(key) => format!("resolve {key}"),
        Call::Status(key) => format!("status {key}"),
        Call::Read(key) => format!("read {key}"),
        Call::FreshRead(key) => format!("freshRead {key}"),
        Call::ConfirmFresh { key, .. } => format!("confirmFresh {key}"),
        Call::Clear(key) => format!("clear {key}"),
        Call::MarkStale(key) => format!("markStale {key}"),
        Call::Invalidate(namespace) => format!("invalidate {namespace}"),
        Call::Retire { through } => format!("retire {through}"),
        Call::Sync => "sync".to_owned(),
        Call::Draw { window_ms } => format!("draw {window_ms}"),
    }
}

fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Drained(_, None) => "drained".to_owned(),
        Outcome::Drained(_, Some(error)) => format!("drained, with {:?}: {error}", error.kind),
        Outcome::Refused(refused) => format!("refused: {refused}"),
        other => format!("{other:?}"),
    }
}
