//! One small story for each rule that a sabotage breaks: the named tests of docs/verification.md.

mod common;
mod story;

use common::{config, honest, key};
use parsley_journal::action::{Answer, Call};
use parsley_journal::engine::Operation;
use parsley_journal::event::EventKind;
use parsley_journal::mutate::Mutation;
use parsley_journal::names::{Phase, Transition};
use parsley_journal_sim::app::{Doing, Request};
use parsley_journal_sim::server::Mood;
use parsley_journal_sim::stage::{Reply, called};
use story::{Story, only};

fn threw() -> Answer {
    Answer::Threw("it failed".to_owned())
}

/// Each push fares like this.
fn pushes(mood: Mood) -> impl FnMut(&Call) -> Reply {
    move |call| if matches!(call, Call::Push(_)) { Reply::Push(mood.clone()) } else { Reply::Honest }
}

/// Each call whose words begin so fails.
fn fails(name: &'static str) -> impl FnMut(&Call) -> Reply {
    move |call| if called(call).starts_with(name) { Reply::Say(threw()) } else { Reply::Honest }
}

/// The write before a push happens, and says that it has not.
fn the_push_is_written_and_fails(call: &Call) -> Reply {
    match call {
        Call::Commit { transition: Transition::T2, .. } => Reply::DoAndSay(threw()),
        _ => Reply::Honest,
    }
}

fn phase(story: &Story, sequence: u64) -> Phase {
    let executions = story.dump().executions;
    executions.into_iter().find(|(at, _)| *at == sequence).expect("a row").1.phase
}

#[test]
fn a_generation_is_sent_again_with_the_same_key() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    let first = story.drain("n/a", pushes(Mood::AnswerLost));
    let second = story.drain("n/a", honest);
    assert_eq!(only(&first, &["push"]), ["push c:0000000000000000:1:g1 at n/a"]);
    assert_eq!(only(&second, &["push"]), only(&first, &["push"]));
}

#[test]
fn an_answered_mutation_is_not_pushed_again() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", fails("apply"));
    assert_eq!(phase(&story, 1), Phase::Acked);
    let calls = story.drain("n/a", honest);
    assert_eq!(only(&calls, &["push", "apply"]), ["apply n/a"]);
}

#[test]
fn nobody_overtakes_the_owner_of_a_lane() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.mutate("n/b", Doing::Set);
    story.mutate("m/a", Doing::Set);
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    assert_eq!(only(&story.drain("n/b", honest), &["push"]), [""; 0]);
    let calls = story.drain_all(honest);
    assert_eq!(only(&calls, &["push"]), ["push c:0000000000000000:3:g1 at m/a"]);
}

#[test]
fn a_dead_letter_holds_the_prefix() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.mutate("n/b", Doing::Throw);
    story.mutate("n/c", Doing::Set);
    story.drain("n/b", honest);
    story.drain("n/c", honest);
    let calls = story.drain("n/a", honest);
    assert_eq!(only(&calls, &["retire"]), ["retire 1"]);
    assert_eq!((phase(&story, 2), phase(&story, 3)), (Phase::Parked, Phase::Retired));
    assert_eq!(story.dump().client.unwrap().retired_through, 1);
}

#[test]
fn a_cancelled_push_leaves_no_failure() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.run_until(Operation::Drain(key("n/a")), "push");
    let task = story.stage.calls[0].task;
    story.stage.cancel(task).unwrap();
    story.stage.settle().unwrap();
    let dump = story.dump();
    assert_eq!((dump.executions[0].1.phase, dump.executions[0].1.attempt), (Phase::Inflight, 0));
    assert_eq!(dump.failures, []);
}

#[test]
fn a_drain_of_a_key_does_not_wait() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    let calls = story.drain("n/a", honest);
    assert_eq!(only(&calls, &["push", "draw"]), ["push c:0000000000000000:1:g1 at n/a"]);
}

#[test]
fn what_is_not_due_costs_no_call() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    story.reopen();
    assert_eq!(only(&story.drain_all(honest), &["draw", "resolve", "push"]), ["draw 1000"]);
}

#[test]
fn a_pending_alias_does_not_route() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", |call| match call {
        Call::Push(_) => Reply::Push(Mood::Renamed(key("n/b"))),
        Call::Apply { .. } => Reply::Say(threw()),
        _ => Reply::Honest,
    });
    assert_eq!(story.engine().pending(&key("n/a")).unwrap()[0].key, key("n/a"));
    assert_eq!(story.engine().pending(&key("n/b")).unwrap(), []);
    story.drain("n/a", honest);
    story.mutate("n/a", Doing::Set);
    assert_eq!(story.engine().pending(&key("n/b")).unwrap()[0].key, key("n/b"));
}

