use super::*;
use crate::Config;
use crate::engine::Engine;
use crate::fixture::{CLIENT, Journal, ack, attempt, client, effect, execution, failure, intent, present};
use crate::keys::CLIENT_KEY;
use crate::records::{Conflict, EffectTarget, Presence};

fn config() -> Config {
    Config {
        client: CLIENT.into(),
        epoch: 1,
        codec_version: 1,
        chooses_preconditions: false,
        lanes_max: 1,
        attempts_max: None,
        age_max_ms: None,
    }
}

/// Opens what `damage` makes of a sound journal. There is no engine then, so nothing can be pushed.
fn refusal(damage: impl FnOnce(&mut Journal)) -> Violation {
    let mut journal = Journal::sound();
    damage(&mut journal);
    match Engine::open(journal.rows(), config()) {
        Err(JournalError::Rule(violation)) => violation,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it opens"),
    }
}

#[track_caller]
fn refused(rule: Rule, row: &str, damage: impl FnOnce(&mut Journal)) {
    let violation = refusal(damage);
    assert_eq!(violation.rule, rule, "{violation}");
    assert!(violation.row.contains(row), "'{}' does not name {row}", violation.row);
}

fn id(namespace: &str, id: &str) -> Identity {
    Identity::new(namespace, id)
}

#[test]
fn a_sound_journal_opens() {
    let cache = open(&*Journal::sound().rows(), Some(CLIENT)).expect("sound");
    assert_eq!(
        cache.owners.iter().map(|(lane, owner)| (&**lane, *owner)).collect::<Vec<_>>(),
        [("a", 2), ("d", 5), ("e", 6)]
    );
    assert_eq!((cache.next_failure, cache.pruned_through), (2, 0));
    assert_eq!(open(&*Journal::default().rows(), Some(CLIENT)).expect("empty").client, None);
}

#[test]
fn two_owners_of_a_lane_are_refused() {
    refused(Rule::LaneOwnedOnce, "execution of mutation 7", |journal| {
        journal.mutation(4, "b", "4", Phase::Inflight);
        journal.part(7, Part::Execution, &execution(Phase::Inflight));
    });
}

#[test]
fn an_intent_without_its_execution_is_refused() {
    refused(Rule::MutationWhole, "execution of mutation 4 is missing", |journal| {
        journal.remove(&RowKey::Mutation(4, Part::Execution));
    });
}

#[test]
fn rows_without_their_intent_are_refused() {
    refused(Rule::MutationWhole, "intent of mutation 1 is missing", |journal| {
        journal.remove(&RowKey::Mutation(1, Part::Intent));
    });
    refused(Rule::MutationWhole, "mutation 5", |journal| {
        journal.remove(&RowKey::Mutation(5, Part::Intent));
    });
}

#[test]
fn a_hole_in_the_sequences_is_refused() {
    refused(Rule::SequenceGapless, "intent of mutation 5", |journal| {
        for part in [Part::Intent, Part::Execution] {
            journal.remove(&RowKey::Mutation(4, part));
        }
    });
    refused(Rule::SequenceGapless, "intent of mutation 8", |journal| {
        journal.put(CLIENT_KEY.to_vec(), &Client { allocated: 8, ..client() });
    });
    refused(Rule::SequenceGapless, "intent of mutation 8", |journal| {
        journal.put(CLIENT_KEY.to_vec(), &Client { allocated: 6, ..client() });
    });
}

#[test]
fn any_flipped_bit_is_refused() {
    for (key, value) in Journal::sound().0 {
        for bit in 0..value.len() * 8 {
            let mut flipped = value.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let violation = refusal(|journal| drop(journal.0.insert(key.clone(), flipped.into())));
            let expected = [Rule::RowReadable, Rule::FormatVersion, Rule::IndexTrue];
            assert!(expected.contains(&violation.rule), "bit {bit} of {key:?}: {violation}");
        }
    }
}

#[test]
fn a_missing_row_is_refused() {
    for key in Journal::sound().0.into_keys() {
        // What nothing else needs may be missing: an applied effect, and a deletion that stands.
        let free = [mutation_key(1, Part::Effect(0)), RowKey::Tombstone(id("a", "1"), 1).encode()];
        let others = [
            RowKey::Alias(id("a", "2")).encode(),
            RowKey::Tombstone(id("e", "6"), 6).encode(),
            mutation_key(6, Part::Effect(0)),
            mutation_key(1, Part::Ack(1)),
        ];
        if !free.contains(&key) && !others.contains(&key) {
            refusal(|journal| drop(journal.0.remove(&key)));
        }
    }
}

#[test]
fn a_row_of_no_class_is_refused() {
    refused(Rule::RowReadable, "the row with key 7a", |journal| {
        journal.0.insert(b"z".to_vec(), Bytes::new());
    });
}

#[test]
fn a_later_format_is_refused() {
    refused(Rule::FormatVersion, "format version", |journal| journal.raw(&RowKey::Version, vec![2]));
    refused(Rule::FormatVersion, "client", |journal| {
        let mut value = journal.0[CLIENT_KEY].to_vec();
        value[0] = 2;
        journal.0.insert(CLIENT_KEY.to_vec(), value.into());
    });
}

