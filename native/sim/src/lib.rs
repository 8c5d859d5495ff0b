//! A simulated world over the production engine and store, and a judge that shares no code with them.
//!
//! One seed is one run: topics, producers, processes and their operators, and everything that goes wrong for them,
//! come from one generator, and nothing else is asked. [`run`] gives what the judge found; [`tell`] gives the story of
//! the same run in lines for people. See docs/verification.md for what is proved and what is not.

mod changelog;
mod judge;
mod log;
mod process;
mod random;
pub mod runner;
mod set;
mod trace;
mod wire;
mod world;

pub use judge::{Rule, Violation};
pub use random::Random;
pub use trace::Trace;
use world::World;

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first thing that the judge found; it ended the run.
    pub violation: Option<Violation>,
    /// A digest of every event of the run.
    pub digest: u64,
    /// The story, if it was asked for.
    pub lines: Vec<String>,
}

/// Runs one seed.
pub fn run(seed: u64) -> Outcome {
    go(seed, false)
}

/// Runs one seed and keeps its story.
pub fn tell(seed: u64) -> Outcome {
    go(seed, true)
}

fn go(seed: u64, with_lines: bool) -> Outcome {
    let mut world = World::new(seed, with_lines);
    let violation = match runner::guarded(|| world.run()) {
        Ok(judged) => judged.err(),
        Err(panic) => Some(Violation { rule: Rule::NoFailure, what: panic }),
    };
    let (lines, digest) = world.trace.end();
    Outcome { violation, digest, lines }
}
