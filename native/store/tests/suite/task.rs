//! A store and an engine together: what is flushed when, and what a refusal leaves.

use crate::support::{commit, rows};
use bytes::Bytes;
use parsley_core::causes::{self, Cause};
use parsley_core::{CausesHeader, ChannelId, Next, Position, Reason, Receipt, Received};
use parsley_store::{MemoryBackend, MemoryDisk, OrderingStore, Task, TaskError};

const BUDGET_BYTES: usize = 1024;

fn channel(text: &str) -> ChannelId {
    text.parse().unwrap()
}

fn orders() -> ChannelId {
    channel("11111111222233334444555555555555:0")
}

fn payments() -> ChannelId {
    channel("8f00000000004000800000000000000b:0")
}

fn received() -> [Received; 2] {
    [("orders", orders()), ("payments", payments())].map(|(name, channel)| Received {
        name: name.to_owned(),
        channel,
        start: 0,
    })
}

fn position(offset: i64) -> Position {
    Position::new(offset).unwrap()
}

fn opened(disk: &MemoryDisk) -> Task<MemoryBackend> {
    let mut task = Task::new(OrderingStore::open(MemoryBackend::open(disk).unwrap()).unwrap());
    task.open_engine(&received(), BUDGET_BYTES).unwrap();
    task
}

/// A record part with a value of the given size.
fn record(value_bytes: usize) -> Bytes {
    let mut part = 5_i64.to_be_bytes().to_vec();
    part.push(0b01);
    part.extend_from_slice(&i32::try_from(value_bytes).unwrap().to_be_bytes());
    part.resize(part.len() + value_bytes, 7);
    part.extend_from_slice(&0_i32.to_be_bytes());
    part.into()
}

/// Feeds a payment that waits for an order which has not come.
fn hold_payment(task: &mut Task<MemoryBackend>, offset: i64, value_bytes: usize) {
    let header = causes::encode(&[Cause { channel: orders(), position: position(3) }]);
    let receipt = task.receive(1, position(offset), CausesHeader::Once(Some(&header))).unwrap();
    assert_eq!(receipt, Receipt::Pending);
    assert_eq!(task.next_delivery(), Ok(Next::None));
    task.hold(&record(value_bytes)).unwrap();
}

fn flushed(task: &mut Task<MemoryBackend>, bytes_max: usize) -> Vec<(Bytes, Option<Bytes>)> {
    let mut rows = Vec::new();
    task.flush(bytes_max, &mut |key, value| {
        rows.push((Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice)));
    })
    .unwrap();
    rows
}

#[test]
fn flushed_rows_are_staged_and_handed_out_once_in_chunks() {
    let mut task = opened(&MemoryDisk::new());
    (0..5).for_each(|offset| hold_payment(&mut task, offset, 400));
    let mut handed_out = Vec::new();
    loop {
        let chunk = flushed(&mut task, 1000);
        if chunk.is_empty() {
            break;
        }
        let before_last = &chunk[..chunk.len() - 1];
        let bytes: usize =
            before_last.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len)).sum();
        assert!(bytes < 1000);
        handed_out.extend(chunk);
    }
    assert_eq!(handed_out[0].0, "v");
    handed_out.sort();
    let staged: Vec<_> = rows(task.store()).into_iter().map(|(key, value)| (key, Some(value))).collect();
    assert_eq!(handed_out, staged);
    assert_eq!(flushed(&mut task, 1000), []);
}

