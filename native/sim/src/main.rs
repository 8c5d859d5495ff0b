//! `parsley-sim --seeds 0..1000000` runs worlds by the million; `parsley-sim --seed 7` tells the story of one.

use std::io::{IsTerminal, Write};
use std::num::NonZero;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parsley_sim::Violation;

const USAGE: &str = "usage: parsley-sim --seeds FROM..TO | --seed N
  --seeds FROM..TO   run these worlds, TO not included, on every core; the last line is RESULT seeds=<n> violations=<n>
  --seed N           run one world and tell its story
exit status: 0 nothing was found, 1 the judge found something, 2 wrong arguments";

/// Violations that are shown; all are counted.
const SHOWN_MAX: usize = 10;
/// Seeds that a thread takes at once.
const SEEDS_AT_ONCE: u64 = 64;
const BAR_CELLS: u64 = 30;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => tell(seed),
            Err(_) => misused(&format!("{seed} is no seed: write a number from 0 to 2^64-1")),
        },
        ["--seeds", seeds] => match parse(seeds) {
            Some(seeds) => run(seeds),
            None => misused(&format!("{seeds} is no range of seeds: write FROM..TO, for example 0..1000")),
        },
        _ => misused("nothing to do"),
    }
}

fn misused(what: &str) -> ExitCode {
    eprintln!("parsley-sim: {what}\n{USAGE}");
    ExitCode::from(2)
}

fn parse(seeds: &str) -> Option<Range<u64>> {
    let (from, to) = seeds.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to).then_some(from..to)
}

fn tell(seed: u64) -> ExitCode {
    let outcome = parsley_sim::tell(seed);
    let mut out = std::io::stdout().lock();
    // A reader that has seen enough closes the pipe; there is nobody left to tell.
    let _ = outcome.lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    match outcome.violation {
        None => {
            let _ = writeln!(out, "seed {seed}: nothing found");
            ExitCode::SUCCESS
        }
        Some(Violation { rule, what }) => {
            let _ = writeln!(out, "seed {seed}: {rule:?} is broken: {what}");
            ExitCode::FAILURE
        }
    }
}

/// What the threads share.
struct Work {
    seeds: Range<u64>,
    next: AtomicU64,
    done: AtomicU64,
    found: Mutex<Vec<(u64, Violation)>>,
}

fn run(seeds: Range<u64>) -> ExitCode {
    // A panic is a finding like others, told with its seed.
    std::panic::set_hook(Box::new(|_| ()));
    let work = Work {
        next: AtomicU64::new(seeds.start),
        done: AtomicU64::new(0),
        found: Mutex::new(Vec::new()),
        seeds,
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| worker(&work))).collect();
        let on_terminal = std::io::stderr().is_terminal();
        let pause = if on_terminal { Duration::from_millis(200) } else { Duration::from_secs(10) };
        let mut shown = Instant::now();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::park_timeout(Duration::from_millis(20));
            if shown.elapsed() >= pause {
                shown = Instant::now();
                show_progress(&work, started, on_terminal);
            }
        }
        if on_terminal {
            show_progress(&work, started, true);
            eprintln!();
        }
    });
    let total = work.seeds.end - work.seeds.start;
    let mut found = work.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by_key(|(seed, _)| *seed);
    for (seed, Violation { rule, what }) in found.iter().take(SHOWN_MAX) {
        println!("seed {seed}: {rule:?} is broken: {what}");
        println!("  replay it: make sim SEED={seed}");
    }
    println!("RESULT seeds={total} violations={}", found.len());
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn worker(work: &Work) {
    loop {
        let from = work.next.fetch_add(SEEDS_AT_ONCE, Ordering::Relaxed);
        if from >= work.seeds.end {
            return;
        }
        for seed in from..work.seeds.end.min(from + SEEDS_AT_ONCE) {
            if let Some(violation) = parsley_sim::run(seed).violation {
                // Told at once: nobody has to wait for the end of a long run to look at it.
                eprintln!("\nseed {seed}: {:?} is broken: {}", violation.rule, violation.what);
                let mut found = work.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                found.push((seed, violation));
            }
            work.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn show_progress(work: &Work, started: Instant, on_terminal: bool) {
    let done = work.done.load(Ordering::Relaxed);
    let total = work.seeds.end - work.seeds.start;
    let found = work.found.lock().map_or(0, |found| found.len());
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = done * 1000 / milliseconds;
    let cells = done * BAR_CELLS / total;
    let bar: String = (0..BAR_CELLS).map(|cell| if cell < cells { '#' } else { '.' }).collect();
    let left = (total - done).checked_div(rate).unwrap_or(0);
    let (begin, end) = if on_terminal { ("\r", "") } else { ("", "\n") };
    eprint!(
        "{begin}[{bar}] {done}/{total} seeds, {rate}/s, {} min {:02} s left, {found} violations {end}",
        left / 60,
        left % 60
    );
}
