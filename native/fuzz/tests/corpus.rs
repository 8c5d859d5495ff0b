//! Feeds every file of the corpus, and seeded changes of it, to its target. What libFuzzer does for hours, this does for
//! seconds, with the ordinary compiler.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parsley_fuzz::{TARGETS, Target};

/// Changed inputs tried for each target.
const CHANGED_INPUTS: usize = 40_000;
/// Changed inputs are not longer than what libFuzzer is given.
const INPUT_BYTES_MAX: usize = 4096;

fn here(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(part)
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The corpus of a target, in the order of its files' names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(here("corpus").join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Shows the input that a target panics at.
fn feed(name: &str, target: Target, input: &[u8], whence: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        eprintln!("target {name}, {whence}: {}", hex(input));
        std::panic::resume_unwind(panic);
    }
}

/// Splitmix64: a run is a function of its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % bound).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

/// Changes an input once: numbers that break things, flips, cuts, repetitions, and parts of another input.
fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len());
    match random.below(8) {
        0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
        1 if !input.is_empty() => input[at] = random.byte(),
        2 => input.truncate(at),
        3 => input.insert(at.min(input.len()), random.byte()),
        4 if !input.is_empty() => {
            input.remove(at);
        }
        5 => {
            let numbers: [&[u8]; 8] = [
                &[0xff; 4],
                &[0; 4],
                &[0x7f, 0xff, 0xff, 0xff],
                &[0x80, 0, 0, 0],
                &[0xff; 8],
                &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                &[0x80, 0x80, 0x80, 0x80, 0x08],
                &[0x80, 0x00],
            ];
            let number = numbers[random.below(numbers.len())];
            let end = (at + number.len()).min(input.len());
            input[at..end].copy_from_slice(&number[..end - at]);
        }
        6 => {
            let end = at + random.below(input.len() - at + 1);
            let part = input[at..end].to_vec();
            input.splice(at..at, part);
        }
        _ => {
            let from = random.below(other.len());
            let to = from + random.below(other.len() - from + 1);
            input.splice(at.., other[from..to].iter().copied());
        }
    }
    input.truncate(INPUT_BYTES_MAX);
}

#[test]
fn every_target_has_a_corpus_and_a_fuzzer() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len());
    assert_eq!(names(&here("corpus")), targets);
    assert_eq!(names(&here("libfuzzer/fuzz_targets")), targets);
    for name in targets {
        assert!(!corpus(&name).is_empty(), "the corpus of {name} is empty");
    }
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    for (name, target) in TARGETS {
        for (number, input) in corpus(name).into_iter().enumerate() {
            feed(name, target, &input, &format!("file {number}"));
        }
    }
}

#[test]
fn every_changed_file_of_the_corpus_is_read_or_refused() {
    for (seed, (name, target)) in (1..).zip(TARGETS) {
        println!("target {name}: seed {seed}");
        let mut random = Random(seed);
        let corpus = corpus(name);
        for number in 0..CHANGED_INPUTS {
            let mut input = corpus[number % corpus.len()].clone();
            for _ in 0..=random.below(3) {
                let other = &corpus[random.below(corpus.len())];
                change(&mut input, other, &mut random);
            }
            feed(name, target, &input, &format!("seed {seed}, input {number}"));
        }
    }
}