#[test]
fn each_pass_draws_anew() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    for _ in 0..3 {
        assert_eq!(only(&story.drain_all(honest), &["draw"]), ["draw 1000"]);
    }
}

#[test]
fn a_failure_after_the_answer_parks_nothing() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", fails("apply"));
    assert_eq!(phase(&story, 1), Phase::Acked);
    assert_eq!(story.engine().dead_letters().unwrap(), []);
}

#[test]
fn nothing_is_deleted_before_the_server_confirms() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", fails("retire"));
    assert_eq!(story.dump().intents.len(), 1);
    story.drain("n/a", honest);
    assert_eq!(story.dump().intents.len(), 0);
}

#[test]
fn a_push_waits_for_the_disk() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    let calls = story.drain("n/a", honest);
    let calls = only(&calls, &["commit T2", "sync", "push"]);
    let push = calls.iter().position(|call| call.starts_with("push")).unwrap();
    assert_eq!(calls[push - 2..push], ["commit T2 of 1", "sync"]);
}

#[test]
fn effects_are_captured_once() {
    let mut story = Story::new();
    story.mutate_with("n/a", Request { doing: Doing::Set, keys: vec![key("n/b")], namespaces: Vec::new() });
    let first = story.drain("n/a", pushes(Mood::Stubborn(Some("A"))));
    let second = story.drain("n/a", honest);
    assert_eq!(only(&first, &["stales"]), ["stales 1"]);
    assert_eq!(
        only(&second, &["stales", "push", "markStale"]),
        ["push c:0000000000000000:1:g2 at n/a", "markStale n/b"]
    );
}

#[test]
fn another_target_for_the_same_push_is_refused() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", |call| match call {
        Call::Push(_) => Reply::Push(Mood::Renamed(key("n/b"))),
        Call::Commit { transition: Transition::T5, .. } => Reply::Say(threw()),
        _ => Reply::Honest,
    });
    assert_eq!(phase(&story, 1), Phase::Inflight);
    story.drain("n/a", pushes(Mood::Renamed(key("n/c"))));
    let dead = story.engine().dead_letters().unwrap();
    assert_eq!(&*dead[0].failure.detail, "alias-retry-target-mismatch");
    assert!(dead[0].remote_outcome_unknown);
}

#[test]
fn a_target_that_was_refused_is_remembered_until_that_is_durable() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", |call| match call {
        Call::Push(_) => Reply::Push(Mood::Renamed(key("m/b"))),
        Call::Commit { transition: Transition::T5b, .. } => Reply::Say(threw()),
        _ => Reply::Honest,
    });
    story.drain("n/a", pushes(Mood::Renamed(key("n/c"))));
    assert_eq!(&*story.engine().dead_letters().unwrap()[0].failure.detail, "alias-retry-target-mismatch");
}

#[test]
fn a_pass_leaves_later_intents_to_the_next() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.run_until(Operation::Drain(key("n/a")), "push");
    let request = Request { doing: Doing::Set, keys: Vec::new(), namespaces: Vec::new() };
    let mutator = story.stage.app.request(request);
    story.stage.start(Operation::Mutate(Mutation { key: key("n/a"), mutator })).unwrap();
    story.stage.settle().unwrap();
    assert_eq!(phase(&story, 2), Phase::Unprepared);
}

#[test]
fn equal_failures_are_one_row() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    let failures = story.dump().failures;
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].2.count, 2);
}

#[test]
fn a_pass_that_is_given_up_finishes_its_writes() {
    let mut story = Story::with_lanes(2);
    story.mutate("n/a", Doing::Set);
    story.mutate("m/a", Doing::Set);
    let task = story.stage.start(Operation::DrainAll).unwrap();
    // One lane is asked to read its base while the other one writes that it is about to push.
    let is_write = |call: &Call| matches!(call, Call::Commit { transition: Transition::T2, .. });
    while !story.stage.calls.iter().any(|out| is_write(&out.call)) {
        let at = story.stage.calls.iter().position(|out| out.call != Call::Status(key("n/a"))).unwrap();
        story.stage.reply(at, &Reply::Honest).unwrap();
    }
    story.stage.cancel(task).unwrap();
    story.stage.settle().unwrap();
    assert_eq!(phase(&story, 2), Phase::Inflight);
    let lanes = story.engine().lanes().unwrap();
    assert_eq!(lanes[0].owner.as_ref().map(|owner| owner.sequence), Some(2), "{lanes:?}");
}

