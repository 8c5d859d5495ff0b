//! A whole start: an engine on a store that holds any rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use bytes::Bytes;
use parsley_core::crossing::packed::unpack;
use parsley_core::held::{VERSION_2, validate_record};
use parsley_core::keys::RowKey;
use parsley_core::{
    BUDGET_BYTES_DEFAULT, CausesHeader, ChannelId, Next, Position, Reason, Receipt, Received, Refusal, Rows,
};
use parsley_store::{MemoryBackend, MemoryDisk, OrderingStore, Task, TaskError};

use crate::formats::with_checksum;

type Store = BTreeMap<Bytes, Bytes>;

/// Packed rows. They are tried as they are, and once more with the checksums of held rows put right.
pub fn restore(bytes: &[u8]) {
    let Ok(rows) = unpack(Bytes::copy_from_slice(bytes)) else { return };
    let rows: Store = rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    start(&rows);
    start(&rows.into_iter().map(mended).collect());
}

fn mended((key, value): (Bytes, Bytes)) -> (Bytes, Bytes) {
    match (RowKey::parse(&key), value.split_last_chunk::<4>()) {
        (Ok(RowKey::Hold(..)), Some((body, _))) if body.first() == Some(&VERSION_2) => {
            let value = with_checksum(&key, body.to_vec());
            (key, value.into())
        }
        _ => (key, value),
    }
}

fn start(rows: &Store) {
    let received = received(rows);
    let mut task = match opened(rows, &received) {
        Ok(task) => task,
        Err(refusal) => {
            assert!(matches!(
                refusal.reason,
                Reason::UnknownOrderingStateFormat
                    | Reason::ChannelIdentityChanged
                    | Reason::ChannelRemovedWithHeldMessages
            ));
            assert_eq!(opened(rows, &received).err(), Some(refusal), "a refusal is a function of the rows");
            return;
        }
    };
    let after = flushed(&mut task);
    let mut again = opened(&after, &received).expect("what a start writes can be read");
    assert_eq!(again.held_count(), task.held_count());
    assert_eq!(again.stamp(), task.stamp());
    assert_eq!(flushed(&mut again), after, "a start on what a start has written writes nothing new");
    run(&mut again, &after, &received);
}

/// The channels that the rows bind to names, and those of holds.
fn received(rows: &Store) -> Vec<Received> {
    let mut channels = BTreeSet::new();
    let mut received = Vec::new();
    for (key, value) in rows {
        if let (Ok(RowKey::Name(name)), Ok(value)) = (RowKey::parse(key), value[..].try_into())
            && let Some(channel) = ChannelId::from_bytes(value)
            && channels.insert(channel)
        {
            received.push(Received { name: name.to_owned(), channel, start: 0 });
        }
    }
    for key in rows.keys() {
        if let Ok(RowKey::Hold(channel, _)) = RowKey::parse(key)
            && channels.insert(channel)
        {
            received.push(Received { name: format!("held {channel}"), channel, start: 1 });
        }
    }
    received
}

fn opened(rows: &Store, received: &[Received]) -> Result<Task<MemoryBackend>, Refusal> {
    let backend = MemoryBackend::open(&MemoryDisk::new()).expect("no other store has the disk");
    let mut store = OrderingStore::open(backend).expect("memory does not fail");
    store
        .restore(rows.iter().map(|(key, value)| (key.clone(), Some(value.clone()))))
        .expect("memory does not fail");
    store.commit(&[("changelog-0".to_owned(), Some(1))]).expect("memory does not fail");
    let mut task = Task::new(store);
    match task.open_engine(received, BUDGET_BYTES_DEFAULT) {
        Ok(()) => Ok(task),
        Err(TaskError::Refused(refusal)) => Err(refusal),
        Err(other) => panic!("{other}"),
    }
}

/// The rows after a commit.
fn flushed(task: &mut Task<MemoryBackend>) -> Store {
    task.flush(usize::MAX, &mut |_, _| ()).expect("memory does not fail");
    let mut rows = Store::new();
    let shown = task.store().visit(&mut |key, value| {
        rows.insert(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        ControlFlow::Continue(())
    });
    shown.expect("memory does not fail");
    rows
}

/// Feeds each channel one record without causes behind what it was fed, and delivers all that can be.
fn run(task: &mut Task<MemoryBackend>, rows: &Store, received: &[Received]) {
    for (index, one) in received.iter().enumerate() {
        let fed_up_to = rows.get(&parsley_core::keys::fed_up_to_key(one.channel)[..]);
        let fed_up_to = fed_up_to.map_or(-1, |value| {
            i64::from_be_bytes(value[..].try_into().expect("a start has judged the length"))
        });
        let Some(position) = fed_up_to.checked_add(1).and_then(Position::new) else { continue };
        let receipt = match task.receive(index, position, CausesHeader::Absent) {
            Ok(receipt) => receipt,
            Err(TaskError::Refused(refusal)) => {
                assert_eq!(refusal.reason, Reason::MetadataBudgetExceeded);
                return;
            }
            Err(other) => panic!("{other}"),
        };
        let mut pending = receipt == Receipt::Pending;
        loop {
            match task.next_delivery() {
                Ok(Next::None) => break,
                Ok(Next::Current) => pending = false,
                Ok(Next::Held(released)) => {
                    assert!(
                        validate_record(&released.record).is_ok(),
                        "what a start has read can be delivered"
                    );
                }
                Err(TaskError::Refused(refusal)) => {
                    assert_eq!(refusal.reason, Reason::MetadataBudgetExceeded);
                    return;
                }
                Err(other) => panic!("{other}"),
            }
        }
        if pending {
            // A timestamp, no key, no value, no headers.
            let record = Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
            task.hold(&record).expect("it is a record part");
        }
    }
}
