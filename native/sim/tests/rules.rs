//! One small story for each rule that a sabotage breaks: the named tests of docs/verification.md.

use bytes::Bytes;
use parsley_core::causes::{Cause, encode};
use parsley_core::{
    BUDGET_BYTES_DEFAULT, CausesHeader, ChannelId, Next, Position, Reason, Receipt, Received,
};
use parsley_store::{Direction, KeyRange, MemoryBackend, MemoryDisk, OrderingStore, Task, TaskError};
use std::ops::ControlFlow;

const CHANGELOG: &str = "changelog-0";

fn channel(number: u8) -> ChannelId {
    format!("{number:032x}:0").parse().unwrap()
}

fn position(offset: i64) -> Position {
    Position::new(offset).unwrap()
}

fn causes(named: &[(u8, i64)]) -> Vec<u8> {
    let cause =
        |(number, offset): &(u8, i64)| Cause { channel: channel(*number), position: position(*offset) };
    encode(&named.iter().map(cause).collect::<Vec<_>>())
}

/// A record part whose key is null, whose value is empty, and whose header comes twice.
fn record() -> Bytes {
    let mut part = 5_i64.to_be_bytes().to_vec();
    part.push(0b01);
    part.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 2]);
    for value in [[0, 0, 0, 1, b'x'], [0, 0, 0, 1, b'y']] {
        part.extend_from_slice(&[0, 0, 0, 1, b'a']);
        part.extend_from_slice(&value);
    }
    part.into()
}

/// A task over a disk that outlives it. Channel n has the name `t<n>`.
struct Node {
    disk: MemoryDisk,
    task: Task<MemoryBackend>,
    received: Vec<u8>,
}

impl Node {
    fn new(received: &[u8]) -> Self {
        let mut node = Self::closed(MemoryDisk::new());
        node.open(received).unwrap();
        node
    }

    fn closed(disk: MemoryDisk) -> Self {
        let store = OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap();
        Self { disk, task: Task::new(store), received: Vec::new() }
    }

    fn open(&mut self, received: &[u8]) -> Result<(), TaskError> {
        self.open_at(received, 0, BUDGET_BYTES_DEFAULT)
    }

    fn open_at(&mut self, received: &[u8], start: i64, budget_bytes: usize) -> Result<(), TaskError> {
        self.received = received.to_vec();
        let received = received.iter().map(|number| Received {
            name: format!("t{number}"),
            channel: channel(*number),
            start,
        });
        self.task.open_engine(&received.collect::<Vec<_>>(), budget_bytes)
    }

    /// Feeds one record and holds it if it is not delivered. Gives what was delivered.
    fn feed(&mut self, number: u8, offset: i64, named: &[(u8, i64)]) -> Result<Vec<(u8, i64)>, TaskError> {
        let header = causes(named);
        self.feed_with(number, offset, CausesHeader::Once(Some(&header)))
    }

    fn feed_with(
        &mut self,
        number: u8,
        offset: i64,
        header: CausesHeader<'_>,
    ) -> Result<Vec<(u8, i64)>, TaskError> {
        let index = self.received.iter().position(|known| *known == number).unwrap();
        let mut delivered = Vec::new();
        let mut is_pending = false;
        match self.task.receive(index, position(offset), header)? {
            Receipt::Duplicate => {}
            Receipt::Delivered => delivered.push((number, offset)),
            Receipt::Pending => is_pending = true,
        }
        loop {
            match self.task.next_delivery()? {
                Next::None => break,
                Next::Current => {
                    is_pending = false;
                    delivered.push((number, offset));
                }
                Next::Held(released) => {
                    assert_eq!(released.record, record(), "the content comes out as it went in");
                    delivered.push((self.received[released.channel], released.position.get()));
                }
            }
        }
        if is_pending {
            self.task.hold(&record()).unwrap();
        }
        Ok(delivered)
    }

    fn flush(&mut self) {
        self.task.flush(usize::MAX, &mut |_, _| ()).unwrap();
    }

    fn commit(&mut self, offset: i64) {
        self.flush();
        self.task.store_mut().commit(&[(CHANGELOG.to_owned(), Some(offset))]).unwrap();
    }

    /// Closes and opens the store, with no engine yet.
    fn restart(self) -> Self {
        let Self { disk, task, .. } = self;
        task.close().unwrap();
        Self::closed(disk)
    }

    /// Crashes with so many unflushed writes left, and opens the store again.
    fn crash(self, kept: usize) -> Self {
        self.disk.crash(kept);
        let disk = self.disk.clone();
        drop(self);
        Self::closed(disk)
    }

