use FailureKind::{
    Adoption, Codec, Conflict, Effect as EffectFailure, Identity, Persistence, Projection, Protocol,
    Transport,
};
use Phase::{Acked, EffectsPending, Inflight, Parked, Ready, RefreshRequired, Retired, Unprepared};

use super::*;
use crate::records::{Dismissal, Identity as Key, Presence};

const PHASES: [Phase; 8] =
    [Unprepared, Ready, Inflight, RefreshRequired, Acked, EffectsPending, Parked, Retired];
const KINDS: [FailureKind; 9] =
    [Identity, Codec, Projection, Protocol, Conflict, Transport, Adoption, EffectFailure, Persistence];

/// A row of a phase with all facts that it must have, after one push if it may have been pushed.
fn row(phase: Phase) -> Execution {
    let generation = u32::from(phase != Unprepared);
    let attempt = u32::from(generation > 0 && phase != Inflight);
    Execution {
        phase,
        generation,
        attempt,
        last_attempt_at: (attempt > 0).then_some(5),
        active_failure: (phase == Parked).then_some(1),
        retired_at: (phase == Retired).then_some(9),
        ..Execution::new()
    }
}

/// The row behind an edge to `phase`, by the way in which it treats the facts of the attempt.
fn behind(old: &Execution, phase: Phase, way: Way) -> Execution {
    let (generation, attempt, last_attempt_at) = match way {
        Way::Kept => (old.generation, old.attempt, old.last_attempt_at),
        Way::Pushed => (old.generation, old.attempt + 1, Some(7)),
        Way::Next => (old.generation + 1, 0, None),
    };
    Execution {
        phase,
        generation,
        attempt,
        last_attempt_at,
        active_failure: (phase == Parked).then_some(1),
        retired_at: (phase == Retired).then_some(9),
        ..old.clone()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Kept,
    Pushed,
    Next,
}

const WAYS: [Way; 3] = [Way::Kept, Way::Pushed, Way::Next];

/// The edges of the contract, written down once more.
fn expected(from: Phase, to: Phase, way: Way, cause: Cause) -> bool {
    match (from, to, way, cause) {
        (Unprepared | RefreshRequired, Ready, Way::Next, Cause::Step)
        | (Ready, Inflight, Way::Kept, Cause::Step)
        | (Inflight, Ready | RefreshRequired | Acked, Way::Pushed, Cause::Step)
        | (Acked, EffectsPending, Way::Kept, Cause::Step)
        | (EffectsPending | RefreshRequired, Retired, Way::Kept, Cause::Step)
        | (Unprepared | Ready | Inflight | RefreshRequired, Parked, Way::Kept, Cause::Failure(Identity | Codec))
        | (Unprepared, Parked, Way::Kept, Cause::Failure(Projection | Conflict))
        | (RefreshRequired, Parked, Way::Kept, Cause::Failure(Conflict))
        | (Inflight, Parked, Way::Pushed, Cause::Failure(Conflict | Protocol | Transport))
        // Not an owner: `row` gives a READY row an attempt, which makes it one.
        | (Unprepared, Retired, Way::Kept, Cause::Mask) => true,
        _ => false,
    }
}

fn causes() -> impl Iterator<Item = Cause> {
    [Cause::Step, Cause::Mask].into_iter().chain(KINDS.map(Cause::Failure))
}

#[test]
fn every_edge_of_the_table_is_legal_and_no_other() {
    let mut legal = 0;
    for from in PHASES {
        let old = row(from);
        for to in PHASES {
            for way in WAYS {
                let new = behind(&old, to, way);
                if new == old {
                    continue;
                }
                for cause in causes() {
                    let known = edge_is_known(&old, &new, cause).is_ok();
                    // A row without a generation can't count a push or be on its way: its facts forbid it first.
                    assert_eq!(known, expected(from, to, way, cause), "{from} to {to}, {way:?}, {cause:?}");
                    legal += u32::from(known);
                }
            }
        }
    }
    assert_eq!(legal, 24);
}

#[test]
fn the_same_row_once_more_is_no_change() {
    for phase in PHASES {
        for cause in causes() {
            assert_eq!(edge_is_known(&row(phase), &row(phase), cause), Ok(()), "{phase}");
        }
    }
}

#[test]
fn a_prepared_row_that_was_never_sent_can_be_masked() {
    let ready = Execution { attempt: 0, last_attempt_at: None, ..row(Ready) };
    assert_eq!(edge_is_known(&ready, &behind(&ready, Retired, Way::Kept), Cause::Mask), Ok(()));
    let owner = row(Ready);
    assert_eq!(edge_is_known(&owner, &behind(&owner, Retired, Way::Kept), Cause::Mask), Err(Rule::EdgeKnown));
}

#[test]
fn a_push_is_counted_once() {
    let old = row(Inflight);
    let twice = Execution { attempt: old.attempt + 2, ..behind(&old, Acked, Way::Pushed) };
    assert_eq!(edge_is_known(&old, &twice, Cause::Step), Err(Rule::EdgeKnown));
    let skipped = Execution { generation: 3, ..behind(&row(RefreshRequired), Ready, Way::Next) };
    assert_eq!(edge_is_known(&row(RefreshRequired), &skipped, Cause::Step), Err(Rule::EdgeKnown));
}

fn dismissed(mut execution: Execution) -> Execution {
    execution.dismissed = Some(Dismissal { at: 8, note: "by hand".into() });
    execution
}

#[test]
fn a_dismissal_has_its_own_edges() {
    for from in PHASES {
        for to in PHASES {
            let old = row(from);
            let new = dismissed(behind(&old, to, Way::Kept));
            let known = edge_is_known(&old, &new, Cause::Dismissal).is_ok();
            let expected =
                matches!((from, to), (Parked | Unprepared, Parked) | (Acked | EffectsPending, Retired));
            assert_eq!(known, expected, "{from} to {to}");
            if expected {
                assert!(edge_is_known(&old, &new, Cause::Step).is_err(), "{from} to {to} by a step");
            }
        }
    }
}

#[test]
fn a_row_is_dismissed_once_and_keeps_why_it_was_parked() {
    let once = dismissed(row(Parked));
    let twice = Execution { dismissed: Some(Dismissal { at: 9, note: "again".into() }), ..once.clone() };
    assert_eq!(edge_is_known(&once, &twice, Cause::Dismissal), Err(Rule::EdgeKnown));
    let other = Execution { active_failure: Some(2), ..dismissed(row(Parked)) };
    assert_eq!(edge_is_known(&row(Parked), &other, Cause::Dismissal), Err(Rule::EdgeKnown));
    let told = Execution { remote_outcome_unknown: true, ..dismissed(row(Parked)) };
    assert_eq!(edge_is_known(&row(Parked), &told, Cause::Dismissal), Err(Rule::EdgeKnown));
}

#[test]
fn an_execution_has_the_facts_of_its_phase() {
    for phase in PHASES {
        let sound = row(phase);
        assert_eq!(execution_has_its_facts(&sound), Ok(()), "{phase}");
        let broken = [
            (
                "generation",
                matches!(phase, Parked | Retired),
                Execution {
                    generation: 1 - sound.generation,
                    attempt: 0,
                    last_attempt_at: None,
                    ..sound.clone()
                },
            ),
            (
                "time of the attempt",
                false,
                Execution { last_attempt_at: (sound.attempt == 0).then_some(5), ..sound.clone() },
            ),
            (
                "attempt without a generation",
                false,
                Execution { generation: 0, attempt: 1, last_attempt_at: Some(5), ..sound.clone() },
            ),
            (
                "failure",
                false,
                Execution { active_failure: sound.active_failure.is_none().then_some(1), ..sound.clone() },
            ),
            (
                "retired at",
                false,
                Execution { retired_at: sound.retired_at.is_none().then_some(9), ..sound.clone() },
            ),
            ("unknown outcome", phase == Parked, Execution { remote_outcome_unknown: true, ..sound.clone() }),
            ("dismissed", matches!(phase, Parked | Retired), dismissed(sound.clone())),
        ];
        for (fact, allowed, row) in broken {
            let verdict = execution_has_its_facts(&row);
            assert_eq!(verdict.is_ok(), allowed, "{phase} with another {fact}");
        }
    }
}

#[test]
fn a_row_whose_push_was_answered_has_its_attempt() {
    for phase in [RefreshRequired, Acked, EffectsPending] {
        let row = Execution { attempt: 0, last_attempt_at: None, ..row(phase) };
        assert_eq!(execution_has_its_facts(&row), Err(Rule::ExecutionFacts), "{phase}");
    }
}

fn client(allocated: u64, retired_through: u64, confirmed_through: u64) -> Client {
    Client { allocated, retired_through, confirmed_through, ..Client::new("c".into(), 7, 1) }
}

#[test]
fn a_client_is_ordered_and_moves_forward() {
    let old = client(5, 3, 2);
    for (new, sound) in [
        (client(5, 3, 2), true),
        (client(6, 6, 6), true),
        (client(4, 3, 2), false),
        (client(5, 2, 2), false),
        (client(5, 3, 1), false),
        (client(5, 6, 2), false),
        (client(5, 4, 5), false),
        (Client { epoch: 8, ..old.clone() }, false),
        (Client { id: "d".into(), ..old.clone() }, false),
        (Client { created_at: 2, ..old.clone() }, false),
    ] {
        assert_eq!(client_moves_forward(Some(&old), &new).is_ok(), sound, "{new:?}");
    }
    assert_eq!(client_moves_forward(None, &client(1, 0, 0)), Ok(()));
    assert_eq!(client_moves_forward(None, &client(1, 2, 0)), Err(Rule::ClientOrdered));
}

#[test]
fn an_effect_is_complete_exactly_when_it_is_settled() {
    for disposition in [Disposition::Pending, Disposition::Applied, Disposition::Skipped] {
        for completed_at in [None, Some(3)] {
            let effect = Effect {
                target: crate::records::EffectTarget::Namespace("n".into()),
                created_at: 1,
                disposition,
                completed_at,
            };
            let sound = (disposition == Disposition::Pending) == completed_at.is_none();
            assert_eq!(effect_has_its_facts(&effect).is_ok(), sound, "{effect:?}");
        }
    }
}

#[test]
fn a_target_needs_a_value_in_its_own_namespace() {
    let ack = |value, target: Option<(&str, &str)>| Ack {
        value,
        codec_version: 1,
        etag: None,
        target: target.map(|(namespace, id)| Key::new(namespace, id)),
        received_at: 1,
    };
    let present = || Presence::Present("v".into());
    for (ack, sound) in [
        (ack(present(), None), true),
        (ack(Presence::Absent, None), true),
        (ack(present(), Some(("n", "t"))), true),
        (ack(Presence::Absent, Some(("n", "t"))), false),
        (ack(present(), Some(("m", "t"))), false),
    ] {
        assert_eq!(ack_has_its_facts(&ack, "n").is_ok(), sound, "{ack:?}");
    }
}

#[test]
fn an_alias_leads_elsewhere_in_its_namespace() {
    let source = Key::new("n", "s");
    let alias = |namespace: &str, id: &str, state, activated_at| Alias {
        target: Key::new(namespace, id),
        state,
        created_by: 1,
        created_at: 1,
        activated_at,
    };
    for (alias, sound) in [
        (alias("n", "t", AliasState::Pending, None), true),
        (alias("n", "t", AliasState::Active, Some(2)), true),
        (alias("n", "t", AliasState::Pending, Some(2)), false),
        (alias("n", "t", AliasState::Active, None), false),
        (alias("n", "s", AliasState::Pending, None), false),
        (alias("m", "t", AliasState::Pending, None), false),
    ] {
        assert_eq!(alias_has_its_facts(&source, &alias).is_ok(), sound, "{alias:?}");
    }
}

fn tombstone(state: TombstoneState) -> Tombstone {
    Tombstone {
        state,
        created_at: 1,
        activated_at: (state != TombstoneState::Pending).then_some(2),
        superseded_by: (state == TombstoneState::Superseded).then_some(4),
        superseded_at: (state == TombstoneState::Superseded).then_some(3),
    }
}

#[test]
fn a_tombstone_moves_forward_one_step_at_a_time() {
    use TombstoneState::{Active, Pending, Superseded};
    let states = [Pending, Active, Superseded];
    for old in states {
        for new in states {
            let known = tombstone_moves_forward(&tombstone(old), &tombstone(new)).is_ok();
            let expected = old == new || matches!((old, new), (Pending, Active) | (Active, Superseded));
            assert_eq!(known, expected, "{old} to {new}");
        }
    }
    let later = Tombstone { activated_at: Some(9), ..tombstone(Superseded) };
    assert_eq!(tombstone_moves_forward(&tombstone(Active), &later), Err(Rule::TombstoneSound));
}

#[test]
fn a_tombstone_is_complete_for_its_state() {
    for state in [TombstoneState::Pending, TombstoneState::Active, TombstoneState::Superseded] {
        let sound = tombstone(state);
        assert_eq!(tombstone_has_its_facts(&sound), Ok(()));
        for broken in [
            Tombstone { activated_at: sound.activated_at.is_none().then_some(2), ..sound.clone() },
            Tombstone { superseded_by: sound.superseded_by.is_none().then_some(4), ..sound.clone() },
            Tombstone { superseded_at: sound.superseded_at.is_none().then_some(3), ..sound.clone() },
        ] {
            assert_eq!(tombstone_has_its_facts(&broken), Err(Rule::TombstoneSound), "{broken:?}");
        }
    }
}
