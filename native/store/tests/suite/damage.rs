//! Files of `RocksDB` that are lost, cut short or changed. Whatever it is: the store opens with the rows of the offset that
//! it shows, or empties itself, or says that it can't be read and empties itself at the next opening. Never other rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parsley_store::{OrderingStore, RocksBackend, Settings, StoreError};
use tempfile::TempDir;

use crate::support::{Random, commit, offset, rows, scratch, try_rows};

type Contents = Vec<(Bytes, Bytes)>;

/// A budget that no other store has: they would share the block cache, and a block that is cached is not read again.
fn settings() -> Settings {
    static STORES: AtomicUsize = AtomicUsize::new(0);
    let number = STORES.fetch_add(1, Ordering::Relaxed);
    Settings { block_cache_bytes: 1024 * 1024 + number, ..Settings::default() }
}

fn open(directory: &Path) -> Result<OrderingStore<RocksBackend>, StoreError> {
    OrderingStore::open(RocksBackend::open(directory, settings())?)
}

/// A directory with a history, and the rows at each of its offsets.
struct Home {
    directory: TempDir,
    states: BTreeMap<i64, Contents>,
}

impl Home {
    fn new(seed: u64) -> Self {
        let directory = scratch();
        let mut random = Random::seeded(seed);
        let mut states = BTreeMap::new();
        // Each session leaves tables of its own.
        for session in 0..3_i64 {
            let mut store = open(directory.path()).unwrap();
            for number in 0..60 {
                let key = Bytes::from(format!("key {:02}", random.below(50)));
                let width = usize::try_from(50 + random.below(400)).unwrap();
                let value = (random.below(5) > 0).then(|| Bytes::from(format!("{session} {number:width$}")));
                store.put(key, value).unwrap();
            }
            commit(&mut store, session);
            states.insert(session, rows(&store));
            store.close().unwrap();
        }
        Self { directory, states }
    }

    /// The names of the database's files, but for its log, which nothing reads.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path().join("rows")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with("LOG")).collect();
        names.sort();
        names
    }

    fn content(&self, file: &str) -> Vec<u8> {
        fs::read(self.directory.path().join("rows").join(file)).unwrap()
    }

    fn copy(&self) -> TempDir {
        let copy = scratch();
        fs::create_dir(copy.path().join("rows")).unwrap();
        for file in self.files() {
            fs::write(copy.path().join("rows").join(&file), self.content(&file)).unwrap();
        }
        copy
    }
}

/// What an opening came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The rows of the last offset.
    Whole,
    /// The rows of an earlier offset.
    Earlier,
    Emptied,
    /// An error, and the next opening emptied the store.
    RefusedThenEmptied,
}

/// Opens what is left of a home, reads all of it, and judges that.
fn outcome(home: &Home, left: &TempDir, what: &str) -> Outcome {
    match read(left.path(), home) {
        Ok((None, rows)) => {
            assert!(rows.is_empty(), "{what}: there are rows without an offset");
            Outcome::Emptied
        }
        Ok((Some(offset), rows)) => {
            assert!(rows == home.states[&offset], "{what}: the rows are not those of offset {offset}");
            if offset == 2 { Outcome::Whole } else { Outcome::Earlier }
        }
        Err(error) => {
            assert!(matches!(error, StoreError::Io { .. }), "{what}: {error}");
            let again =
                read(left.path(), home).unwrap_or_else(|error| panic!("{what}, opened again: {error}"));
            assert_eq!(again, (None, Vec::new()), "{what}, opened again");
            Outcome::RefusedThenEmptied
        }
    }
}

/// Offset and rows, each row read by its key as well.
fn read(directory: &Path, home: &Home) -> Result<(Option<i64>, Contents), StoreError> {
    let store = open(directory)?;
    let scanned = try_rows(&store)?;
    let scanned_by_key: BTreeMap<&Bytes, &Bytes> = scanned.iter().map(|(key, value)| (key, value)).collect();
    for (key, _) in home.states.values().flatten() {
        assert_eq!(store.get(key)?.as_ref(), scanned_by_key.get(key).copied(), "a read and a scan differ");
    }
    let offset = offset(&store);
    store.close()?;
    Ok((offset, scanned))
}

