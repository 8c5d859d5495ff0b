//! A run is cut at each of its durable steps, and at each step between them. What the next opening finds has to be what
//! the changelog amounts to at the stored offset, and the life after it has to end as one that was never cut.

use std::collections::BTreeMap;
use std::rc::Rc;

use parsley_store::{Backend, MemoryBackend, MemoryDisk, OrderingStore};

use crate::faulty::{Cut, Death, Faulty, Point};
use crate::lives::{Kafka, Script, Start, amount_to};
use crate::support::{offset, rows};

pub const STARTS: [Start; 5] =
    [Start::Fresh, Start::VersionOne, Start::VersionOneElsewhere, Start::WithoutOffset, Start::FarBehind];

/// A run in memory up to a cut.
struct Run {
    disk: MemoryDisk,
    kafka: Kafka,
    cut: Rc<Cut>,
}

impl Run {
    fn prepared(script: &Script, cut: Rc<Cut>) -> Self {
        let mut run = Self { disk: MemoryDisk::new(), kafka: Kafka::default(), cut };
        script.prepare(MemoryBackend::open(&run.disk).unwrap(), &mut run.kafka);
        run
    }

    /// Lives until the end or the cut, whose point it gives.
    fn live(&mut self, script: &Script) -> Option<Point> {
        let disk = &self.disk;
        let ended = script.live(&|| MemoryBackend::open(disk), &mut self.kafka, &self.cut);
        assert_eq!(ended.is_err(), self.cut.is_dead(), "{ended:?}");
        if ended.is_err() { self.cut.passed().last().copied() } else { None }
    }
}

/// Points of a whole run, and Kafka's side of it.
pub fn uncut(script: &Script) -> (Vec<Point>, Kafka) {
    let mut run = Run::prepared(script, Cut::never());
    assert_eq!(run.live(script), None);
    (run.cut.passed(), run.kafka)
}

/// Kafka's side of a run that is cut.
pub fn cut_at(script: &Script, at: usize) -> Kafka {
    let mut run = Run::prepared(script, Cut::at(at, Death::Fails));
    assert!(run.live(script).is_some());
    run.kafka
}

/// What an opening has to show: the rows of the offset beside them, of an offset that may be there.
fn judged<B: Backend>(store: &OrderingStore<B>, kafka: &Kafka) -> Result<(), String> {
    let found = offset(store);
    // An opening forgets an offset only where rows have none, so none may always be found.
    if found.is_some() && !kafka.may_show.contains(&found) {
        return Err(format!("the offset is {found:?}, which is none of {:?}", kafka.may_show));
    }
    let reached = usize::try_from(found.unwrap_or(0)).unwrap();
    if rows(store) != amount_to(&kafka.changelog[..reached]) {
        return Err(format!("the rows are not those of offset {found:?}"));
    }
    Ok(())
}

pub fn judge<B: Backend>(store: &OrderingStore<B>, kafka: &Kafka) {
    assert_eq!(judged(store, kafka), Ok(()));
}

fn opened(disk: &MemoryDisk) -> OrderingStore<MemoryBackend> {
    OrderingStore::open(MemoryBackend::open(disk).unwrap()).unwrap()
}

/// Judges what a crash has left, then lives on to the end.
fn judge_the_rest(script: &Script, run: &mut Run, expected: &Kafka) {
    judge(&opened(&run.disk), &run.kafka);
    run.cut = Cut::never();
    assert_eq!(run.live(script), None);
    assert!(run.kafka.delivered == expected.delivered, "the deliveries are others than without a crash");
    assert_eq!(run.kafka.delivered.len(), expected.delivered.len());
    let store = opened(&run.disk);
    judge(&store, &run.kafka);
    assert!(rows(&store) == amount_to(&expected.changelog), "the rows are others than without a crash");
}

