//! What every backend must do under the ordering store. Each rule runs over `RocksDB` and over its in-memory twin.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use crate::support::{NAME, Random, commit, offset, rows, scanned};
use bytes::Bytes;
use parsley_core::keys::hold_key;
use parsley_core::{ChannelId, Position, Rows};
use parsley_store::{
    Backend, Direction, KeyRange, MemoryBackend, MemoryDisk, OrderingStore, RESTORE_STAGED_BYTES_MAX,
    StoreError,
};
#[cfg(feature = "rocksdb")]
use parsley_store::{RocksBackend, Settings};
#[cfg(feature = "rocksdb")]
use tempfile::TempDir;

/// Where a store lives while it is closed.
trait Home {
    type Backend: Backend;

    fn new() -> Self;
    fn try_open(&self) -> Result<OrderingStore<Self::Backend>, StoreError>;

    fn open(&self) -> OrderingStore<Self::Backend> {
        self.try_open().unwrap()
    }
}

struct InMemory(MemoryDisk);

impl Home for InMemory {
    type Backend = MemoryBackend;

    fn new() -> Self {
        Self(MemoryDisk::new())
    }

    fn try_open(&self) -> Result<OrderingStore<MemoryBackend>, StoreError> {
        OrderingStore::open(MemoryBackend::open(&self.0)?)
    }
}

#[cfg(feature = "rocksdb")]
struct InRocks(TempDir);

#[cfg(feature = "rocksdb")]
impl Home for InRocks {
    type Backend = RocksBackend;

    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn try_open(&self) -> Result<OrderingStore<RocksBackend>, StoreError> {
        OrderingStore::open(RocksBackend::open(self.0.path(), Settings::default())?)
    }
}

macro_rules! contract {
    ($($rule:ident)*) => {
        mod in_memory {
            $(#[test] fn $rule() { super::$rule(&<super::InMemory as super::Home>::new()); })*
        }
        #[cfg(feature = "rocksdb")]
        mod in_rocks {
            $(#[test] fn $rule() { super::$rule(&<super::InRocks as super::Home>::new()); })*
        }
    };
}

contract! {
    reads_see_staged_rows
    staged_rows_end_with_the_store
    committed_rows_come_back_with_their_offset
    deleted_rows_are_gone_before_and_after_the_commit
    rows_without_an_offset_are_dropped_at_open
    an_unknown_offset_vouches_for_no_row
    settle_writes_what_was_flushed_and_not_what_was_staged_since
    settle_forgets_the_offset_when_it_writes
    what_is_flushed_wins_over_what_was_staged_before
    a_commit_with_no_offsets_forgets_them_all
    an_offset_can_be_forgotten_alone
    a_short_restore_waits_for_its_offset
    a_long_restore_is_written_without_an_offset
    rows_are_not_restored_into_a_running_step
    scans_show_staged_over_committed_rows_within_bounds
    a_scan_ends_when_the_visitor_breaks
    a_home_has_one_store_at_a_time
    entries_are_counted_with_staged_ones
    any_run_equals_the_model
    the_engine_reads_what_everyone_reads
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn pairs(rows: &[(&'static str, &'static str)]) -> Vec<(Bytes, Bytes)> {
    rows.iter().map(|(key, value)| (bytes(key), bytes(value))).collect()
}

fn put<B: Backend>(store: &mut OrderingStore<B>, key: &'static str, value: &'static str) {
    store.put(bytes(key), Some(bytes(value))).unwrap();
}

fn flush<B: Backend>(store: &mut OrderingStore<B>, key: &'static str, value: &'static str) {
    store.put_flushed(bytes(key), Some(bytes(value))).unwrap();
}

fn reads_see_staged_rows(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    assert_eq!(store.get(b"a"), Ok(Some(bytes("1"))));
    assert!(store.staged_bytes() > 0);
    flush(&mut store, "b", "2");
    assert_eq!(rows(&store), pairs(&[("a", "1"), ("b", "2")]));
    commit(&mut store, 1);
    assert_eq!(store.staged_bytes(), 0);
    put(&mut store, "a", "3");
    assert_eq!(store.get(b"a"), Ok(Some(bytes("3"))));
    assert_eq!(store.get(b"b"), Ok(Some(bytes("2"))));
    assert_eq!(store.get(b"c"), Ok(None));
}

fn staged_rows_end_with_the_store(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    commit(&mut store, 4);
    put(&mut store, "a", "2");
    flush(&mut store, "b", "2");
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store), pairs(&[("a", "1")]));
    assert_eq!(offset(&store), Some(4));
}

fn committed_rows_come_back_with_their_offset(home: &impl Home) {
    let mut store = home.open();
    assert_eq!(offset(&store), None);
    put(&mut store, "a", "1");
    flush(&mut store, "b", "2");
    commit(&mut store, 7);
    assert_eq!(offset(&store), Some(7));
    store.close().unwrap();
    let mut store = home.open();
    assert_eq!(rows(&store), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(offset(&store), Some(7));
    commit(&mut store, 8);
    store.close().unwrap();
    assert_eq!(offset(&home.open()), Some(8));
}

fn deleted_rows_are_gone_before_and_after_the_commit(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    put(&mut store, "b", "1");
    commit(&mut store, 1);
    store.put(bytes("a"), None).unwrap();
    assert_eq!(store.get(b"a"), Ok(None));
    assert_eq!(rows(&store), pairs(&[("b", "1")]));
    commit(&mut store, 2);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(store.get(b"a"), Ok(None));
    assert_eq!(rows(&store), pairs(&[("b", "1")]));
}

fn rows_without_an_offset_are_dropped_at_open(home: &impl Home) {
    let mut store = home.open();
    flush(&mut store, "a", "1");
    store.settle().unwrap();
    assert_eq!(store.staged_bytes(), 0);
    assert_eq!(rows(&store), pairs(&[("a", "1")]));
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store), []);
    assert_eq!(offset(&store), None);
}

