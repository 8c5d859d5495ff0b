//! The process dies before and after every commit and every call of scenarios that together take every transition, with
//! and without the power; then it starts again and drains to the end, and the judge compares.

mod common;

use std::collections::BTreeSet;

use common::{config, honest, key};
use parsley_journal::action::{Answer, Call};
use parsley_journal::engine::Operation;
use parsley_journal::mutate::Mutation;
use parsley_journal::records::Identity;
use parsley_journal_sim::app::{Doing, Request};
use parsley_journal_sim::server::Mood;
use parsley_journal_sim::stage::{Reply, Stage, called};

/// Where a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Death {
    /// Calls until then.
    call: usize,
    /// The call is done before.
    done: bool,
    /// How much of what was not synced is left; everything if the power stays.
    power: Option<usize>,
}

/// A scenario on its way.
struct Play {
    stage: Stage,
    death: Option<Death>,
    calls: Vec<String>,
    is_dead: bool,
}

const LANES: usize = 2;

fn keys() -> Vec<Identity> {
    ["a/1", "a/2", "a/3", "b/1", "b/2"].map(key).to_vec()
}

impl Play {
    fn new(death: Option<Death>) -> Self {
        let mut stage = Stage::new("c", false);
        stage.open(config(LANES)).unwrap();
        Self { stage, death, calls: Vec::new(), is_dead: false }
    }

    fn mutate(&mut self, at: &str, doing: Doing) {
        self.mutate_with(at, doing, &[], &[]);
    }

    fn mutate_with(&mut self, at: &str, doing: Doing, keys: &[&str], namespaces: &[&str]) {
        let keys = keys.iter().map(|text| key(text)).collect();
        let namespaces = namespaces.iter().map(|name| (*name).into()).collect();
        let mutator = self.stage.app.request(Request { doing, keys, namespaces });
        self.run(Operation::Mutate(Mutation { key: key(at), mutator }), honest);
    }

    fn drain(&mut self, at: &str, reply: impl FnMut(&Call) -> Reply) {
        self.run(Operation::Drain(key(at)), reply);
    }

    fn run(&mut self, operation: Operation, mut reply: impl FnMut(&Call) -> Reply) {
        if self.is_dead {
            return;
        }
        self.stage.start(operation).unwrap();
        while let Some(out) = self.stage.calls.first().cloned() {
            let reply = reply(&out.call);
            if let Some(death) = self.death.filter(|death| death.call == self.calls.len()) {
                let mood = match &reply {
                    Reply::Push(mood) => Some(mood.clone()),
                    Reply::Honest | Reply::DoAndSay(_) => Some(Mood::Honest),
                    Reply::Say(_) => None,
                };
                if let Some(mood) = mood.filter(|_| death.done) {
                    self.stage.perform(&out, &mood).unwrap();
                }
                self.stage.kill(death.power);
                self.is_dead = true;
                return;
            }
            self.calls.push(called(&out.call));
            self.stage.reply(0, &reply).unwrap();
        }
    }
}

fn pushes(mood: Mood) -> impl FnMut(&Call) -> Reply {
    move |call| if matches!(call, Call::Push(_)) { Reply::Push(mood.clone()) } else { Reply::Honest }
}

fn fails(name: &'static str) -> impl FnMut(&Call) -> Reply {
    move |call| {
        if called(call).starts_with(name) {
            Reply::Say(Answer::Threw("it failed".to_owned()))
        } else {
            Reply::Honest
        }
    }
}

fn stubborn(etag: &'static str) -> impl FnMut(&Call) -> Reply {
    pushes(Mood::Stubborn(Some(etag)))
}

fn plain(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["a/2", "b/1"], &["z"]);
    play.mutate("a/1", Doing::Append);
    play.mutate("b/1", Doing::Set);
    play.run(Operation::DrainAll, honest);
}

fn lost_pushes(play: &mut Play) {
    play.mutate("a/1", Doing::Set);
    play.mutate("a/1", Doing::Append);
    play.mutate("a/2", Doing::Set);
    play.drain("a/1", pushes(Mood::LostOnTheWay));
    play.drain("a/1", pushes(Mood::AnswerLost));
    play.drain("a/2", honest);
    play.drain("a/1", pushes(Mood::Twice));
}

fn conflicts(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["b/1"], &[]);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", stubborn("A"));
    play.drain("a/1", stubborn("B"));
    play.drain("a/1", honest);
}

fn the_same_conflict(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["b/1"], &[]);
    play.mutate("a/1", Doing::Append);
    for _ in 0..3 {
        play.drain("a/1", stubborn("A"));
    }
    play.run(Operation::Retry(1), honest);
}

fn the_server_wins(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["b/1"], &["z"]);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", stubborn("A"));
    play.drain("a/1", |call| match call {
        Call::Merge { .. } => Reply::Say(Answer::ServerWins),
        _ => Reply::Honest,
    });
}

fn aliases(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["a/1", "b/1"], &[]);
    play.mutate("a/2", Doing::Set);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", |call| match call {
        Call::Push(request) if request.sequence == 1 => Reply::Push(Mood::Renamed(key("a/2"))),
        _ => Reply::Honest,
    });
    play.mutate("a/1", Doing::Append);
    play.run(Operation::DrainAll, honest);
}

fn impossible_aliases(play: &mut Play) {
    play.mutate("a/1", Doing::Set);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", |call| match call {
        Call::Push(request) if request.sequence == 1 => Reply::Push(Mood::Renamed(key("b/1"))),
        _ => Reply::Honest,
    });
    play.run(Operation::Discard { sequence: 1, note: "the server is mended".into() }, honest);
    play.drain("a/1", honest);
}