#[derive(Default)]
struct Tally(BTreeMap<(String, Outcome), usize>);

impl Tally {
    /// Damages one file and judges what comes of it.
    fn damage(&mut self, home: &Home, file: &str, what: &str, damaged: Option<&[u8]>) {
        let left = home.copy();
        let path: PathBuf = left.path().join("rows").join(file);
        match damaged {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let outcome = outcome(home, &left, &format!("{file} {what}"));
        // Files of a kind differ in their number only.
        let kind = Path::new(file).extension().map_or_else(
            || file.split('-').next().unwrap().to_owned(),
            |extension| extension.to_string_lossy().into_owned(),
        );
        *self.0.entry((kind, outcome)).or_default() += 1;
    }

    fn of(&self, outcome: Outcome) -> usize {
        self.0.iter().filter(|((_, of), _)| *of == outcome).map(|(_, count)| count).sum()
    }

    fn show(&self, what: &str) {
        println!("{what}: {:?}", self.0);
    }
}

#[test]
fn a_lost_or_cut_file_never_shows_other_rows() {
    let home = Home::new(1);
    let mut tally = Tally::default();
    for file in home.files() {
        let content = home.content(&file);
        let length = content.len();
        tally.damage(&home, &file, "lost", None);
        for kept in [0, 1, length / 3, length / 2, length.saturating_sub(100), length.saturating_sub(1)] {
            tally.damage(&home, &file, &format!("cut at {kept}"), Some(&content[..kept.min(length)]));
        }
        if file.starts_with("MANIFEST") {
            // RocksDB 11.8.1 reads some trailing bytes of a MANIFEST for ever, see docs/verification.md.
            continue;
        }
        tally.damage(&home, &file, "grown", Some(&[&content[..], &[7; 50]].concat()));
        tally.damage(&home, &file, "zeroed", Some(&vec![0; length]));
    }
    tally.show("lost and cut files");
    assert!(tally.of(Outcome::Emptied) > 10, "damage is not met");
}

#[test]
fn a_manifest_cut_anywhere_never_shows_other_rows() {
    let home = Home::new(2);
    let mut tally = Tally::default();
    for file in home.files().into_iter().filter(|file| file.starts_with("MANIFEST")) {
        let content = home.content(&file);
        for kept in (0..content.len()).step_by(7) {
            tally.damage(&home, &file, &format!("cut at {kept}"), Some(&content[..kept]));
        }
    }
    tally.show("cut manifests");
}

#[test]
fn a_flipped_bit_anywhere_never_shows_other_rows() {
    let home = Home::new(3);
    let mut random = Random::seeded(3);
    let mut tally = Tally::default();
    for file in home.files() {
        let content = home.content(&file);
        // One flip in each region of a file: of a table's data, index, filter, properties and footer alike.
        let region = if file.starts_with("OPTIONS") { 1024 } else { 16 + content.len() / 64 };
        for from in (0..content.len()).step_by(region) {
            let width = u64::try_from(region.min(content.len() - from)).unwrap();
            let at = from + usize::try_from(random.below(width)).unwrap();
            let mut damaged = content.clone();
            damaged[at] ^= 1 << random.below(8);
            tally.damage(&home, &file, &format!("flipped at {at}"), Some(&damaged));
        }
    }
    tally.show("flipped bits");
    assert!(tally.of(Outcome::RefusedThenEmptied) > 10, "no read meets the damage");
}

#[test]
fn any_files_lost_together_never_show_other_rows() {
    let home = Home::new(4);
    for seed in 1..=30 {
        println!("seed {seed}");
        let mut random = Random::seeded(seed);
        let left = home.copy();
        let mut lost = Vec::new();
        for file in home.files() {
            if random.below(3) == 0 {
                fs::remove_file(left.path().join("rows").join(&file)).unwrap();
                lost.push(file);
            }
        }
        outcome(&home, &left, &format!("without {lost:?}"));
    }
}