    fn rows(&self) -> Vec<(Bytes, Bytes)> {
        let mut rows = Vec::new();
        let mut show = |key: &[u8], value: &[u8]| {
            rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
            ControlFlow::Continue(())
        };
        self.task.store().scan(&KeyRange::all(), Direction::Forward, &mut show).unwrap();
        rows
    }

    fn offset(&self) -> Option<i64> {
        self.task.store().committed_offset(CHANGELOG).unwrap()
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, TaskError>) -> Reason {
    match result {
        Err(TaskError::Refused(refusal)) => refusal.reason,
        other => panic!("no refusal: {other:?}"),
    }
}

#[test]
fn an_effect_waits_for_its_cause() {
    let mut node = Node::new(&[1, 2]);
    assert_eq!(node.feed(2, 0, &[(1, 0)]), Ok(vec![]));
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0)]));
}

#[test]
fn no_record_passes_the_head_of_its_channel() {
    let mut node = Node::new(&[1, 2]);
    assert_eq!(node.feed(2, 0, &[(1, 0)]), Ok(vec![]));
    assert_eq!(node.feed(2, 1, &[]), Ok(vec![]));
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0), (2, 1)]));
}

#[test]
fn a_replay_of_a_committed_past_is_dropped() {
    let mut node = Node::new(&[1]);
    node.feed(1, 0, &[]).unwrap();
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1]).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![]));
}

#[test]
fn causes_that_can_not_be_read_are_refused() {
    for value in [None, Some(&[][..]), Some(&[1]), Some(&[2, 0]), Some(&[1, 0, 0]), Some(&[1, 0x80, 0])] {
        let mut node = Node::new(&[1]);
        assert_eq!(reason(node.feed_with(1, 0, CausesHeader::Once(value))), Reason::UndecodableMetadata);
    }
}

#[test]
fn repeated_causes_are_refused() {
    let mut node = Node::new(&[1]);
    assert_eq!(reason(node.feed_with(1, 0, CausesHeader::Repeated)), Reason::UndecodableMetadata);
}

#[test]
fn a_stamp_names_what_was_received() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 4), (9, 3)]).unwrap();
    assert_eq!(node.task.stamp().unwrap(), causes(&[(1, 4), (9, 3)]));
}

#[test]
fn a_stamp_names_what_was_delivered_and_not_what_was_fed() {
    let mut node = Node::new(&[1, 2, 3]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.feed(2, 1, &[(3, 0)]).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0)]));
    assert_eq!(node.task.stamp().unwrap(), causes(&[(1, 0), (2, 0), (3, 0)]));
}

#[test]
fn a_hold_survives_a_restart() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0)]));
}

#[test]
fn a_delivered_hold_is_gone_after_a_restart() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0)]));
    node.commit(2);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    assert_eq!(node.task.held_count(), Ok(0));
}

#[test]
fn a_channel_with_holds_may_not_leave() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    assert_eq!(reason(node.restart().open(&[1])), Reason::ChannelRemovedWithHeldMessages);
}

#[test]
fn a_topic_made_again_is_refused() {
    let mut node = Node::new(&[1]);
    node.commit(1);
    let mut node = node.restart();
    let again = Received { name: "t1".to_owned(), channel: channel(7), start: 0 };
    let opened = node.task.open_engine(&[again], BUDGET_BYTES_DEFAULT);
    assert_eq!(reason(opened), Reason::ChannelIdentityChanged);
    node.open(&[1]).unwrap();
    assert_eq!(reason(node.task.identities(&[], &[channel(1)])), Reason::ChannelIdentityChanged);
}

#[test]
fn a_joining_channel_delivers_nothing_below_a_delivered_effect() {
    let mut node = Node::new(&[2]);
    assert_eq!(node.feed(2, 0, &[(1, 3)]), Ok(vec![(2, 0)]));
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    assert_eq!(node.feed(1, 3, &[]), Ok(vec![]));
    assert_eq!(node.feed(1, 4, &[]), Ok(vec![(1, 4)]));
}

#[test]
fn a_deleted_channel_with_holds_is_refused() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    let told = node.task.topics_gone(&[channel(2).topic]);
    assert_eq!(reason(told), Reason::ChannelDeletedWithUndeliveredMessages);
}

#[test]
fn a_deleted_topic_leaves_the_stamp() {
    let mut node = Node::new(&[2]);
    node.feed(2, 0, &[(1, 3)]).unwrap();
    node.commit(1);
    let mut node = node.restart();
    node.open(&[2]).unwrap();
    node.task.topics_gone(&[channel(1).topic]).unwrap();
    assert_eq!(node.task.stamp().unwrap(), causes(&[(2, 0)]));
}

