//! What only the `RocksDB` backend does: locks, damage, age.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, process};

use bytes::Bytes;
use parsley_store::{OrderingStore, RocksBackend, Settings, StoreError};
use tempfile::TempDir;

use crate::support::{commit, offset, rows};

fn try_open(directory: &Path) -> Result<OrderingStore<RocksBackend>, StoreError> {
    OrderingStore::open(RocksBackend::open(directory, Settings::default())?)
}

/// A directory with one committed row.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    let mut store = try_open(home.path()).unwrap();
    store.put(Bytes::from_static(b"a"), Some(Bytes::from(vec![7; 10_000]))).unwrap();
    commit(&mut store, 1);
    store.close().unwrap();
    home
}

/// The database's files whose names contain `part`.
fn files(home: &Path, part: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("rows")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().contains(part)).collect();
    assert!(!files.is_empty(), "there is no file {part}");
    files
}

const HELD_DIRECTORY: &str = "PARSLEY_HELD_DIRECTORY";

/// Not a rule by itself: the process that has a directory open until its input ends.
#[test]
fn child_that_holds_a_directory_when_asked_to() {
    let Ok(directory) = env::var(HELD_DIRECTORY) else {
        return;
    };
    let store = try_open(Path::new(&directory)).unwrap();
    println!("\nholding");
    std::io::stdin().lines().for_each(drop);
    store.close().unwrap();
    process::exit(0);
}

#[test]
fn a_directory_that_another_process_has_open_is_refused_and_kept() {
    let home = home();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "rocks::child_that_holds_a_directory_when_asked_to", "--nocapture"])
        .env(HELD_DIRECTORY, home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "holding"));

    let refused = try_open(home.path()).err().unwrap();
    assert_eq!(refused, StoreError::InUse { directory: home.path().to_owned() });
    assert!(refused.to_string().contains("in use by another store"));

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(offset(&try_open(home.path()).unwrap()), Some(1));
}

#[test]
fn a_database_that_does_not_open_is_begun_anew() {
    for part in ["CURRENT", "MANIFEST", ".sst"] {
        for damage in [|path: &Path| fs::remove_file(path), |path: &Path| fs::write(path, b"damaged")] {
            let home = home();
            for file in files(home.path(), part) {
                damage(&file).unwrap();
            }
            let mut store = try_open(home.path()).unwrap();
            assert_eq!(offset(&store), None, "{part}");
            assert_eq!(rows(&store), [], "{part}");
            commit(&mut store, 2);
            store.close().unwrap();
            assert_eq!(offset(&try_open(home.path()).unwrap()), Some(2), "{part}");
        }
    }
}

#[test]
fn damage_that_a_read_meets_is_refused_and_rebuilt_at_the_next_open() {
    let home = home();
    for file in files(home.path(), ".sst") {
        let mut content = fs::read(&file).unwrap();
        // The first block of a table is data; the row here is longer than that.
        content[100] ^= 1;
        File::create(&file).unwrap().write_all(&content).unwrap();
    }
    let store = try_open(home.path()).unwrap();
    assert!(matches!(store.get(b"a"), Err(StoreError::Io { .. })));
    assert!(matches!(store.get(b"a"), Err(StoreError::Refusing { .. })));
    store.close().unwrap();
    let store = try_open(home.path()).unwrap();
    assert_eq!(offset(&store), None);
    assert_eq!(rows(&store), []);
    store.close().unwrap();
}

#[test]
fn a_directory_that_can_not_be_made_is_a_clear_error() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("file");
    File::create(&file).unwrap();
    let refused = try_open(&file).err().unwrap();
    assert!(refused.to_string().starts_with("creating the store's directory failed"), "{refused}");
}

#[test]
fn old_batches_are_made_durable_by_the_next_write() {
    let home = TempDir::new().unwrap();
    let settings = Settings { flush_age_max: Duration::ZERO, ..Settings::default() };
    let mut store = OrderingStore::open(RocksBackend::open(home.path(), settings).unwrap()).unwrap();
    store.put(Bytes::from_static(b"a"), Some(Bytes::from_static(b"1"))).unwrap();
    commit(&mut store, 1);
    // A copy of an open directory holds what a crash would leave.
    let left = TempDir::new().unwrap();
    fs::create_dir(left.path().join("rows")).unwrap();
    for file in files(home.path(), "") {
        fs::copy(&file, left.path().join("rows").join(file.file_name().unwrap())).unwrap();
    }
    let left = try_open(left.path()).unwrap();
    assert_eq!(offset(&left), Some(1));
    assert_eq!(rows(&left).len(), 1);
}