/// Cuts the run of a script at each point, each time with every number of surviving batches (for a large store, none and
/// all of them). Counts the crashes by point.
fn cut_everywhere(script: &Script, death: Death, crashes: &mut BTreeMap<Point, usize>) {
    let (points, expected) = uncut(script);
    for (at, point) in points.iter().enumerate() {
        let mut kept = 0;
        loop {
            let mut run = Run::prepared(script, Cut::at(at, death));
            assert_eq!(run.live(script), Some(*point));
            let unflushed = run.disk.crash(kept);
            judge_the_rest(script, &mut run, &expected);
            *crashes.entry(*point).or_default() += 1;
            if kept >= unflushed {
                break;
            }
            kept = if script.start == Start::FarBehind { unflushed } else { kept + 1 };
        }
    }
}

#[test]
fn a_cut_at_any_point_leaves_what_the_changelog_amounts_to() {
    let mut crashes = BTreeMap::new();
    for start in STARTS {
        let seeds = if start == Start::FarBehind { 1..=1 } else { 1..=12 };
        for seed in seeds {
            for transactional in [true, false] {
                println!("seed {seed}, {start:?}, transactional {transactional}");
                cut_everywhere(&Script::seeded(seed, transactional, start), Death::Fails, &mut crashes);
            }
        }
    }
    println!("crashes: {crashes:?}");
    assert_eq!(crashes.len(), 9, "not every kind of point was reached: {crashes:?}");
}

#[test]
fn a_cut_of_the_start_after_a_cut_leaves_what_the_changelog_amounts_to() {
    let mut crashes = 0;
    for start in STARTS.into_iter().filter(|start| *start != Start::FarBehind) {
        for (seed, transactional) in [(1, true), (2, false)] {
            println!("seed {seed}, {start:?}, transactional {transactional}");
            let script = Script::seeded(seed, transactional, start);
            let (points, expected) = uncut(&script);
            for (first, kept) in (0..points.len()).flat_map(|at| [(at, 0), (at, usize::MAX)]) {
                for second in 0.. {
                    let mut run = Run::prepared(&script, Cut::at(first, Death::Fails));
                    run.live(&script);
                    run.disk.crash(kept);
                    run.cut = Cut::at(second, Death::Fails);
                    if run.live(&script).is_none() {
                        break;
                    }
                    // The other extreme than after the first crash.
                    run.disk.crash(usize::MAX - kept);
                    judge_the_rest(&script, &mut run, &expected);
                    crashes += 1;
                }
            }
        }
    }
    println!("crashes: {crashes}");
    assert!(crashes > 1000, "only {crashes} second crashes");
}

#[test]
fn an_opening_that_is_cut_frees_the_disk() {
    let script = Script::seeded(1, true, Start::WithoutOffset);
    for at in 0..2 {
        let run = Run::prepared(&script, Cut::at(at, Death::Fails));
        let backend = Faulty::over(MemoryBackend::open(&run.disk).unwrap(), &run.cut);
        assert!(OrderingStore::open(backend).is_err());
        assert_eq!(rows(&opened(&run.disk)), []);
    }
}

/// The judge of the tests above, judged: a backend that writes a batch in part has to be noticed.
#[test]
fn a_batch_written_in_part_would_be_noticed() {
    let mut noticed = 0;
    let mut writes = 0;
    for transactional in [true, false] {
        let script = Script::seeded(1, transactional, Start::Fresh);
        let (points, _) = uncut(&script);
        for at in (0..points.len()).filter(|at| points[*at] == Point::BeforeWrite) {
            let mut run = Run::prepared(&script, Cut::at(at, Death::TearsItsBatch));
            run.live(&script);
            writes += 1;
            noticed += u32::from(judged(&opened(&run.disk), &run.kafka).is_err());
        }
    }
    // A batch that forgets the offset, or stores one without rows, shows nothing of its tear.
    assert!(noticed > 5, "{noticed} of {writes} torn batches were noticed");
}
