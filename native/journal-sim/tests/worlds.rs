//! The short form of `make journal-sim`, and the proof that a seed is a run.

const SEEDS: u64 = 1_000;

#[test]
fn nothing_is_found_in_the_first_worlds() {
    for seed in 0..SEEDS {
        if let Some(violation) = parsley_journal_sim::run(seed).violation {
            panic!("seed {seed}: {violation}; replay it: make journal-sim SEED={seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [0, 1, 7, 8, 9, u64::MAX] {
        let (first, second) = (parsley_journal_sim::tell(seed), parsley_journal_sim::tell(seed));
        assert_eq!(first, second);
        assert!(!first.lines.is_empty());
        assert_eq!(
            parsley_journal_sim::run(seed).digest,
            first.digest,
            "telling the story does not change it"
        );
    }
}

#[test]
fn other_seeds_give_other_runs() {
    let digests: std::collections::BTreeSet<u64> =
        (0..200).map(|seed| parsley_journal_sim::run(seed).digest).collect();
    assert_eq!(digests.len(), 200);
}

/// A world in which nothing happens proves nothing: every kind of event that is promised comes up.
#[test]
fn every_kind_of_event_happens() {
    let story: Vec<String> = (0..400).flat_map(|seed| parsley_journal_sim::tell(seed).lines).collect();
    let transitions = [
        "T0", "T1", "T2", "T3", "T4", "T4b", "T5", "T5b", "T6", "T7", "T8", "T9", "T10", "T11", "T12", "T13",
        "T14", "retry", "discard",
    ];
    for transition in transitions {
        let words = format!(" {transition} of ");
        assert!(
            story.iter().any(|line| line.contains(&words) && line.ends_with("is written")),
            "no {transition}"
        );
    }
    let kinds = [
        "opens, ",
        "is given up",
        "the process is killed",
        "unsynced transactions 0 are left",
        "unsynced transactions 1 are left",
        "has its effect, by generation 1",
        "has its effect, by generation 2",
        "write\u{1} failed",
        "sync\u{1} failed",
        "Fatal",
        "Cancelled",
        "Unavailable",
        "Mismatch",
        "Codec",
        "Declined",
        "Rejected",
        "CheckpointConfirmed",
        "retire-ack-invalid",
        "retire-failed",
        "retire-confirmation-failed",
        "EffectSkipped",
        "the disk does not answer",
        "attempts-exhausted",
        "push-rejected",
        "conflict-unchanged-bound",
        "alias-cross-namespace",
        "alias-cycle",
        "resolver-null",
        "resolver-throw",
        "resolver-identity-mismatch",
        "projection-throw",
        "mutator-missing",
        "args-codec",
        "value-codec-pre-ack",
        "value-codec-acked",
        "selector-failed",
        "merge-failed",
        "adoption-failed",
        "effect-target-failed",
    ];
    let missing: Vec<&str> =
        kinds.into_iter().filter(|kind| !story.iter().any(|line| line.contains(kind))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