#[test]
fn held_records_come_back_after_a_restart() {
    let disk = MemoryDisk::new();
    let mut task = opened(&disk);
    hold_payment(&mut task, 9, 10);
    assert!(task.uncommitted_bytes() > 0);
    flushed(&mut task, usize::MAX);
    commit(task.store_mut(), 5);
    assert_eq!(task.uncommitted_bytes(), 0);
    task.close().unwrap();

    let mut task = opened(&disk);
    assert_eq!(task.held_count(), Ok(1));
    assert_eq!(task.receive(0, position(3), CausesHeader::Absent), Ok(Receipt::Delivered));
    match task.next_delivery().unwrap() {
        Next::Held(released) => {
            assert_eq!((released.channel, released.position, released.record), (1, position(9), record(10)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(task.next_delivery(), Ok(Next::None));
}

#[test]
fn what_was_not_flushed_ends_with_the_engine() {
    let mut task = opened(&MemoryDisk::new());
    hold_payment(&mut task, 9, 10);
    task.close_engine();
    assert_eq!(task.uncommitted_bytes(), 0);
    assert_eq!(task.held_count(), Err(TaskError::NoEngine));
    task.open_engine(&received(), BUDGET_BYTES).unwrap();
    assert_eq!(task.held_count(), Ok(0));
}

#[test]
fn the_first_refusal_stands_until_an_engine_is_opened_anew() {
    let mut task = opened(&MemoryDisk::new());
    let refused = task.receive(0, position(1), CausesHeader::Repeated).unwrap_err();
    assert!(matches!(&refused, TaskError::Refused(refusal) if refusal.reason == Reason::UndecodableMetadata));
    assert_eq!(task.receive(0, position(2), CausesHeader::Absent), Err(refused.clone()));
    assert_eq!(task.next_delivery(), Err(refused.clone()));
    assert_eq!(task.hold(&record(1)), Err(refused.clone()));
    assert_eq!(task.stamp().map(<[u8]>::to_vec), Err(refused.clone()));
    assert_eq!(task.held_count(), Err(refused.clone()));
    assert_eq!(task.known_topics(), Err(refused.clone()));
    assert_eq!(task.topics_gone(&[]), Err(refused.clone()));
    assert_eq!(task.identities(&[], &[]), Err(refused.clone()));
    assert_eq!(task.flush(1, &mut |_, _| panic!("nothing is flushed")), Err(refused));
    assert_eq!(rows(task.store()), []);
    task.open_engine(&received(), BUDGET_BYTES).unwrap();
    assert_eq!(task.receive(0, position(2), CausesHeader::Absent), Ok(Receipt::Delivered));
}

#[test]
fn an_engine_that_refuses_its_rows_is_not_open() {
    let mut task = Task::new(OrderingStore::open(MemoryBackend::open(&MemoryDisk::new()).unwrap()).unwrap());
    task.store_mut().put(Bytes::from_static(b"v"), Some(Bytes::from_static(b"\x63"))).unwrap();
    let refused = task.open_engine(&received(), BUDGET_BYTES).unwrap_err();
    assert!(
        matches!(&refused, TaskError::Refused(refusal) if refusal.reason == Reason::UnknownOrderingStateFormat)
    );
    assert_eq!(task.held_count(), Err(refused));
}

#[test]
fn a_channel_that_is_not_received_is_an_error_and_changes_nothing() {
    let mut task = opened(&MemoryDisk::new());
    let receipt = task.receive(2, position(1), CausesHeader::Absent);
    assert_eq!(receipt, Err(TaskError::NoSuchChannel { index: 2, received: 2 }));
    assert_eq!(task.receive(1, position(1), CausesHeader::Absent), Ok(Receipt::Delivered));
}

#[test]
fn a_failed_read_of_the_engine_closes_the_store_to_every_call() {
    let disk = MemoryDisk::new();
    let mut task = opened(&disk);
    (0..2).for_each(|offset| hold_payment(&mut task, offset, 10));
    flushed(&mut task, usize::MAX);
    commit(task.store_mut(), 1);
    task.close_engine();
    task.open_engine(&received(), BUDGET_BYTES).unwrap();
    disk.crash(1);
    assert_eq!(task.receive(0, position(3), CausesHeader::Absent), Ok(Receipt::Delivered));
    assert!(matches!(task.next_delivery(), Err(TaskError::Store(_))));
    assert!(task.store().get(b"v").is_err());
}
