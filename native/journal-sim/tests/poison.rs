//! A head that can never go on costs the other namespaces nothing.

mod common;

use std::collections::HashMap;

use common::{config, honest, key};
use parsley_journal::action::{Answer, Call, CallId};
use parsley_journal::engine::Operation;
use parsley_journal::mutate::Mutation;
use parsley_journal::records::Identity;
use parsley_journal_sim::app::{Doing, Request};
use parsley_journal_sim::server::Mood;
use parsley_journal_sim::stage::{Reply, Stage};

const NAMESPACES: usize = 6;
const ROUNDS: usize = 30;
const ROUND_MS: i64 = 1_000;

/// What a call takes, in milliseconds; calls that are out together take their time together.
fn cost(call: &Call) -> i64 {
    match call {
        Call::Push(_) | Call::FreshRead(_) | Call::Retire { .. } => 20,
        Call::Sync => 1,
        _ => 0,
    }
}

/// Answers calls in the order in which they are done, and moves the clock along.
fn settle(stage: &mut Stage, made: &mut HashMap<CallId, i64>, mut reply: impl FnMut(&Call) -> Reply) {
    while !stage.calls.is_empty() {
        let now = stage.now;
        let done_at: Vec<i64> =
            stage.calls.iter().map(|out| *made.entry(out.id).or_insert(now) + cost(&out.call)).collect();
        let first = (0..done_at.len()).min_by_key(|at| (done_at[*at], *at)).unwrap();
        stage.now = stage.now.max(done_at[first]);
        let reply = reply(&stage.calls[first].call);
        stage.reply(first, &reply).unwrap();
    }
}

/// How a namespace is poisoned: what its pushes and local calls meet.
type Poison = fn(&Call) -> Option<Reply>;

fn is_poisoned(key: &Identity) -> bool {
    &*key.namespace == "poison"
}

fn threw() -> Reply {
    Reply::Say(Answer::Threw("for ever".to_owned()))
}

/// The milliseconds from the request to its effect at the server, of each mutation of a healthy namespace, sorted.
fn latencies(poison: Option<(Doing, Poison)>) -> Vec<i64> {
    let mut stage = Stage::new("c", false);
    let mut made = HashMap::new();
    stage.open(config(4)).unwrap();
    let mutate = |stage: &mut Stage, at: Identity, doing| {
        let keys = vec![key("poison/other")];
        let mutator = stage.app.request(Request { doing, keys, namespaces: Vec::new() });
        stage.start(Operation::Mutate(Mutation { key: at, mutator })).unwrap();
    };
    if let Some((doing, _)) = poison {
        mutate(&mut stage, key("poison/head"), doing);
        settle(&mut stage, &mut made, honest);
    }
    let mut latencies = Vec::new();
    for _ in 0..ROUNDS {
        let begun = stage.now;
        let mut waiting = 0;
        for namespace in 0..NAMESPACES {
            mutate(&mut stage, Identity::new(format!("n{namespace}"), "k"), Doing::Set);
            settle(&mut stage, &mut made, honest);
            waiting += 1;
        }
        let asked = stage.now;
        stage.start(Operation::DrainAll).unwrap();
        while !stage.calls.is_empty() {
            let now = stage.now;
            let done_at: Vec<i64> =
                stage.calls.iter().map(|out| *made.entry(out.id).or_insert(now) + cost(&out.call)).collect();
            let first = (0..done_at.len()).min_by_key(|at| (done_at[*at], *at)).unwrap();
            stage.now = stage.now.max(done_at[first]);
            let call = stage.calls[first].call.clone();
            let reply = poison.and_then(|(_, poison)| poison(&call)).unwrap_or(Reply::Honest);
            if let Call::Push(request) = &call
                && !is_poisoned(&request.key)
            {
                latencies.push(stage.now - asked);
                waiting -= 1;
            }
            stage.reply(first, &reply).unwrap();
        }
        assert_eq!(waiting, 0, "each mutation has its effect in the first pass after it");
        stage.now = begun + ROUND_MS;
    }
    latencies.sort_unstable();
    latencies
}

#[test]
fn a_head_that_fails_for_ever_costs_other_namespaces_nothing() {
    let poisons: [(&str, Doing, Poison); 5] = [
        ("its push fails", Doing::Set, |call| match call {
            Call::Push(request) if is_poisoned(&request.key) => Some(Reply::Push(Mood::LostOnTheWay)),
            _ => None,
        }),
        ("its answer can't be adopted", Doing::Set, |call| match call {
            Call::Apply { key, .. } if is_poisoned(key) => Some(threw()),
            _ => None,
        }),
        ("its adoption can't be confirmed", Doing::Set, |call| match call {
            Call::ConfirmFresh { key, .. } if is_poisoned(key) => Some(threw()),
            _ => None,
        }),
        ("its mutator declines", Doing::Update, |_| None),
        ("its base can't be read", Doing::Set, |call| match call {
            Call::Status(key) if is_poisoned(key) => Some(threw()),
            _ => None,
        }),
    ];
    let shown = |latencies: &[i64]| {
        let of = |per_mille: usize| latencies[(latencies.len() - 1) * per_mille / 1000];
        format!("p50 {} ms, p99 {} ms, max {} ms", of(500), of(990), of(1000))
    };
    let healthy = latencies(None);
    println!("no poison: {}", shown(&healthy));
    for (what, doing, poison) in poisons {
        let poisoned = latencies(Some((doing, poison)));
        println!("{what}: {}", shown(&poisoned));
        assert_eq!(poisoned.len(), healthy.len());
        let at = |latencies: &[i64], per_mille: usize| latencies[(latencies.len() - 1) * per_mille / 1000];
        assert_eq!(at(&poisoned, 500), at(&healthy, 500), "{what}: the median");
        assert_eq!(at(&poisoned, 990), at(&healthy, 990), "{what}: the 99th percentile");
    }
}
