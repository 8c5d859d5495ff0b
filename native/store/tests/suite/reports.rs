//! Failures that users of other stores under Kafka Streams have met, each as the rule that keeps it away.

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process;

use bytes::Bytes;
use parsley_core::{CausesHeader, Position, Received};
use parsley_store::{
    Backend, MemoryBackend, MemoryDisk, OrderingStore, RESTORE_STAGED_BYTES_MAX, RocksBackend, Settings,
    StoreError, Task,
};

use crate::support::{NAME, child_of_test, commit, offset, rows, scratch};

const DIRECTORY: &str = "PARSLEY_REPORT_DIRECTORY";
const STORY: &str = "PARSLEY_REPORT_STORY";
const SIGABRT: i32 = 6;

fn open(directory: &Path) -> Result<OrderingStore<RocksBackend>, StoreError> {
    let settings = Settings { memtable_bytes: 64 * 1024, ..Settings::default() };
    OrderingStore::open(RocksBackend::open(directory, settings)?)
}

fn row(key: &'static str, value: &'static str) -> (Bytes, Option<Bytes>) {
    (Bytes::from_static(key.as_bytes()), Some(Bytes::from_static(value.as_bytes())))
}

fn contents(pairs: &[(&'static str, &'static str)]) -> Vec<(Bytes, Bytes)> {
    pairs
        .iter()
        .map(|(key, value)| (Bytes::from_static(key.as_bytes()), Bytes::from_static(value.as_bytes())))
        .collect()
}

/// What is committed before each story.
fn begin<B: Backend>(store: &mut OrderingStore<B>) {
    let (key, value) = row("a", "committed");
    store.put(key, value).unwrap();
    commit(store, 1);
}

/// Rows of a step, flushed by the engine: many times what a memtable holds.
fn stage<B: Backend>(store: &mut OrderingStore<B>) {
    let value = Bytes::from(vec![7; 4096]);
    for number in 0..200_u8 {
        store.put_flushed(Bytes::from(vec![b'x', number]), Some(value.clone())).unwrap();
    }
}

fn crash_in_an_open_transaction(directory: &Path) {
    begin_and_close(directory);
    let mut store = open(directory).unwrap();
    stage(&mut store);
    process::abort();
}

fn crash_after_a_restore(directory: &Path) {
    let mut store = open(directory).unwrap();
    store.restore([row("a", "committed"), row("b", "restored")]).unwrap();
    commit(&mut store, 2);
    store.put_flushed(Bytes::from_static(b"a"), None).unwrap();
    store.settle().unwrap();
    process::abort();
}

fn begin_and_close(directory: &Path) {
    let mut store = open(directory).unwrap();
    begin(&mut store);
    store.close().unwrap();
}

/// Not a rule by itself: the process of a story that ends in a crash.
#[test]
fn child_that_crashes_in_a_story_when_asked_to() {
    let (Ok(directory), Ok(story)) = (env::var(DIRECTORY), env::var(STORY)) else {
        return;
    };
    match story.as_str() {
        "transaction" => crash_in_an_open_transaction(Path::new(&directory)),
        "restore" => crash_after_a_restore(Path::new(&directory)),
        other => panic!("{other} is no story"),
    }
}

fn crashed(directory: &Path, story: &str) {
    let mut child = child_of_test("reports::child_that_crashes_in_a_story_when_asked_to");
    let crashed = child.env(DIRECTORY, directory).env(STORY, story).output().unwrap();
    assert_eq!(crashed.status.signal(), Some(SIGABRT), "{crashed:?}");
}

#[test]
fn a_crash_in_an_open_transaction_leaves_no_row_of_it() {
    let directory = scratch();
    crashed(directory.path(), "transaction");
    let store = open(directory.path()).unwrap();
    assert_eq!(offset(&store), Some(1));
    assert_eq!(rows(&store), contents(&[("a", "committed")]));
}

#[test]
fn an_offset_from_after_a_restore_does_not_keep_a_later_crash_from_a_rebuild() {
    let directory = scratch();
    crashed(directory.path(), "restore");
    let store = open(directory.path()).unwrap();
    assert_eq!(offset(&store), None);
    assert_eq!(rows(&store), []);
}

#[test]
fn a_discarded_step_does_not_make_the_next_openings_look_damaged() {
    let directory = scratch();
    begin_and_close(directory.path());
    for opening in 0..5 {
        let mut store = open(directory.path()).unwrap();
        assert_eq!(offset(&store), Some(1), "opening {opening}");
        assert_eq!(rows(&store), contents(&[("a", "committed")]), "opening {opening}");
        stage(&mut store);
        // Kafka Streams closes a task dirty in some ways: with the step in it, after its abort, or not at all.
        match opening % 3 {
            0 => store.close().unwrap(),
            1 => {
                store.discard_staged();
                store.close().unwrap();
            }
            _ => drop(store),
        }
    }
}