#[test]
fn what_the_group_has_skipped_is_not_waited_for() {
    let mut node = Node::new(&[]);
    node.open_at(&[1, 2], 5, BUDGET_BYTES_DEFAULT).unwrap();
    assert_eq!(node.feed(2, 5, &[(1, 4)]), Ok(vec![(2, 5)]));
}

#[test]
fn a_crash_leaves_no_staged_row() {
    let mut node = Node::new(&[1]);
    node.feed(1, 0, &[]).unwrap();
    node.commit(1);
    let committed = node.rows();
    node.feed(1, 1, &[]).unwrap();
    node.flush();
    assert_eq!(node.crash(usize::MAX).rows(), committed);
}

#[test]
fn a_stored_offset_has_its_rows_beside_it() {
    let mut node = Node::new(&[1]);
    node.feed(1, 0, &[]).unwrap();
    node.commit(1);
    let committed = node.rows();
    let node = node.crash(usize::MAX);
    assert_eq!(node.offset(), Some(1));
    assert_eq!(node.rows(), committed);
}

#[test]
fn rows_that_run_ahead_forget_the_offset() {
    let mut node = Node::new(&[1]);
    node.commit(1);
    node.feed(1, 0, &[]).unwrap();
    node.flush();
    node.task.store_mut().settle().unwrap();
    assert_eq!(node.offset(), None);
    assert_eq!(node.crash(usize::MAX).rows(), [], "rows that no offset vouches for are not believed");
}

#[test]
fn a_forgotten_offset_does_not_come_back() {
    let mut node = Node::new(&[1]);
    node.commit(1);
    let mut node = node.restart();
    assert_eq!(node.offset(), Some(1));
    node.open(&[1]).unwrap();
    node.feed(1, 0, &[]).unwrap();
    node.flush();
    node.task.store_mut().settle().unwrap();
    assert_eq!(node.crash(0).offset(), None);
}

/// A held record with these bytes comes back with them; [`Node::feed_with`] compares.
fn comes_back_as_it_was() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    node.feed(1, 0, &[]).unwrap();
}

#[test]
fn repeated_headers_are_kept() {
    comes_back_as_it_was();
}

#[test]
fn null_is_not_empty() {
    comes_back_as_it_was();
}

#[test]
fn the_lowest_channel_goes_first_each_time() {
    let mut node = Node::new(&[1, 2, 3]);
    node.feed(3, 0, &[(1, 0)]).unwrap();
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.feed(2, 1, &[]).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0), (2, 1), (3, 0)]));
}

#[test]
fn a_flipped_bit_of_a_hold_is_refused() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.commit(1);
    let (key, value) = node.rows().into_iter().find(|(key, _)| key[0] == b'h').unwrap();
    for at in 0..value.len() {
        let mut flipped = value.to_vec();
        flipped[at] ^= 0x10;
        node.task.store_mut().put(key.clone(), Some(flipped.into())).unwrap();
        assert_eq!(reason(node.open(&[1, 2])), Reason::UnknownOrderingStateFormat, "byte {at}");
    }
}

#[test]
fn every_hold_of_version_1_is_rewritten() {
    let mut node = Node::new(&[1, 2]);
    node.feed(2, 0, &[(1, 0)]).unwrap();
    node.feed(2, 1, &[(1, 0)]).unwrap();
    node.flush();
    for (key, value) in node.rows() {
        let mut old = vec![1];
        if key[0] == b'h' {
            old.extend_from_slice(&record());
            old.extend_from_slice(&1_i32.to_be_bytes());
            old.extend_from_slice(&channel(1).to_bytes());
            old.extend_from_slice(&0_i64.to_be_bytes());
        }
        let old = if matches!(key[0], b'h' | b'v') { old.into() } else { value };
        node.task.store_mut().put(key, Some(old)).unwrap();
    }
    node.commit(1);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    node.commit(2);
    let mut node = node.restart();
    node.open(&[1, 2]).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0), (2, 0), (2, 1)]));
}

#[test]
fn a_stamp_wider_than_the_budget_is_refused() {
    let mut node = Node::new(&[]);
    let budget_bytes = causes(&[(1, 0)]).len();
    node.open_at(&[1, 2], 0, budget_bytes).unwrap();
    assert_eq!(node.feed(1, 0, &[]), Ok(vec![(1, 0)]));
    assert_eq!(reason(node.feed(2, 0, &[])), Reason::MetadataBudgetExceeded);
}
