//! The world: what is asked for, in which order calls are answered, and everything that goes wrong, by chance.

mod replies;

use std::collections::{BTreeMap, BTreeSet};

use parsley_journal::Config;
use parsley_journal::engine::Operation;
use parsley_journal::mutate::Mutation;
use parsley_journal::records::{Identity, Presence};
use parsley_sim::Random;

use crate::app::{Doing, Request};
use crate::judge::Judged;
use crate::stage::{Reply, Stage};

/// The shortest run, in steps of the world, and what is added by chance.
const STEPS_MIN: usize = 60;
const STEPS_MORE: usize = 440;
/// Operations that are under way at once.
const TASKS_MAX: usize = 4;

const CLIENT: &str = "sim";

/// How a resolver answers for an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolver {
    Unknown,
    Throws,
    Mismatches,
    Unavailable,
}

/// One world, from its seed to its end.
pub(crate) struct World {
    random: Random,
    pub(crate) stage: Stage,
    keys: Vec<Identity>,
    config: Config,
    /// How many of 1000 calls something happens to.
    turbulence: usize,
    /// How many of 1000 pushes the server names another identity for.
    renaming: usize,
    /// How many of 1000 answers can't be written down, and how often the server then names yet another identity.
    wavering: usize,
    resolver: BTreeMap<Identity, Resolver>,
    /// Identities whose pushes meet the same conflict for a while.
    stubborn: BTreeSet<Identity>,
}

impl World {
    pub(crate) fn new(seed: u64, with_lines: bool) -> Self {
        let mut random = Random::new(seed);
        let mut keys = Vec::new();
        for namespace in 0..=random.below(3) {
            for id in 0..=random.below(4) {
                keys.push(Identity::new(format!("n{namespace}"), format!("k{id}")));
            }
        }
        let config = Config {
            client: CLIENT.into(),
            epoch: 0,
            codec_version: 1,
            chooses_preconditions: random.chance(300),
            lanes_max: random.pick(&[1, 2, 4]),
            attempts_max: random.pick(&[None, None, None, Some(2), Some(4)]),
            age_max_ms: random.pick(&[None, None, None, Some(120_000)]),
        };
        Self {
            turbulence: random.pick(&[20, 80, 160, 260]),
            renaming: random.pick(&[20, 40, 400]),
            wavering: random.pick(&[0, 0, 0, 350]),
            random,
            stage: Stage::new(CLIENT, with_lines),
            keys,
            config,
            resolver: BTreeMap::new(),
            stubborn: BTreeSet::new(),
        }
    }

    /// Runs to the end, or to the first thing that the judge finds.
    pub(crate) fn run(&mut self) -> Judged {
        let steps = STEPS_MIN + self.random.below(STEPS_MORE);
        for _ in 0..steps {
            self.step()?;
        }
        self.resolver.clear();
        self.stubborn.clear();
        if self.stage.engine.is_none() || self.random.chance(500) {
            self.dies()?;
            self.opens()?;
        }
        self.stage.come_to_rest(&self.keys)
    }

    fn step(&mut self) -> Judged {
        if self.stage.engine.is_none() {
            return self.opens();
        }
        if !self.stage.calls.is_empty() && self.random.chance(780) {
            return self.answers();
        }
        match self.random.below(1000) {
            0..=599 => self.asks(),
            600..=639 => match self.any_task() {
                Some(task) => {
                    self.stage.cancel(task)?;
                    self.forgets_what_is_abandoned()
                }
                None => Ok(()),
            },
            640..=679 => self.dies(),
            680..=799 => {
                self.time_passes();
                Ok(())
            }
            800..=859 => {
                let key = self.any_key();
                let value = self.any_value();
                self.stage.server.write(&key, value);
                Ok(())
            }
            860..=899 => {
                let key = self.any_key();
                self.stage.app.fetch(&key, &self.stage.server);
                Ok(())
            }
            900..=939 => {
                self.moods_change();
                Ok(())
            }
            _ => self.stage.inspect(&self.keys),
        }
    }

    fn opens(&mut self) -> Judged {
        self.config.epoch = self.random.next();
        self.config.lanes_max = self.random.pick(&[1, 2, 4]);
        self.config.codec_version = if self.random.chance(200) { 2 } else { 1 };
        self.stage.open(self.config.clone())
    }

    fn any_key(&mut self) -> Identity {
        let at = self.random.below(self.keys.len());
        self.keys[at].clone()
    }

    fn any_value(&mut self) -> Presence {
        if self.random.chance(250) {
            return Presence::Absent;
        }
        Presence::Present(format!("s{}", self.random.below(1000)).into())
    }

