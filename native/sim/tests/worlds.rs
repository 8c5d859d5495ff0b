//! The short form of `make sim`, and the proof that a seed is a run.

const SEEDS: u64 = 2_000;

#[test]
fn nothing_is_found_in_the_first_worlds() {
    for seed in 0..SEEDS {
        if let Some(violation) = parsley_sim::run(seed).violation {
            panic!("seed {seed}: {violation:?}; replay it: make sim SEED={seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [0, 1, 7, u64::MAX] {
        let (first, second) = (parsley_sim::tell(seed), parsley_sim::tell(seed));
        assert_eq!(first, second);
        assert!(!first.lines.is_empty());
        assert_eq!(parsley_sim::run(seed).digest, first.digest, "telling the story does not change it");
    }
}

#[test]
fn other_seeds_give_other_runs() {
    let digests: std::collections::BTreeSet<u64> =
        (0..200).map(|seed| parsley_sim::run(seed).digest).collect();
    assert_eq!(digests.len(), 200);
}

/// A world in which nothing happens proves nothing: every kind of event that is promised comes up.
#[test]
fn every_kind_of_event_happens() {
    let story: Vec<String> = (0..400).flat_map(|seed| parsley_sim::tell(seed).lines).collect();
    let kinds = [
        " delivers ",
        " sends ",
        "   held",
        "   a replay, dropped",
        " commits, ",
        " flushes ",
        " crashes",
        "and crashes before it is restored",
        "its transaction is aborted",
        "a producer aborts",
        " stops",
        " on another machine",
        "is moved back from",
        "is moved past",
        " is to receive ",
        " is discarded",
        "positions it has not read were discarded",
        " is deleted",
        " is created again",
        "with broken causes",
        "damage in row",
        "while it runs",
        "is compacted",
        " is of version 1",
        "transactional stores on",
        "transactional stores off",
        " has a punctuation",
        "refuses: UNDECODABLE_METADATA",
        "refuses: METADATA_BUDGET_EXCEEDED",
        "refuses: OUT_OF_ORDER_FEED",
        "refuses: UNKNOWN_ORDERING_STATE_FORMAT",
        "refuses: CHANNEL_IDENTITY_CHANGED",
        "refuses: CHANNEL_REMOVED_WITH_HELD_MESSAGES",
        "refuses: CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES",
    ];
    for kind in kinds {
        assert!(story.iter().any(|line| line.contains(kind)), "never happened: {kind}");
    }
}
