//! The same lives on `RocksDB`: a child process lives up to the cut and aborts there. And deaths within a durable step,
//! which no count of steps reaches: the process is ended by the write that would make a file longer than it may be.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, Command};

use parsley_store::{OrderingStore, RocksBackend, Settings};

use crate::crash_points::{STARTS, cut_at, judge, uncut};
use crate::faulty::{Cut, Death};
use crate::lives::{Kafka, Script, Start, amount_to};
use crate::support::{child_of_test, offset, rows, scratch};

const DIRECTORY: &str = "PARSLEY_LIFE_DIRECTORY";
/// Which script, and the number of the point at which it ends.
const SCRIPT: &str = "PARSLEY_LIFE_SCRIPT";
const AT: &str = "PARSLEY_LIFE_AT";
const SIGABRT: i32 = 6;
const SIGXFSZ: i32 = 25;

fn open_rocks(directory: &Path) -> Result<RocksBackend, parsley_store::StoreError> {
    RocksBackend::open(directory, Settings::default())
}

/// The script of a number: each start with transactional stores on and off.
fn script(number: usize) -> Script {
    Script::seeded(3, number.is_multiple_of(2), STARTS[number / 2])
}

/// Not a rule by itself: the process that the other tests end.
#[test]
fn child_that_lives_to_its_cut_when_asked_to() {
    let (Ok(directory), Ok(number), Ok(at)) = (env::var(DIRECTORY), env::var(SCRIPT), env::var(AT)) else {
        return;
    };
    let (directory, script) = (Path::new(&directory), script(number.parse().unwrap()));
    let cut = Cut::at(at.parse().unwrap(), Death::Aborts);
    let mut kafka = Kafka::default();
    script.prepare(open_rocks(directory).unwrap(), &mut kafka);
    script.live(&|| open_rocks(directory), &mut kafka, &cut).unwrap();
    process::exit(0);
}

fn child(directory: &Path, number: usize, at: usize) -> Command {
    let mut child = child_of_test("crash_points_on_disk::child_that_lives_to_its_cut_when_asked_to");
    child.env(DIRECTORY, directory).env(SCRIPT, number.to_string()).env(AT, at.to_string());
    child
}

#[test]
fn a_process_that_dies_at_any_point_leaves_what_the_changelog_amounts_to() {
    let (mut deaths, mut prefixes) = (0, 0);
    for number in 0..2 * STARTS.len() {
        let script = script(number);
        let (points, expected) = uncut(&script);
        // The double dies at each point; half of them, and fewer of a large store, show that the disk is as it says.
        let step = if script.start == Start::FarBehind { 5 } else { 2 };
        for at in (0..points.len()).step_by(step) {
            let directory = scratch();
            let died = child(directory.path(), number, at).output().unwrap();
            assert_eq!(died.status.signal(), Some(SIGABRT), "script {number}, point {at}: {died:?}");
            let mut kafka = cut_at(&script, at);
            let store = OrderingStore::open(open_rocks(directory.path()).unwrap()).unwrap();
            judge(&store, &kafka);
            prefixes += usize::from(offset(&store).is_some());
            store.close().unwrap();
            deaths += 1;
            // The life after it costs more than the death, and the double has lived it from each point.
            if at % 8 == 0 {
                script.live(&|| open_rocks(directory.path()), &mut kafka, &Cut::never()).unwrap();
                assert!(kafka.delivered == expected.delivered, "script {number}, point {at}");
            }
        }
    }
    println!("{deaths} deaths, of which {prefixes} left an offset");
    assert!(prefixes > 5, "only {prefixes} of {deaths} deaths left an offset");
}

#[test]
fn a_process_that_dies_in_the_middle_of_a_write_leaves_what_the_changelog_amounts_to() {
    const NEVER: usize = usize::MAX;
    let (mut deaths, mut prefixes) = (0, 0);
    for number in 0..2 * STARTS.len() {
        let (_, expected) = uncut(&script(number));
        // In KiB: what a table, a manifest or a log of this size goes through, and the tables of a large store.
        for file_kib_max in [1, 2, 3, 4, 6, 8, 16, 1000, 5000] {
            let directory = scratch();
            let child = child(directory.path(), number, NEVER);
            let limited = format!("ulimit -c 0; ulimit -f {file_kib_max}; exec \"$0\" \"$@\"");
            let mut shell = Command::new("bash");
            shell.args(["-c", &limited]).arg(child.get_program()).args(child.get_args());
            shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let ended = shell.output().unwrap();
            if ended.status.success() {
                break;
            }
            assert_eq!(
                ended.status.signal(),
                Some(SIGXFSZ),
                "script {number}, {file_kib_max} KiB: {ended:?}"
            );
            let store = OrderingStore::open(open_rocks(directory.path()).unwrap()).unwrap();
            let reached = usize::try_from(offset(&store).unwrap_or(0)).unwrap();
            assert!(
                rows(&store) == amount_to(&expected.changelog[..reached]),
                "script {number}, {file_kib_max} KiB: the rows are not those of offset {reached}"
            );
            deaths += 1;
            prefixes += usize::from(reached > 0);
        }
    }
    println!("{deaths} deaths, of which {prefixes} left an offset");
    assert!(deaths > 10, "only {deaths} writes were cut short");
}