fn tombstones(play: &mut Play) {
    play.mutate("a/1", Doing::Set);
    play.mutate("a/1", Doing::Delete);
    play.drain("a/1", honest);
    play.mutate("a/1", Doing::Set);
    play.mutate("a/2", Doing::Delete);
    play.drain("a/1", fails("retire"));
    play.run(Operation::DrainAll, honest);
}

fn a_tombstone_behind_an_alias(play: &mut Play) {
    play.mutate("a/1", Doing::Set);
    play.mutate("a/2", Doing::Delete);
    play.drain("a/2", honest);
    play.drain("a/1", pushes(Mood::Renamed(key("a/2"))));
}

fn dead_letters(play: &mut Play) {
    play.mutate("a/1", Doing::Throw);
    play.mutate("a/1", Doing::Set);
    play.mutate("b/1", Doing::Missing);
    play.mutate("b/1", Doing::Update);
    play.run(Operation::DrainAll, pushes(Mood::Refused));
    play.run(Operation::Discard { sequence: 1, note: "not needed".into() }, honest);
    play.run(Operation::Retry(2), honest);
    play.run(Operation::Discard { sequence: 4, note: "it declines for ever".into() }, honest);
    play.run(Operation::DrainAll, honest);
}

fn adoption_and_effects_fail(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["b/1", "b/2"], &["z"]);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", fails("apply"));
    play.drain("a/1", fails("confirmFresh"));
    play.drain("a/1", fails("markStale b/1"));
    play.drain("a/1", fails("invalidate"));
    play.run(Operation::DrainAll, honest);
}

fn an_answer_is_discarded(play: &mut Play) {
    play.mutate_with("a/1", Doing::Set, &["b/1"], &[]);
    play.mutate("a/1", Doing::Append);
    play.drain("a/1", |call| match call {
        Call::Push(_) => Reply::Push(Mood::Renamed(key("a/2"))),
        Call::Apply { .. } => Reply::Say(Answer::Threw("it failed".to_owned())),
        _ => Reply::Honest,
    });
    play.run(Operation::Discard { sequence: 1, note: "by hand".into() }, honest);
    play.run(Operation::DrainAll, honest);
}

type Scenario = (&'static str, fn(&mut Play));

const SCENARIOS: [Scenario; 12] = [
    ("plain", plain),
    ("lost pushes", lost_pushes),
    ("conflicts", conflicts),
    ("the same conflict", the_same_conflict),
    ("the server wins", the_server_wins),
    ("aliases", aliases),
    ("impossible aliases", impossible_aliases),
    ("tombstones", tombstones),
    ("a tombstone behind an alias", a_tombstone_behind_an_alias),
    ("dead letters", dead_letters),
    ("adoption and effects fail", adoption_and_effects_fail),
    ("an answer is discarded", an_answer_is_discarded),
];

/// Plays a scenario to its end, or to the death, and what comes after.
fn play((name, scenario): Scenario, death: Option<Death>) -> Play {
    let mut play = Play::new(death);
    scenario(&mut play);
    if play.is_dead {
        play.stage.open(config(LANES)).unwrap_or_else(|found| panic!("{name}, {death:?}: {found}"));
    }
    play.stage.come_to_rest(&keys()).unwrap_or_else(|found| panic!("{name}, {death:?}: {found}"));
    play
}

#[test]
fn a_process_may_die_at_every_commit_and_every_call() {
    let mut deaths = 0;
    for scenario in SCENARIOS {
        let calls = play(scenario, None).calls.len();
        for call in 0..calls {
            for done in [false, true] {
                for power in [None, Some(0), Some(1)] {
                    let death = Death { call, done, power };
                    assert!(play(scenario, Some(death)).is_dead, "{}: {death:?}", scenario.0);
                    deaths += 1;
                }
            }
        }
    }
    println!("{deaths} deaths in {} scenarios", SCENARIOS.len());
}

/// The same with a second death while the first one is being recovered from.
#[test]
fn a_process_may_die_again_while_it_recovers() {
    for scenario in SCENARIOS {
        let calls = play(scenario, None).calls.len();
        for call in 0..calls {
            let mut first = Play::new(Some(Death { call, done: true, power: Some(0) }));
            scenario.1(&mut first);
            for again in 0..12 {
                if first.is_dead {
                    first.stage.open(config(LANES)).unwrap();
                    first.is_dead = false;
                }
                first.stage.now += 400_000;
                first.death =
                    Some(Death { call: first.calls.len() + again, done: again % 2 == 0, power: None });
                first.run(Operation::DrainAll, honest);
            }
            if first.is_dead {
                first.stage.open(config(LANES)).unwrap();
            }
            first
                .stage
                .come_to_rest(&keys())
                .unwrap_or_else(|found| panic!("{}, {call}: {found}", scenario.0));
        }
    }
}

#[test]
fn the_scenarios_take_every_transition_and_make_every_call() {
    let calls: BTreeSet<String> =
        SCENARIOS.into_iter().flat_map(|scenario| play(scenario, None).calls).collect();
    for transition in [
        "T0", "T1", "T2", "T3", "T4", "T4b", "T5", "T5b", "T6", "T7", "T8", "T9", "T10", "T11", "T12", "T13",
        "T14", "retry", "discard",
    ] {
        let words = format!("commit {transition} ");
        assert!(calls.iter().any(|call| call.starts_with(&words)), "no {transition}");
    }
    for call in [
        "sync",
        "status",
        "read",
        "project",
        "stales",
        "decode",
        "push",
        "freshRead",
        "merge",
        "apply",
        "confirmFresh",
        "clear",
        "markStale",
        "invalidate",
        "retire",
        "resolve",
    ] {
        assert!(calls.iter().any(|made| made.starts_with(call)), "no {call}");
    }
}