fn an_unknown_offset_vouches_for_no_row(home: &impl Home) {
    let mut store = home.open();
    commit(&mut store, -4);
    store.close().unwrap();
    let mut store = home.open();
    assert_eq!(offset(&store), Some(-4));
    put(&mut store, "a", "1");
    commit(&mut store, -4);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store), []);
    assert_eq!(offset(&store), None);
}

fn settle_writes_what_was_flushed_and_not_what_was_staged_since(home: &impl Home) {
    let mut store = home.open();
    flush(&mut store, "a", "1");
    put(&mut store, "a", "2");
    put(&mut store, "b", "2");
    store.settle().unwrap();
    // The transaction of what was staged after the flush has not committed yet: it may still abort.
    assert_eq!(rows(&store), pairs(&[("a", "2"), ("b", "2")]));
    store.discard_staged();
    assert_eq!(rows(&store), pairs(&[("a", "1")]));

    put(&mut store, "c", "3");
    store.settle().unwrap();
    flush(&mut store, "d", "3");
    store.settle().unwrap();
    store.discard_staged();
    assert_eq!(rows(&store), pairs(&[("a", "1"), ("c", "3"), ("d", "3")]));
}

fn settle_forgets_the_offset_when_it_writes(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    commit(&mut store, 3);
    store.settle().unwrap();
    assert_eq!(offset(&store), Some(3));
    flush(&mut store, "b", "2");
    assert_eq!(offset(&store), Some(3));
    store.settle().unwrap();
    assert_eq!(offset(&store), None);
    commit(&mut store, 5);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store), pairs(&[("a", "1"), ("b", "2")]));
    assert_eq!(offset(&store), Some(5));
}

fn what_is_flushed_wins_over_what_was_staged_before(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "put");
    flush(&mut store, "a", "flushed");
    assert_eq!(store.get(b"a"), Ok(Some(bytes("flushed"))));
    commit(&mut store, 1);
    assert_eq!(store.get(b"a"), Ok(Some(bytes("flushed"))));
}

fn a_commit_with_no_offsets_forgets_them_all(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    store.commit(&[(NAME.to_owned(), Some(1)), ("other-0".to_owned(), Some(2))]).unwrap();
    put(&mut store, "b", "1");
    store.commit(&[]).unwrap();
    assert_eq!(offset(&store), None);
    assert_eq!(store.committed_offset("other-0"), Ok(None));
    assert_eq!(rows(&store), pairs(&[("a", "1"), ("b", "1")]));
    assert_eq!(store.staged_bytes(), 0);
    store.close().unwrap();
    assert_eq!(rows(&home.open()), []);
}

fn an_offset_can_be_forgotten_alone(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    store.commit(&[(NAME.to_owned(), Some(1)), ("other-0".to_owned(), Some(2))]).unwrap();
    store.commit(&[(NAME.to_owned(), None)]).unwrap();
    store.close().unwrap();
    let store = home.open();
    assert_eq!(offset(&store), None);
    assert_eq!(store.committed_offset("other-0"), Ok(Some(2)));
    assert_eq!(rows(&store), pairs(&[("a", "1")]));
}

fn a_short_restore_waits_for_its_offset(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    commit(&mut store, 1);
    store.restore([(bytes("a"), None), (bytes("b"), Some(bytes("2")))]).unwrap();
    assert_eq!(rows(&store), pairs(&[("b", "2")]));
    assert_eq!(offset(&store), Some(1));
    store.close().unwrap();
    let mut store = home.open();
    assert_eq!(rows(&store), pairs(&[("a", "1")]));
    store.restore([(bytes("a"), None), (bytes("b"), Some(bytes("2")))]).unwrap();
    commit(&mut store, 3);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store), pairs(&[("b", "2")]));
    assert_eq!(offset(&store), Some(3));
}