/// The rows of a changelog that is restored past the bound, in batches.
fn long_changelog() -> Vec<Vec<(Bytes, Option<Bytes>)>> {
    let value = Bytes::from(vec![7; 300 * 1024]);
    let batches = 2 * RESTORE_STAGED_BYTES_MAX / value.len() / 2;
    let key = |number: usize| Bytes::copy_from_slice(&number.to_be_bytes());
    (0..batches)
        .map(|batch| {
            // Each batch takes back a row of the one before it.
            let taken_back = (key(2 * batch.saturating_sub(1)), None);
            let rows = [2 * batch, 2 * batch + 1].map(|number| (key(number), Some(value.clone())));
            [&[taken_back][..], &rows].concat()
        })
        .collect()
}

#[test]
fn a_restore_interrupted_after_any_batch_is_begun_again() {
    let changelog = long_changelog();
    let whole = {
        let disk = MemoryDisk::new();
        let mut store = OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap();
        for batch in &changelog {
            store.restore(batch.clone()).unwrap();
        }
        rows(&store)
    };
    let directory = scratch();
    for interrupted_after in 0..=changelog.len() {
        let mut store = open(directory.path()).unwrap();
        assert_eq!(offset(&store), None, "after {interrupted_after} batches");
        assert_eq!(rows(&store), [], "after {interrupted_after} batches");
        changelog[..interrupted_after].iter().for_each(|batch| store.restore(batch.clone()).unwrap());
        store.close().unwrap();
    }
    let mut store = open(directory.path()).unwrap();
    for batch in &changelog {
        store.restore(batch.clone()).unwrap();
    }
    commit(&mut store, 99);
    store.close().unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(offset(&store), Some(99));
    assert!(rows(&store) == whole, "the restored rows are others than those of the changelog");
}

#[test]
fn a_start_that_fails_frees_the_directory() {
    let directory = scratch();
    begin_and_close(directory.path());
    // The start fails at the offsets: their table, the smallest one, is damaged.
    let entries = fs::read_dir(directory.path().join("rows")).unwrap().map(|entry| entry.unwrap().path());
    for table in entries.filter(|path| path.extension().is_some_and(|extension| extension == "sst")) {
        let mut content = fs::read(&table).unwrap();
        content[5] ^= 1;
        fs::write(&table, content).unwrap();
    }
    let refused = open(directory.path()).err().unwrap();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    let mut store = open(directory.path()).unwrap();
    assert_eq!(rows(&store), []);
    // The start fails at the engine, which does not know this format.
    let (key, value) = row("v", "\x63");
    store.put(key, value).unwrap();
    commit(&mut store, 1);
    let mut task = Task::new(store);
    assert!(task.open_engine(&[], 1024).is_err());
    drop(task);
    open(directory.path()).unwrap().close().unwrap();
}

#[test]
fn a_null_that_is_restored_deletes_its_row() {
    let directory = scratch();
    let mut store = open(directory.path()).unwrap();
    store.restore([row("a", "1"), row("b", ""), row("c", "1")]).unwrap();
    commit(&mut store, 3);
    store.restore([(Bytes::from_static(b"a"), None), (Bytes::from_static(b"never there"), None)]).unwrap();
    let expected = contents(&[("b", ""), ("c", "1")]);
    let judge = |store: &OrderingStore<RocksBackend>| {
        assert_eq!(store.get(b"a"), Ok(None));
        assert_eq!(store.get(b"b"), Ok(Some(Bytes::new())), "an empty value is a value");
        assert_eq!(rows(store), expected);
    };
    judge(&store);
    commit(&mut store, 5);
    judge(&store);
    store.close().unwrap();
    judge(&open(directory.path()).unwrap());
}

/// The same at the engine: a hold whose deletion was restored is not held.
#[test]
fn a_hold_whose_deletion_was_restored_is_not_held() {
    let disk = MemoryDisk::new();
    let channels = ["orders", "payments"].map(|name| Received {
        name: name.to_owned(),
        channel: format!("{}:0", if name == "orders" { "1" } else { "2" }.repeat(32)).parse().unwrap(),
        start: 0,
    });
    let mut task = Task::new(OrderingStore::open(MemoryBackend::open(&disk).unwrap()).unwrap());
    task.open_engine(&channels, 1024).unwrap();
    let causes = parsley_core::causes::encode(&[parsley_core::Cause {
        channel: channels[0].channel,
        position: Position::new(3).unwrap(),
    }]);
    task.receive(1, Position::new(0).unwrap(), CausesHeader::Once(Some(&causes))).unwrap();
    task.hold(&Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0])).unwrap();
    let mut changelog = Vec::new();
    let mut flush = |task: &mut Task<MemoryBackend>| {
        task.flush(usize::MAX, &mut |key, value| {
            changelog.push((Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice)));
        })
        .unwrap();
    };
    flush(&mut task);
    task.receive(0, Position::new(3).unwrap(), CausesHeader::Absent).unwrap();
    task.next_delivery().unwrap();
    flush(&mut task);
    let deletions = changelog.iter().filter(|(_, value)| value.is_none()).count();
    assert_eq!(deletions, 1, "the delivered hold is deleted");

    let mut store = OrderingStore::open(MemoryBackend::open(&MemoryDisk::new()).unwrap()).unwrap();
    store.restore(changelog).unwrap();
    store.commit(&[(NAME.to_owned(), Some(9))]).unwrap();
    let mut task = Task::new(store);
    task.open_engine(&channels, 1024).unwrap();
    assert_eq!(task.held_count(), Ok(0));
}
