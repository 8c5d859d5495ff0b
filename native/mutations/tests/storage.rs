//! What every storage keeps to: one suite over all of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;
use parsley_journal::keys::KeyRange;
use parsley_journal::storage::{Batch, Storage};
use parsley_mutations::{MemoryStorage, RocksStorage};

fn batch(rows: &[(&str, Option<&str>)]) -> Batch {
    let rows: BTreeMap<Vec<u8>, Option<Bytes>> = rows
        .iter()
        .map(|(key, value)| (key.as_bytes().to_vec(), value.map(|it| Bytes::copy_from_slice(it.as_bytes()))))
        .collect();
    Batch(rows.into_iter().collect())
}

fn rows(storage: &dyn Storage, start: &str, end: &str) -> Vec<(String, String)> {
    let range = KeyRange { start: start.as_bytes().to_vec(), end: end.as_bytes().to_vec() };
    let mut rows = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    storage
        .scan(&range, &mut |key, value| {
            rows.push((text(key), text(value)));
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

fn keeps_to_the_contract(storage: &dyn Storage) {
    assert_eq!(storage.get(b"a").unwrap(), None);
    storage.sync().unwrap();
    storage.write(&batch(&[("a", Some("1")), ("b", Some("2")), ("bb", Some("")), ("c", Some("3"))])).unwrap();
    assert_eq!(storage.get(b"a").unwrap().as_deref(), Some(&b"1"[..]), "a write is read at once");
    assert_eq!(storage.get(b"bb").unwrap().as_deref(), Some(&b""[..]), "an empty value is a value");
    let pairs = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    assert_eq!(rows(storage, "b", "c"), pairs(&[("b", "2"), ("bb", "")]), "start is in, end is not");
    assert_eq!(rows(storage, "c", "b"), []);
    storage.write(&batch(&[("a", None), ("b", Some("4")), ("none", None)])).unwrap();
    assert_eq!(rows(storage, "", "z"), pairs(&[("b", "4"), ("bb", ""), ("c", "3")]));
    let mut seen = 0;
    let range = KeyRange { start: vec![], end: vec![0xff] };
    storage
        .scan(&range, &mut |_, _| {
            seen += 1;
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(seen, 1, "a visitor that breaks sees no more");
    storage.sync().unwrap();
}

#[test]
fn memory_keeps_to_the_contract() {
    keeps_to_the_contract(&MemoryStorage::new());
}

#[test]
fn a_directory_keeps_to_the_contract_and_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("not/there/yet");
    keeps_to_the_contract(&RocksStorage::open(&path).unwrap());
    let again = RocksStorage::open(&path).unwrap();
    assert_eq!(rows(&again, "", "z").len(), 3);
}

#[test]
fn a_directory_that_is_read_only_refuses_writes_and_changes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    RocksStorage::open(directory.path()).unwrap().write(&batch(&[("a", Some("1"))])).unwrap();
    let files = |path: &Path| -> BTreeMap<String, u64> {
        std::fs::read_dir(path.join("rows"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()))
            .filter(|(name, _)| !name.starts_with("LOG"))
            .collect()
    };
    let before = files(directory.path());
    let looked = RocksStorage::open_read_only(directory.path()).unwrap();
    assert_eq!(rows(&looked, "", "z").len(), 1);
    assert!(looked.write(&batch(&[("b", Some("2"))])).is_err());
    drop(looked);
    assert_eq!(files(directory.path()), before);
}

#[test]
fn a_directory_without_a_journal_is_no_journal() {
    let directory = tempfile::tempdir().unwrap();
    assert!(RocksStorage::open_existing(directory.path()).is_err());
    assert!(RocksStorage::open_read_only(directory.path()).is_err());
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "looking makes nothing");
}