fn a_long_restore_is_written_without_an_offset(home: &impl Home) {
    let mut store = home.open();
    commit(&mut store, 1);
    let value = Bytes::from(vec![7; 1024 * 1024]);
    for number in 0..=u8::try_from(RESTORE_STAGED_BYTES_MAX / value.len()).unwrap() {
        store.restore([(Bytes::from(vec![number]), Some(value.clone()))]).unwrap();
        assert!(store.staged_bytes() <= RESTORE_STAGED_BYTES_MAX);
    }
    assert_eq!(offset(&store), None);
    assert_eq!(rows(&store).len(), 5);
    commit(&mut store, 9);
    store.close().unwrap();
    let store = home.open();
    assert_eq!(rows(&store).len(), 5);
    assert_eq!(offset(&store), Some(9));
}

fn rows_are_not_restored_into_a_running_step(home: &impl Home) {
    let mut store = home.open();
    put(&mut store, "a", "1");
    let row = || [(bytes("b"), Some(bytes("2")))];
    assert!(matches!(store.restore(row()), Err(StoreError::Misuse(_))));
    store.settle().unwrap();
    assert!(matches!(store.restore(row()), Err(StoreError::Misuse(_))));
    assert_eq!(rows(&store), pairs(&[("a", "1")]));
    commit(&mut store, 1);
    store.restore(row()).unwrap();
    store.restore(row()).unwrap();
}

fn scans_show_staged_over_committed_rows_within_bounds(home: &impl Home) {
    let mut store = home.open();
    for key in ["a", "b", "c", "d"] {
        put(&mut store, key, "committed");
    }
    commit(&mut store, 1);
    flush(&mut store, "b", "flushed");
    flush(&mut store, "bb", "flushed");
    store.put(bytes("c"), None).unwrap();
    put(&mut store, "e", "staged");

    let all = pairs(&[
        ("a", "committed"),
        ("b", "flushed"),
        ("bb", "flushed"),
        ("d", "committed"),
        ("e", "staged"),
    ]);
    let between = |from: Bound<&[u8]>, to: Bound<&[u8]>| {
        let range = KeyRange::new(from, to);
        let forward = scanned(&store, &range, Direction::Forward);
        let mut reverse = scanned(&store, &range, Direction::Reverse);
        reverse.reverse();
        assert_eq!(forward, reverse);
        forward
    };
    assert_eq!(between(Bound::Unbounded, Bound::Unbounded), all);
    assert_eq!(between(Bound::Included(b"b"), Bound::Included(b"d")), all[1..4]);
    assert_eq!(between(Bound::Excluded(b"b"), Bound::Excluded(b"d")), all[2..3]);
    assert_eq!(between(Bound::Excluded(b"d"), Bound::Unbounded), all[4..]);
    assert_eq!(between(Bound::Unbounded, Bound::Excluded(b"b")), all[..1]);
    assert_eq!(between(Bound::Included(b"d"), Bound::Included(b"b")), []);
    assert_eq!(between(Bound::Included(b"c"), Bound::Included(b"c")), []);
}