#[test]
fn a_journal_without_its_version_or_client_is_refused() {
    refused(Rule::RowReadable, "format version", |journal| *journal = journal.clone().unversioned());
    refusal(|journal| journal.remove(&RowKey::Client));
    refused(Rule::RowReadable, "format version", |journal| {
        *journal = Journal::default();
        journal.raw(&RowKey::Version, vec![FORMAT_VERSION]);
    });
}

#[test]
fn a_journal_of_another_client_is_refused() {
    refused(Rule::ClientSame, "'other'", |journal| {
        *journal = Journal::default();
        journal.raw(&RowKey::Version, vec![FORMAT_VERSION]);
        journal.put(CLIENT_KEY.to_vec(), &Client::new("other".into(), 1, 1));
    });
}

#[test]
fn a_name_that_is_not_known_is_refused() {
    refused(Rule::RowReadable, "execution of mutation 4", |journal| {
        let key = mutation_key(4, Part::Execution);
        let mut value = journal.0[&key].to_vec();
        value[5] = b'V';
        let end = value.len() - 4;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&key);
        hasher.update(&value[..end]);
        value[end..].copy_from_slice(&hasher.finalize().to_be_bytes());
        journal.0.insert(key, value.into());
    });
}

#[test]
fn a_prefix_that_is_not_true_is_refused() {
    refused(Rule::PrefixTrue, "execution of mutation 1", |journal| {
        journal.put(CLIENT_KEY.to_vec(), &Client { retired_through: 0, ..client() });
    });
    refused(Rule::PrefixTrue, "execution of mutation 2", |journal| {
        journal.put(CLIENT_KEY.to_vec(), &Client { retired_through: 2, ..client() });
    });
    refused(Rule::ClientOrdered, "client", |journal| {
        journal.put(CLIENT_KEY.to_vec(), &Client { confirmed_through: 2, ..client() });
    });
}

#[test]
fn a_parked_row_without_its_failure_is_refused() {
    refused(Rule::ParkedFailure, "execution of mutation 3", |journal| {
        journal.remove(&RowKey::Mutation(3, Part::Failure(1)));
    });
    refused(Rule::ParkedFailure, "execution of mutation 3", |journal| {
        journal.part(3, Part::Failure(1), &Failure { generation: 1, ..failure() });
    });
}

#[test]
fn an_answered_row_without_its_answer_is_refused() {
    refused(Rule::AckKept, "execution of mutation 2", |journal| {
        journal.remove(&RowKey::Mutation(2, Part::Ack(1)));
    });
}

#[test]
fn an_answer_before_its_phase_or_to_another_generation_is_refused() {
    refused(Rule::AckKept, "execution of mutation 7", |journal| {
        journal.part(7, Part::Ack(1), &ack(present(), None));
    });
    refused(Rule::AckKept, "execution of mutation 2", |journal| {
        journal.part(2, Part::Ack(2), &ack(present(), None));
    });
}

#[test]
fn an_answer_with_an_impossible_target_is_refused() {
    for ack in [ack(present(), Some(id("b", "t"))), ack(Presence::Absent, Some(id("a", "t")))] {
        refused(Rule::AckKept, "answer to generation 1 of mutation 2", |journal| {
            journal.part(2, Part::Ack(1), &ack);
        });
    }
}

#[test]
fn a_retired_row_with_a_pending_effect_is_refused() {
    refused(Rule::EffectsSettled, "execution of mutation 1", |journal| {
        journal.part(1, Part::Effect(0), &effect(Disposition::Pending));
    });
}

#[test]
fn effects_without_their_facts_are_refused() {
    refused(Rule::EffectFacts, "effect 0 of mutation 6", |journal| {
        journal.part(6, Part::Effect(0), &Effect { completed_at: Some(1), ..effect(Disposition::Pending) });
    });
    refused(Rule::EffectFacts, "effect 2 of mutation 6", |journal| {
        let target = EffectTarget::Key(id("z", "1"));
        journal.part(6, Part::Effect(2), &Effect { target, ..effect(Disposition::Pending) });
    });
}

#[test]
fn generations_that_do_not_fit_are_refused() {
    refused(Rule::AttemptKept, "execution of mutation 7", |journal| {
        journal.remove(&RowKey::Mutation(7, Part::Attempt(1)));
    });
    refused(Rule::AttemptKept, "generation 1 of mutation 7", |journal| {
        journal.part(7, Part::Attempt(1), &attempt(6, "b", "7"));
    });
    refused(Rule::AttemptKept, "generation 3 of mutation 7", |journal| {
        journal.part(7, Part::Attempt(3), &attempt(7, "b", "7"));
    });
    refused(Rule::AttemptKept, "generation 2 of mutation 5", |journal| {
        let idempotency_key = client().idempotency_key(5, 2).into();
        journal.part(5, Part::Attempt(2), &Attempt { idempotency_key, ..attempt(5, "d", "other") });
    });
    refused(Rule::AttemptKept, "execution of mutation 5", |journal| {
        let idempotency_key = client().idempotency_key(5, 2).into();
        journal.part(5, Part::Attempt(2), &Attempt { idempotency_key, ..attempt(5, "d", "5") });
    });
}

