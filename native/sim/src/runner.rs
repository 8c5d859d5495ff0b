//! Runs the worlds of a simulator by the million, on every core, or tells the story of one: what its command does.

use std::io::{IsTerminal, Write};
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A simulator.
#[derive(Clone, Copy, Debug)]
pub struct Simulator {
    /// The name of the command.
    pub command: &'static str,
    /// The target of `make` that runs it.
    pub target: &'static str,
    /// Runs one seed and gives what was found, in words.
    pub run: fn(u64) -> Option<String>,
    /// Runs one seed and gives its story, and what was found.
    pub tell: fn(u64) -> (Vec<String>, Option<String>),
}

/// Violations that are shown; all are counted.
const SHOWN_MAX: usize = 10;
/// Seeds that a thread takes at once.
const SEEDS_AT_ONCE: u64 = 64;
const BAR_CELLS: u64 = 30;

/// Does what the arguments of the command ask for.
pub fn main(simulator: Simulator) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => tell(simulator, seed),
            Err(_) => misused(simulator, &format!("{seed} is no seed: write a number from 0 to 2^64-1")),
        },
        ["--seeds", seeds] => match parse(seeds) {
            Some(seeds) => run(simulator, seeds),
            None => misused(
                simulator,
                &format!("{seeds} is no range of seeds: write FROM..TO, for example 0..1000"),
            ),
        },
        _ => misused(simulator, "nothing to do"),
    }
}

/// Runs `world`; a panic in it comes back as words.
pub fn guarded<T>(world: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(world)).map_err(|panic| format!("panic: {}", words(&*panic)))
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".to_owned())
}

fn misused(Simulator { command, .. }: Simulator, what: &str) -> ExitCode {
    eprintln!(
        "{command}: {what}
usage: {command} --seeds FROM..TO | --seed N
  --seeds FROM..TO   run these worlds, TO not included, on every core; the last line is RESULT seeds=<n> violations=<n>
  --seed N           run one world and tell its story
exit status: 0 nothing was found, 1 the judge found something, 2 wrong arguments"
    );
    ExitCode::from(2)
}

fn parse(seeds: &str) -> Option<Range<u64>> {
    let (from, to) = seeds.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to).then_some(from..to)
}

fn tell(simulator: Simulator, seed: u64) -> ExitCode {
    let (lines, found) = (simulator.tell)(seed);
    let mut out = std::io::stdout().lock();
    // A reader that has seen enough closes the pipe; there is nobody left to tell.
    let _ = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    match found {
        None => {
            let _ = writeln!(out, "seed {seed}: nothing found");
            ExitCode::SUCCESS
        }
        Some(what) => {
            let _ = writeln!(out, "seed {seed}: {what}");
            ExitCode::FAILURE
        }
    }
}

/// What the threads share.
struct Work {
    simulator: Simulator,
    seeds: Range<u64>,
    next: AtomicU64,
    done: AtomicU64,
    found: Mutex<Vec<(u64, String)>>,
}

fn run(simulator: Simulator, seeds: Range<u64>) -> ExitCode {
    // A panic is a finding like others, told with its seed.
    std::panic::set_hook(Box::new(|_| ()));
    let work = Work {
        simulator,
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
    for (seed, what) in found.iter().take(SHOWN_MAX) {
        println!("seed {seed}: {what}");
        println!("  replay it: make {} SEED={seed}", simulator.target);
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
            if let Some(what) = (work.simulator.run)(seed) {
                // Told at once: nobody has to wait for the end of a long run to look at it.
                eprintln!("\nseed {seed}: {what}");
                let mut found = work.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                found.push((seed, what));
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
