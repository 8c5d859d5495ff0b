//! The world: brokers, producers, processes, operators, and everything that goes wrong for them.

mod content;
mod end;
mod operator;
mod quiet;
mod start;
mod step;

use parsley_store::StoreError;

use crate::judge::{Judge, Judged, Rule, Violation};
use crate::log::{Brokers, Entry, State, Topic};
use crate::process::{Process, Running};
use crate::random::Random;
use crate::trace::Trace;
use crate::wire::Content;
use end::Cut;

/// The shortest run, in steps of the world, and what is added by chance.
const STEPS_MIN: usize = 80;
const STEPS_MORE: usize = 260;

/// One world, from its seed to its end.
pub(crate) struct World {
    random: Random,
    pub(crate) trace: Trace,
    brokers: Brokers,
    /// By message number.
    contents: Vec<Content>,
    processes: Vec<Process>,
    judge: Judge,
    /// How often of 1000 times a consumer passes by the channel that it is slow on.
    lag: usize,
    /// How many of 1000 troubles that could come to a process do come: calm worlds have deep buffers.
    turbulence: usize,
    /// Nothing goes wrong any more, and nothing is sent.
    quiet: bool,
}

/// Whether an execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Goes,
    /// It must be closed, its transaction aborted.
    Stops,
}

impl World {
    pub(crate) fn new(seed: u64, with_trace: bool) -> Self {
        let mut random = Random::new(seed);
        let mut world = Self {
            lag: random.pick(&[800, 970, 995]),
            turbulence: random.pick(&[120, 400, 1000]),
            random,
            trace: Trace::new(with_trace),
            brokers: Brokers::default(),
            contents: Vec::new(),
            processes: Vec::new(),
            judge: Judge::default(),
            quiet: false,
        };
        world.make_topics();
        world.make_processes();
        world
    }

    fn make_topics(&mut self) {
        for name in 0..3 + self.random.below(3) {
            let partitions = if self.random.chance(350) { 2 } else { 1 };
            self.brokers.topics.push(Topic { partitions, channels: Vec::new(), incarnations: 0 });
            self.create_topic(name);
        }
    }

    fn create_topic(&mut self, name: usize) {
        for channel in self.brokers.create(name, &mut self.random) {
            self.judge.channel_created(self.brokers.channels[channel].id);
            let brokers = &self.brokers;
            self.trace.tell('T', [channel, name], || {
                let id = u128::from_be_bytes(std::array::from_fn(|at| brokers.channels[channel].id[at]));
                format!("channel {channel} is {}, topic id {id:032x}", brokers.show(channel))
            });
        }
    }

    fn make_processes(&mut self) {
        for number in 0..2 + self.random.below(3) {
            let partition = usize::from(self.random.chance(250));
            let names = self.some_names(partition);
            let transactional = self.random.chance(500);
            self.judge.process_added();
            let shown: Vec<&str> = names.iter().map(|name| Brokers::topic_name(*name)).collect();
            self.trace.tell('P', [number, usize::from(transactional)], || {
                format!(
                    "P{number} is task {partition}, receives {}, transactional stores {}",
                    shown.join(" "),
                    if transactional { "on" } else { "off" }
                )
            });
            self.processes.push(Process::new(partition, names, transactional));
        }
    }

    /// One to all of the topics.
    fn some_names(&mut self, partition: usize) -> Vec<usize> {
        let mut names: Vec<usize> = (0..self.brokers.topics.len())
            .filter(|name| partition < self.brokers.topics[*name].partitions || partition == 0)
            .collect();
        while names.len() > 2 && self.random.chance(350) {
            names.remove(self.random.below(names.len()));
        }
        names
    }

    /// Runs to the end, or to the first thing that the judge finds.
    pub(crate) fn run(&mut self) -> Judged {
        let steps = STEPS_MIN + self.random.below(STEPS_MORE);
        for _ in 0..steps {
            self.step()?;
        }
        self.come_to_rest()
    }

    fn step(&mut self) -> Judged {
        let process = self.random.below(self.processes.len());
        let is_down = self.processes[process].running.is_none();
        // A process that is down does not stay down for long.
        if is_down && self.random.chance(600) {
            return self.start(process);
        }
        match self.random.below(1000) {
            _ if is_down => self.other_step(),
            0..=519 => self.polls(process)?,
            520..=549 => self.punctuates(process)?,
            550..=649 => self.commits(process, None)?,
            650..=774 if !self.random.chance(self.turbulence) => self.polls(process)?,
            650..=664 => self.commits(process, Some(Cut::Flushed))?,
            665..=679 => self.commits(process, Some(Cut::Committed))?,
            680..=694 => self.aborts(process)?,
            695..=714 => self.crashes(process),
            715..=734 => self.stops_cleanly(process)?,
            735..=744 => self.rewinds(process)?,
            745..=754 => self.changes_names(process)?,
            755..=761 => self.is_fed_a_stray(process)?,
            762..=769 => self.loses_a_row(process)?,
            770..=774 => self.turns_old(process)?,
            _ => self.other_step(),
        }
        Ok(())
    }

    /// Something that is not done to a process.
    fn other_step(&mut self) {
        match self.random.below(1000) {
            0..=799 => self.produce(),
            800..=859 => self.produce_in_vain(),
            860..=869 => self.produce_poison(),
            870..=894 => self.truncate(),
            895..=912 => self.delete_topic(),
            913..=935 => self.recreate_topic(),
            _ => {
                let process = self.random.below(self.processes.len());
                self.compact(process);
            }
        }
    }

    /// Does something to a process that runs.
    fn with(&mut self, process: usize, act: impl FnOnce(&mut Self, &mut Running) -> Judged<Flow>) -> Judged {
        let Some(mut running) = self.processes[process].running.take() else { return Ok(()) };
        match act(self, &mut running)? {
            Flow::Goes => self.processes[process].running = Some(running),
            Flow::Stops => self.close_dirty(process, running)?,
        }
        Ok(())
    }

    /// A message for people: `orders/0@12`.
    fn show(&self, channel: usize, offset: i64) -> String {
        format!("{}@{offset}", self.brokers.show(channel))
    }

    /// An entry that is nobody's.
    fn append_marker(&mut self, channel: usize) {
        if !self.brokers.channels[channel].deleted {
            self.brokers.channels[channel].append(Entry::Marker);
        }
    }

    fn any_live_channel(&mut self) -> usize {
        let live = self.brokers.live();
        let name = self.random.pick(&live);
        self.random.pick(&self.brokers.topics[name].channels)
    }
}

/// Nothing is wrong below the store in this world, so it must not fail.
fn sound<T>(result: Result<T, StoreError>) -> Judged<T> {
    result.map_err(|error| Violation::new(Rule::NoFailure, error.to_string()))
}

/// The state of an entry that no transaction holds back.
const DONE: State = State::Committed;