#[test]
fn a_write_that_failed_is_made_durable_too() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    // Its generation is durable, so the write before the next push is all that can be lost.
    story.drain("n/a", pushes(Mood::LostOnTheWay));
    let calls = story.drain("n/a", the_push_is_written_and_fails);
    assert_eq!(phase(&story, 1), Phase::Inflight);
    assert_eq!(only(&calls, &["commit", "sync", "push"]), ["commit T2 of 1", "sync"]);
}

#[test]
fn after_a_failed_write_the_rows_are_read_anew() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", the_push_is_written_and_fails);
    let lanes = story.engine().lanes().unwrap();
    assert_eq!(lanes[0].owner.as_ref().map(|owner| owner.sequence), Some(1));
}

#[test]
fn a_dead_letter_says_that_the_server_may_have_it() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.drain("n/a", pushes(Mood::AnswerLost));
    story.drain("n/a", |call| match call {
        Call::Decode { .. } => Reply::Say(Answer::Codec("garbled".to_owned())),
        _ => Reply::Honest,
    });
    assert!(story.engine().dead_letters().unwrap()[0].remote_outcome_unknown);
}

#[test]
fn an_event_waits_for_the_disk() {
    let mut story = Story::new();
    let request = Request { doing: Doing::Set, keys: Vec::new(), namespaces: Vec::new() };
    let mutator = story.stage.app.request(request);
    story.run_until(Operation::Mutate(Mutation { key: key("n/a"), mutator }), "sync");
    assert_eq!(story.stage.events, []);
    story.stage.settle().unwrap();
    assert!(matches!(story.stage.events[0].kind, EventKind::Enqueued { .. }));
}

#[test]
fn the_third_equal_conflict_ends_it() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    for _ in 0..3 {
        story.drain("n/a", pushes(Mood::Stubborn(Some("A"))));
    }
    let dead = story.engine().dead_letters().unwrap();
    assert_eq!((dead[0].generation, &*dead[0].failure.detail), (3, "conflict-unchanged-bound"));
}

#[test]
fn rows_of_a_process_that_died_are_made_durable_before_they_are_used() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.run_until(Operation::Drain(key("n/a")), "commit T2");
    let out = story.stage.calls[0].clone();
    story.stage.perform(&out, &Mood::Honest).unwrap();
    story.stage.kill(None);
    story.stage.open(config(1)).unwrap();
    let calls = story.drain("n/a", honest);
    assert_eq!(only(&calls, &["sync", "push"])[0], "sync");
}

#[test]
fn of_two_who_retry_a_dead_letter_one_is_told_that_it_is_done() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Throw);
    story.drain("n/a", honest);
    story.stage.start(Operation::Retry(1)).unwrap();
    story.stage.start(Operation::Retry(1)).unwrap();
    story.stage.settle().unwrap();
    let outcomes: Vec<_> =
        story.stage.outcomes.iter().rev().take(2).map(|(_, outcome)| format!("{outcome:?}")).collect();
    assert!(outcomes.iter().any(|outcome| outcome.starts_with("Retried(2)")), "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| outcome.contains("WrongRow")), "{outcomes:?}");
}

#[test]
fn a_drain_that_waited_for_its_lane_goes_where_a_failed_write_leads() {
    let mut story = Story::new();
    story.mutate("n/a", Doing::Set);
    story.mutate("n/a", Doing::Set);
    story.stage.start(Operation::Drain(key("n/a"))).unwrap();
    while !called(&story.stage.calls[0].call).starts_with("commit T8") {
        let reply = pushes(Mood::Renamed(key("n/b")))(&story.stage.calls[0].call);
        story.stage.reply(0, &reply).unwrap();
    }
    // Whoever writes is given up, and so reads nothing anew when the write fails; the next one has waited for the lane.
    story.stage.cancel(story.stage.calls[0].task).unwrap();
    story.stage.start(Operation::Drain(key("n/a"))).unwrap();
    story.stage.reply(0, &Reply::DoAndSay(threw())).unwrap();
    let mut calls = Vec::new();
    while let Some(out) = story.stage.calls.first() {
        calls.push(called(&out.call));
        story.stage.reply(0, &Reply::Honest).unwrap();
    }
    assert_eq!(only(&calls, &["project"]), ["project 2 at n/b"]);
    assert_eq!(only(&calls, &["push"]), ["push c:0000000000000000:2:g1 at n/b"]);
}
