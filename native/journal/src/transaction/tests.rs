use super::*;
use crate::fixture::{CLIENT, Journal, ack, attempt, effect, execution, failure, intent, present};
use crate::memory::MemoryStorage;
use crate::open::open;

/// Builds a transaction on the sound journal, and gives its end.
fn build<T>(
    journal: Journal,
    build: impl FnOnce(&mut Transaction<'_>) -> Result<T, JournalError>,
) -> Result<Batch, JournalError> {
    let rows = journal.rows();
    let cache = open(&*rows, Some(CLIENT)).expect("sound");
    let mut transaction = Transaction::new(&*rows, &cache);
    build(&mut transaction)?;
    Ok(transaction.finish().batch)
}

#[track_caller]
fn refused<T>(rule: Rule, change: impl FnOnce(&mut Transaction<'_>) -> Result<T, JournalError>) {
    refused_on(Journal::sound(), rule, change);
}

#[track_caller]
fn refused_on<T>(
    journal: Journal,
    rule: Rule,
    change: impl FnOnce(&mut Transaction<'_>) -> Result<T, JournalError>,
) {
    match build(journal, change) {
        Err(JournalError::Rule(violation)) => assert_eq!(violation.rule, rule, "{violation}"),
        other => panic!("{other:?}"),
    }
}

fn id(namespace: &str, id: &str) -> Identity {
    Identity::new(namespace, id)
}

/// Moves a mutation, whose row is the one of `fixture`, along an edge.
fn step(
    transaction: &mut Transaction<'_>,
    sequence: u64,
    (namespace, name): (&str, &str),
    new: &Execution,
    cause: Cause,
) -> Result<(), JournalError> {
    let execution: Execution = transaction.current(&mutation_key(sequence, Part::Execution))?.expect("a row");
    let intent = intent(namespace, name);
    transaction.execute(&Subject { sequence, intent: &intent, execution: &execution }, new, cause)
}

fn pushed(phase: Phase) -> Execution {
    Execution { attempt: 1, last_attempt_at: Some(6), ..execution(phase) }
}

/// The sound journal with mutation 7 on its way.
fn inflight() -> Journal {
    let mut journal = Journal::sound();
    journal.part(7, Part::Execution, &execution(Phase::Inflight));
    journal
}

#[test]
fn a_lane_is_taken_only_when_it_is_free() {
    let inflight = execution(Phase::Inflight);
    let taken = build(Journal::sound(), |it| step(it, 7, ("b", "7"), &inflight, Cause::Step)).expect("free");
    assert_eq!(taken.0.len(), 1);
    let mut journal = Journal::sound();
    journal.mutation(4, "b", "4", Phase::Inflight);
    refused_on(journal, Rule::LaneOwnedOnce, |it| step(it, 7, ("b", "7"), &inflight, Cause::Step));
}

#[test]
fn a_row_that_has_changed_meanwhile_is_not_written_over() {
    refused(Rule::EdgeKnown, |it| {
        let (intent, stale) = (intent("b", "7"), execution(Phase::Inflight));
        let subject = Subject { sequence: 7, intent: &intent, execution: &stale };
        it.execute(&subject, &pushed(Phase::Ready), Cause::Step)
    });
}

#[test]
fn an_edge_that_is_not_known_is_refused() {
    refused(Rule::EdgeKnown, |it| {
        let parked = Execution { generation: 1, last_attempt_at: Some(4), ..pushed(Phase::Parked) };
        step(it, 2, ("a", "2"), &parked, Cause::Failure(FailureKind::Identity))
    });
}

#[test]
fn a_generation_is_written_once_and_follows_from_the_one_before() {
    refused(Rule::WrittenOnce, |it| it.prepare(7, 1, &attempt(7, "b", "7")));
    let second = |identity: Identity, sequence| Attempt {
        identity,
        idempotency_key: crate::fixture::client().idempotency_key(sequence, 2).into(),
        ..attempt(sequence, "d", "5")
    };
    build(Journal::sound(), |it| it.prepare(5, 2, &second(id("d", "5"), 5))).expect("after a conflict");
    refused(Rule::AttemptKept, |it| it.prepare(5, 2, &second(id("d", "other"), 5)));
    refused(Rule::AttemptKept, |it| it.prepare(7, 2, &second(id("b", "7"), 7)));
    refused(Rule::AttemptKept, |it| it.prepare(5, 2, &second(id("d", "5"), 6)));
    refused(Rule::AttemptKept, |it| it.prepare(4, 1, &attempt(7, "b", "4")));
}

#[test]
fn a_receipt_is_added_once_and_changes_nothing_else() {
    let conflict = Some(crate::records::Conflict { meta: None, received_at: 9 });
    let met = Attempt { conflict, ..attempt(7, "b", "7") };
    build(Journal::sound(), |it| it.receive_conflict(7, 1, &met)).expect("the first");
    refused(Rule::WrittenOnce, |it| it.receive_conflict(5, 1, &Attempt { ..met.clone() }));
    refused(Rule::WrittenOnce, |it| {
        it.receive_conflict(7, 1, &Attempt { mine: Presence::Absent, ..met.clone() })
    });
}

#[test]
fn a_phase_needs_its_rows() {
    refused_on(inflight(), Rule::AckKept, |it| step(it, 7, ("b", "7"), &pushed(Phase::Acked), Cause::Step));
    refused_on(inflight(), Rule::ReceiptPlaced, |it| {
        step(it, 7, ("b", "7"), &pushed(Phase::RefreshRequired), Cause::Step)
    });
    refused_on(inflight(), Rule::ParkedFailure, |it| {
        let parked = Execution { generation: 1, active_failure: Some(9), ..pushed(Phase::Parked) };
        step(it, 7, ("b", "7"), &parked, Cause::Failure(FailureKind::Transport))
    });
    refused(Rule::AttemptKept, |it| step(it, 4, ("b", "4"), &execution(Phase::Ready), Cause::Step));
    refused(Rule::EffectsSettled, |it| {
        let retired = Execution { last_attempt_at: Some(4), ..execution(Phase::Retired) };
        step(it, 6, ("e", "6"), &retired, Cause::Step)
    });
}

#[test]
fn an_answer_is_written_once() {
    refused(Rule::WrittenOnce, |it| it.acknowledge(2, 1, &id("a", "2"), &ack(present(), None)));
    refused(Rule::AckKept, |it| it.acknowledge(7, 1, &id("b", "7"), &ack(present(), Some(id("c", "t")))));
    refused(Rule::AckKept, |it| {
        it.acknowledge(7, 1, &id("b", "7"), &ack(Presence::Absent, Some(id("b", "t"))))
    });
}

#[test]
fn an_effect_settles_once() {
    build(Journal::sound(), |it| it.settle_effect(6, 0, Disposition::Applied, 9)).expect("pending");
    refused(Rule::EffectFacts, |it| it.settle_effect(1, 0, Disposition::Skipped, 9));
    refused(Rule::EffectFacts, |it| it.settle_effect(6, 1, Disposition::Applied, 9));
    refused(Rule::EffectFacts, |it| it.add_effects(6, &[effect(Disposition::Pending)]));
}

#[test]
fn an_alias_is_never_led_elsewhere_nor_in_a_circle() {
    let alias = |namespace: &str, target: &str, state| Alias {
        target: id(namespace, target),
        state,
        created_by: 2,
        created_at: 4,
        activated_at: (state == AliasState::Active).then_some(9),
    };
    let (pending, active) = (AliasState::Pending, AliasState::Active);
    build(Journal::sound(), |it| it.put_alias(&id("a", "2"), alias("a", "t", active))).expect("forward");
    refused(Rule::AliasSound, |it| it.put_alias(&id("a", "2"), alias("a", "u", pending)));
    refused(Rule::AliasSound, |it| it.put_alias(&id("a", "t"), alias("a", "2", pending)));
    refused(Rule::AliasSound, |it| it.put_alias(&id("a", "x"), alias("a", "x", pending)));
    refused(Rule::AliasSound, |it| it.put_alias(&id("a", "x"), alias("b", "x", pending)));
}

#[test]
fn an_identity_has_one_tombstone_in_each_state_on_its_way() {
    refused(Rule::TombstoneSound, |it| {
        it.acknowledge(7, 1, &id("e", "6"), &ack(Presence::Absent, None)).map(drop)
    });
    let active = Tombstone { state: TombstoneState::Active, activated_at: Some(9), ..Tombstone::new(4) };
    build(Journal::sound(), |it| it.move_tombstone(&id("e", "6"), 6, &active)).expect("forward");
    refused(Rule::TombstoneSound, |it| it.move_tombstone(&id("e", "6"), 5, &active));
    refused(Rule::TombstoneSound, |it| it.move_tombstone(&id("a", "1"), 1, &Tombstone::new(4)));
}

#[test]
fn the_checkpoint_neither_passes_the_prefix_nor_goes_back() {
    build(Journal::sound(), |it| it.confirm(1)).expect("the prefix");
    refused(Rule::ClientOrdered, |it| it.confirm(2));
    let mut journal = Journal::sound();
    journal.put(CLIENT_KEY.to_vec(), &Client { confirmed_through: 1, ..crate::fixture::client() });
    refused_on(journal, Rule::ClientOrdered, |it| it.confirm(0));
}

#[test]
fn nothing_is_deleted_past_the_checkpoint() {
    refused(Rule::PrefixTrue, |it| it.prune(1));
    let mut journal = Journal::sound();
    journal.put(CLIENT_KEY.to_vec(), &Client { confirmed_through: 1, ..crate::fixture::client() });
    let batch = build(journal, |it| it.prune(1)).expect("confirmed");
    let deleted = |(key, value): &(Vec<u8>, Option<Bytes>)| {
        value.is_none() && matches!(RowKey::parse(key), Some(RowKey::Mutation(1, _)))
    };
    assert_eq!(batch.0.len(), 5);
    assert!(batch.0.iter().all(deleted), "only rows of mutation 1, not its tombstone: {batch:?}");
}

#[test]
fn the_prefix_moves_over_all_that_is_settled_behind_it() {
    let mut journal = Journal::sound();
    journal.mutation(2, "a", "2", Phase::EffectsPending);
    let retired = Execution { last_attempt_at: Some(4), ..execution(Phase::Retired) };
    let dismissal = Some(crate::records::Dismissal { at: 1, note: "by hand".into() });
    journal.part(3, Part::Execution, &Execution { dismissed: dismissal, ..execution(Phase::Parked) });
    journal.remove(&RowKey::Dead(3, 1));
    let rows = journal.rows();
    let cache = open(&*rows, Some(CLIENT)).expect("sound");
    let mut transaction = Transaction::new(&*rows, &cache);
    step(&mut transaction, 2, ("a", "2"), &retired, Cause::Step).expect("the end");
    assert_eq!(transaction.client().map(|client| client.retired_through), Some(3));
}

#[test]
fn equal_failures_are_one_row_and_texts_are_cut() {
    let rows = Journal::sound().rows();
    let cache = open(&*rows, Some(CLIENT)).expect("sound");
    let mut transaction = Transaction::new(&*rows, &cache);
    let long = format!("first line {}\nsecond", "x".repeat(2000));
    let old = failure();
    let failed = Failed { kind: old.kind, detail: &old.detail, message: &long };
    let id = transaction.fail(3, 0, &failed, 9).expect("a row");
    let row: Failure =
        transaction.current(&mutation_key(3, Part::Failure(id))).expect("readable").expect("there");
    assert_eq!(
        (id, row.count, row.first_at, row.last_at, row.message.len()),
        (1, 2, 3, 9, MESSAGE_BYTES_MAX)
    );
    let other = Failed { kind: FailureKind::Codec, ..failed };
    assert_eq!(transaction.fail(3, 0, &other, 9), Ok(2));
    assert_eq!(transaction.fail(3, 1, &failed, 9), Ok(3));
}

#[test]
fn what_is_not_finished_writes_nothing() {
    let rows: std::sync::Arc<MemoryStorage> = Journal::sound().rows();
    let before = rows.rows();
    let cache = open(&*rows, Some(CLIENT)).expect("sound");
    let mut transaction = Transaction::new(&*rows, &cache);
    transaction.settle_effect(6, 0, Disposition::Applied, 9).expect("pending");
    drop(transaction);
    assert_eq!(rows.rows(), before);
}

#[test]
fn a_sequence_is_given_once() {
    let rows = Journal::sound().rows();
    let cache = open(&*rows, Some(CLIENT)).expect("sound");
    let mut transaction = Transaction::new(&*rows, &cache);
    let first = || -> Client { panic!("there is a client") };
    assert_eq!(transaction.enqueue(&intent("b", "x"), first), Ok(8));
    assert_eq!(transaction.enqueue(&intent("b", "y"), first), Ok(9));
    assert_eq!(transaction.client().map(|client| client.allocated), Some(9));
}