    fn any_task(&mut self) -> Option<parsley_journal::action::TaskId> {
        let tasks: Vec<_> = self.stage.tasks.keys().copied().collect();
        (!tasks.is_empty()).then(|| self.random.pick(&tasks))
    }

    fn time_passes(&mut self) {
        let by = match self.random.below(10) {
            0 => -self.random.between(1, 50_000),
            1..=4 => self.random.between(0, 800),
            5..=8 => self.random.between(500, 20_000),
            _ => self.random.between(60_000, 400_000),
        };
        self.stage.now += by;
    }

    fn moods_change(&mut self) {
        let key = self.any_key();
        match self.random.below(4) {
            0 => drop(self.resolver.remove(&key)),
            1 => {
                let moods = [
                    Resolver::Unknown,
                    Resolver::Throws,
                    Resolver::Mismatches,
                    Resolver::Unavailable,
                    Resolver::Unavailable,
                ];
                let mood = self.random.pick(&moods);
                self.resolver.insert(key, mood);
            }
            2 => drop(self.stubborn.insert(key)),
            _ => self.stubborn.clear(),
        }
    }

    /// Somebody wants something.
    fn asks(&mut self) -> Judged {
        if self.stage.tasks.len() >= TASKS_MAX {
            return Ok(());
        }
        let operation = match self.random.below(100) {
            0..=44 => self.mutates(),
            45..=64 => Operation::Drain(self.any_key()),
            65..=91 => Operation::DrainAll,
            92..=95 => Operation::Retry(self.any_sequence()),
            _ => Operation::Discard { sequence: self.any_sequence(), note: "by chance".into() },
        };
        self.stage.start(operation).map(drop)
    }

    fn mutates(&mut self) -> Operation {
        let doing = match self.random.below(100) {
            0..=34 => Doing::Set,
            35..=59 => Doing::Append,
            60..=71 => Doing::Update,
            72..=87 => Doing::Delete,
            88..=93 => Doing::Throw,
            94..=96 => Doing::Garbled,
            _ => Doing::Missing,
        };
        let keys = (0..self.random.below(4)).map(|_| self.any_key()).collect();
        let namespaces = (0..self.random.below(2)).map(|_| self.any_key().namespace).collect();
        let mutator = self.stage.app.request(Request { doing, keys, namespaces });
        Operation::Mutate(Mutation { key: self.any_key(), mutator })
    }

    /// A mutation that there may be; mostly a dead letter, which is what people look at.
    fn any_sequence(&mut self) -> u64 {
        let dead =
            self.stage.engine.as_ref().and_then(|engine| engine.dead_letters().ok()).unwrap_or_default();
        if !dead.is_empty() && self.random.chance(700) {
            let at = self.random.below(dead.len());
            return dead[at].sequence;
        }
        1 + self.random.below(20) as u64
    }

    /// One of the calls that are out is answered.
    fn answers(&mut self) -> Judged {
        let at = self.random.below(self.stage.calls.len());
        let call = self.stage.calls[at].call.clone();
        let reply = self.reply_to(&call);
        // Now and then the disk can't be read for the length of a step.
        let reads_fail = self.random.chance(self.turbulence) && self.random.chance(30);
        if reads_fail {
            self.stage.disk.fail_reads(true);
            self.stage.judge.reads_failed();
        }
        let answered = self.stage.reply(at, &reply);
        if reads_fail {
            self.stage.judge.reads_failed();
            self.stage.disk.fail_reads(false);
        }
        answered?;
        self.forgets_what_is_abandoned()
    }

    /// A call that nobody waits for any more may still do what it was to do.
    fn forgets_what_is_abandoned(&mut self) -> Judged {
        for out in std::mem::take(&mut self.stage.abandoned) {
            if self.random.chance(400) {
                let mood = self.mood_of_push(&out.call);
                self.stage.perform(&out, &mood)?;
            }
        }
        Ok(())
    }

    /// The process dies, with its calls half done; often the power goes with it.
    fn dies(&mut self) -> Judged {
        for out in std::mem::take(&mut self.stage.calls) {
            if self.random.chance(400) {
                let mood = self.mood_of_push(&out.call);
                self.stage.perform(&out, &mood)?;
            }
        }
        let unsynced = self.stage.disk.unsynced();
        let power = self.random.chance(600).then(|| self.random.below(unsynced + 1));
        self.stage.kill(power);
        Ok(())
    }

    fn is_troubled(&mut self, per_mille: usize) -> bool {
        self.random.chance(self.turbulence) && self.random.chance(per_mille)
    }
}

/// A call is answered as it should be.
const HONEST: Reply = Reply::Honest;
