//! A disk that takes no more, by a limit on the size of files, and one that can't be written to: a child process works on
//! a file system of its own, which goes away with it.

use std::env;
use std::path::Path;
use std::process::{self, Command, Output};

use bytes::Bytes;
use parsley_store::{OrderingStore, RocksBackend, Settings, StoreError};

use crate::support::{NAME, child_of_test, offset, rows, scratch};

const DIRECTORY: &str = "PARSLEY_LIMITED_DIRECTORY";
/// Whether the directory is a file system that the child may mount anew.
const MOUNTED: &str = "PARSLEY_LIMITED_MOUNTED";
/// Much more than either kind of full disk takes.
const COMMITS_MAX: i64 = 400;
const VALUE_BYTES: usize = 10_000;

fn open(directory: &Path) -> Result<OrderingStore<RocksBackend>, StoreError> {
    let settings = Settings { memtable_bytes: 64 * 1024, ..Settings::default() };
    OrderingStore::open(RocksBackend::open(directory, settings)?)
}

/// Rows that stay, more than either kind of full disk has room for.
const ROWS_MAX: i64 = 200;

/// Commit n stores row n and takes away row n - `ROWS_MAX`.
fn commit(store: &mut OrderingStore<RocksBackend>, number: i64) -> Result<(), StoreError> {
    let key = |number: i64| Bytes::copy_from_slice(&number.to_be_bytes());
    store.put(key(number), Some(Bytes::from(vec![number.to_be_bytes()[7]; VALUE_BYTES])))?;
    store.put(key(number - ROWS_MAX), None)?;
    store.commit(&[(NAME.to_owned(), Some(number))])
}

/// The rows are those of the offset, or there are none.
fn judge(store: &OrderingStore<RocksBackend>) -> Option<i64> {
    let found = offset(store);
    let numbers: Vec<i64> =
        rows(store).iter().map(|(key, _)| i64::from_be_bytes(key[..].try_into().unwrap())).collect();
    let expected = found.map_or(Vec::new(), |found| ((found - ROWS_MAX + 1).max(1)..=found).collect());
    assert_eq!(numbers, expected, "the rows are not those of offset {found:?}");
    found
}

fn mount(directory: &Path, options: &str) {
    let mounted = Command::new("mount").args(["-o", options]).arg(directory).status().unwrap();
    assert!(mounted.success(), "mount -o {options}");
}

/// Not a rule by itself: the process that has its disk filled, or made read-only.
#[test]
fn child_with_a_limited_disk_when_asked_to() {
    let (Ok(directory), Ok(mounted)) = (env::var(DIRECTORY), env::var(MOUNTED)) else {
        return;
    };
    let directory = Path::new(&directory);
    let mounted = mounted == "yes";
    if mounted {
        refuse_what_is_read_only(directory);
    } else {
        fill(directory);
    }
    process::exit(0);
}

fn refuse_what_is_read_only(directory: &Path) {
    let mut store = open(directory).unwrap();
    commit(&mut store, 1).unwrap();
    store.close().unwrap();
    mount(directory, "remount,ro");
    let refused = open(directory).err().unwrap();
    println!("\nread-only: {refused}");
    assert!(refused.to_string().contains("Read-only file system"), "{refused}");
    mount(directory, "remount,rw");
    assert_eq!(
        judge(&open(directory).unwrap()),
        Some(1),
        "a disk that could not be written to has lost rows"
    );
}

fn fill(directory: &Path) {
    let mut store = open(directory).unwrap();
    let refused = (1..COMMITS_MAX).find_map(|number| commit(&mut store, number).err());
    // A short one may fit into memory, and then it is the close that fails.
    let refused = match refused {
        Some(refused) => {
            assert!(
                matches!(store.get(b"v"), Err(StoreError::Refusing { .. })),
                "the failure does not stick"
            );
            store.close().unwrap();
            refused
        }
        None => store.close().unwrap_err(),
    };
    println!("\nfull: {refused}");
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    match open(directory) {
        Ok(store) => println!("opened on the full disk: {:?}", judge(&store)),
        Err(refused) => println!("opened on the full disk: {refused}"),
    }
}

fn child(directory: &Path, mounted: &str, shell: &[&str], script: &str) -> Output {
    let child = child_of_test("disk_limits::child_with_a_limited_disk_when_asked_to");
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["bash", "-c", script]);
    command.arg(child.get_program()).args(child.get_args());
    command.env(DIRECTORY, directory).env(MOUNTED, mounted).output().unwrap()
}

fn said(output: &Output, what: &str) -> bool {
    String::from_utf8_lossy(&output.stdout).contains(what)
}

/// Whether this machine gives a process mounts of its own.
const NAMESPACE: [&str; 3] = ["unshare", "--mount", "--map-root-user"];

fn has_namespaces() -> bool {
    let tried = Command::new(NAMESPACE[0]).args(&NAMESPACE[1..]).arg("true").output();
    tried.is_ok_and(|tried| tried.status.success())
}

#[test]
fn a_disk_that_is_read_only_is_refused_and_keeps_its_rows() {
    if !has_namespaces() {
        println!("no file systems of our own here, so nothing was made read-only");
        return;
    }
    let directory = scratch();
    let script =
        format!("mount -t tmpfs -o size=1m tmpfs '{}' && exec \"$0\" \"$@\"", directory.path().display());
    let output = child(directory.path(), "yes", &NAMESPACE, &script);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output, "read-only: "), "{output:?}");
}

#[test]
fn files_that_may_not_grow_are_refused_and_show_no_other_rows() {
    for file_kib_max in [20, 40, 60] {
        let directory = scratch();
        // An ignored signal stays ignored, so the write fails and does not end the process.
        let script = format!("trap '' XFSZ; ulimit -f {file_kib_max}; exec \"$0\" \"$@\"");
        let output = child(directory.path(), "no", &["env"], &script);
        println!("{file_kib_max} KiB: {}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{output:?}");
        assert!(said(&output, "full: "), "{output:?}");
        let mut store = open(directory.path()).unwrap();
        println!("opened with room: {:?}", judge(&store));
        commit(&mut store, COMMITS_MAX).unwrap();
    }
}