#[test]
fn a_misplaced_receipt_is_refused() {
    refused(Rule::ReceiptPlaced, "execution of mutation 5", |journal| {
        journal.part(5, Part::Attempt(1), &attempt(5, "d", "5"));
    });
    refused(Rule::ReceiptPlaced, "execution of mutation 7", |journal| {
        let conflict = Some(Conflict { meta: None, received_at: 4 });
        journal.part(7, Part::Attempt(1), &Attempt { conflict, ..attempt(7, "b", "7") });
    });
}

#[test]
fn an_execution_without_its_facts_is_refused() {
    refused(Rule::ExecutionFacts, "execution of mutation 4", |journal| {
        journal.part(4, Part::Execution, &Execution { attempt: 1, ..execution(Phase::Unprepared) });
    });
}

fn alias(target: &str, state: AliasState, created_by: u64) -> Alias {
    let activated_at = (state == AliasState::Active).then_some(5);
    Alias { target: id("a", target), state, created_by, created_at: 4, activated_at }
}

#[test]
fn aliases_in_a_circle_are_refused() {
    refused(Rule::AliasSound, "is in a circle", |journal| {
        journal.put(RowKey::Alias(id("a", "t")).encode(), &alias("2", AliasState::Active, 1));
    });
    refused(Rule::AliasSound, "alias of a/2", |journal| {
        journal.put(RowKey::Alias(id("a", "2")).encode(), &alias("2", AliasState::Pending, 2));
    });
}

#[test]
fn what_is_pending_belongs_to_a_row_between_answer_and_end() {
    refused(Rule::PendingCreator, "execution of mutation 1", |journal| {
        journal.put(RowKey::Alias(id("a", "2")).encode(), &alias("t", AliasState::Pending, 1));
    });
    refused(Rule::PendingCreator, "execution of mutation 4", |journal| {
        journal.put(RowKey::Tombstone(id("b", "4"), 4).encode(), &Tombstone::new(4));
    });
}

#[test]
fn a_tombstone_out_of_its_state_is_refused() {
    refused(Rule::TombstoneSound, "tombstone of e/6 by mutation 6", |journal| {
        let tombstone = Tombstone { activated_at: Some(1), ..Tombstone::new(4) };
        journal.put(RowKey::Tombstone(id("e", "6"), 6).encode(), &tombstone);
    });
    refused(Rule::TombstoneSound, "tombstone of e/6 by mutation 7", |journal| {
        journal.put(RowKey::Tombstone(id("e", "6"), 7).encode(), &Tombstone::new(4));
    });
}

#[test]
fn an_index_that_is_not_true_is_refused() {
    let pending = "the index of pending rows";
    refused(Rule::IndexTrue, pending, |journal| journal.remove(&RowKey::Pending(id("b", "4"), 4)));
    refused(Rule::IndexTrue, pending, |journal| journal.raw(&RowKey::Pending(id("b", "3"), 3), Bytes::new()));
    refused(Rule::IndexTrue, pending, |journal| {
        journal.remove(&RowKey::Pending(id("b", "4"), 4));
        journal.raw(&RowKey::Pending(id("b", "3"), 4), Bytes::new());
    });
    refused(Rule::IndexTrue, pending, |journal| journal.raw(&RowKey::Pending(id("b", "4"), 4), "x"));
    let dead = "the index of dead letters";
    refused(Rule::IndexTrue, dead, |journal| journal.remove(&RowKey::Dead(3, 1)));
    refused(Rule::IndexTrue, dead, |journal| journal.raw(&RowKey::Dead(3, 1), 4u64.to_be_bytes().to_vec()));
    refused(Rule::IndexTrue, dead, |journal| journal.raw(&RowKey::Dead(4, 1), 3u64.to_be_bytes().to_vec()));
}

#[test]
fn rows_behind_the_checkpoint_may_be_gone_or_left() {
    let mut journal = Journal::sound();
    journal.put(CLIENT_KEY.to_vec(), &Client { confirmed_through: 1, ..client() });
    assert_eq!(open(&*journal.clone().rows(), Some(CLIENT)).expect("kept").pruned_through, 0);
    for part in [Part::Intent, Part::Execution, Part::Attempt(1), Part::Ack(1), Part::Effect(0)] {
        journal.remove(&RowKey::Mutation(1, part));
    }
    assert_eq!(open(&*journal.rows(), Some(CLIENT)).expect("pruned").pruned_through, 1);
}

#[test]
fn an_unreadable_intent_names_its_row() {
    refused(Rule::RowReadable, "intent of mutation 4", |journal| {
        let value = crate::rows::encode(b"elsewhere", &intent("b", "4"));
        journal.0.insert(mutation_key(4, Part::Intent), value);
    });
}