fn a_scan_ends_when_the_visitor_breaks(home: &impl Home) {
    let mut store = home.open();
    for key in ["b", "d"] {
        put(&mut store, key, "committed");
    }
    commit(&mut store, 1);
    for key in ["a", "c", "e"] {
        put(&mut store, key, "staged");
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        for wanted in 1..=5 {
            let mut shown = 0;
            let visited = store.scan(&KeyRange::all(), direction, &mut |_, _| {
                shown += 1;
                if shown == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!((visited, shown), (Ok(()), wanted));
        }
    }
}

fn a_home_has_one_store_at_a_time(home: &impl Home) {
    let store = home.open();
    assert!(matches!(home.try_open().err(), Some(StoreError::InUse { .. })));
    store.close().unwrap();
    let dropped = home.open();
    drop(dropped);
    home.open();
}

fn entries_are_counted_with_staged_ones(home: &impl Home) {
    let mut store = home.open();
    assert_eq!(store.approximate_entries(), Ok(0));
    put(&mut store, "a", "1");
    flush(&mut store, "b", "1");
    assert_eq!(store.approximate_entries(), Ok(2));
    commit(&mut store, 1);
    assert_eq!(store.approximate_entries(), Ok(2));
}

type Model = BTreeMap<Bytes, Option<Bytes>>;

/// What a store must show: the same three layers, each a plain map.
#[derive(Default)]
struct Expected {
    committed: Model,
    sealed: Model,
    open: Model,
    offset: Option<i64>,
}

impl Expected {
    fn rows(&self) -> Vec<(Bytes, Bytes)> {
        let mut rows = self.committed.clone();
        rows.extend(self.sealed.clone());
        rows.extend(self.open.clone());
        rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    fn seal(&mut self) {
        self.sealed.append(&mut self.open);
    }
}

fn any_run_equals_the_model(home: &impl Home) {
    const STEPS: u64 = 600;
    for seed in 1..=5 {
        println!("seed {seed}");
        let mut random = Random::seeded(seed);
        let mut store = home.open();
        store.put(bytes("start"), None).unwrap();
        commit(&mut store, 0);
        let mut expected = Expected { offset: Some(0), ..Expected::default() };
        expected.committed.extend(rows(&store).into_iter().map(|(key, value)| (key, Some(value))));
        for step in 1..=STEPS {
            let key = Bytes::from(vec![b'k', u8::try_from(random.below(20)).unwrap()]);
            let value = (random.below(3) > 0).then(|| Bytes::from(format!("value {step}")));
            let offset_now = i64::try_from(step).unwrap();
            match random.below(20) {
                0..8 => {
                    store.put(key.clone(), value.clone()).unwrap();
                    expected.open.insert(key, value);
                }
                8..14 => {
                    store.put_flushed(key.clone(), value.clone()).unwrap();
                    expected.seal();
                    expected.sealed.insert(key, value);
                }
                14..16 => {
                    store.settle().unwrap();
                    if !expected.sealed.is_empty() {
                        expected.offset = None;
                    }
                    expected.committed.append(&mut expected.sealed);
                    expected.seal();
                }
                16..18 => {
                    commit(&mut store, offset_now);
                    expected.seal();
                    expected.committed.append(&mut expected.sealed);
                    expected.offset = Some(offset_now);
                }
                18 => {
                    store.discard_staged();
                    expected.sealed.clear();
                    expected.open.clear();
                }
                _ => {
                    store.close().unwrap();
                    store = home.open();
                    let committed = std::mem::take(&mut expected.committed);
                    let offset = expected.offset;
                    expected = Expected { offset, ..Expected::default() };
                    if offset.is_some() {
                        expected.committed = committed;
                    }
                }
            }
            assert_eq!(rows(&store), expected.rows(), "step {step}");
            assert_eq!(offset(&store), expected.offset, "step {step}");
        }
        store.close().unwrap();
    }
}

/// The engine's reads go ahead of the heads it asks for, which nothing else may notice.
fn the_engine_reads_what_everyone_reads(home: &impl Home) {
    let channels: Vec<ChannelId> = (0..40).map(|n| format!("{:032x}:0", n + 1).parse().unwrap()).collect();
    let mut random = Random::seeded(7);
    let mut store = home.open();
    let key = |random: &mut Random, channels_max: u64| {
        let channel = channels[usize::try_from(random.below(channels_max)).unwrap()];
        hold_key(channel, Position::new(i64::try_from(random.below(200)).unwrap()).unwrap())
    };
    for round in 0..40 {
        for _ in 0..100 {
            let value = (random.below(5) > 0).then(|| Bytes::from(vec![round; 1 + usize::from(round) * 100]));
            store.put_flushed(Bytes::copy_from_slice(&key(&mut random, 3)), value).unwrap();
        }
        match random.below(3) {
            0 => store.settle().unwrap(),
            1 => commit(&mut store, 1),
            _ => {}
        }
        // Ascending runs, as of heads, on a few channels, with strangers between them.
        let mut keys: Vec<_> = (0..150).map(|_| key(&mut random, 3)).collect();
        keys.sort_unstable();
        keys.sort_by_key(|key| key[21..].to_vec());
        keys.extend((0..50).map(|_| key(&mut random, 40)));
        for key in keys {
            assert_eq!(Rows::get(&store, &key).unwrap(), store.get(&key).unwrap(), "round {round}");
        }
    }
    assert_eq!(Rows::get(&store, b"v").unwrap(), None);
}

#[test]
fn a_failure_of_the_backend_sticks_until_the_store_is_reopened() {
    let home = InMemory::new();
    let mut store = home.open();
    put(&mut store, "a", "1");
    commit(&mut store, 1);
    home.0.crash(1);
    assert!(matches!(store.get(b"a"), Err(StoreError::Io { .. })));
    assert!(matches!(store.get(b"a"), Err(StoreError::Refusing { .. })));
    assert!(matches!(store.put(bytes("b"), None), Err(StoreError::Refusing { .. })));
    assert!(matches!(store.settle(), Err(StoreError::Refusing { .. })));
    assert!(matches!(store.commit(&[]), Err(StoreError::Refusing { .. })));
    assert_eq!(store.close(), Ok(()));
    assert_eq!(rows(&home.open()), pairs(&[("a", "1")]));
}
