//! A simulated world around the mutation journal's engine, and a judge that shares no code with it.
//!
//! One seed is one run: the keys, what is asked for, what fails, which of the calls that are out is answered next, where
//! the process dies and what the disk then keeps all come from one generator, and nothing else is asked. [`run`] gives
//! what the judge found; [`tell`] gives the story of the same run in lines for people. [`stage::Stage`] has the parts
//! without the chance, for tests that choose for themselves. See docs/verification.md for what is proved and what is not.

pub mod app;
pub mod disk;
mod judge;
pub mod server;
pub mod stage;
mod world;

use parsley_sim::runner::guarded;

pub use judge::{Judge, Rule, Violation};
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
    let violation = match guarded(|| world.run()) {
        Ok(judged) => judged.err(),
        Err(what) => Some(Violation { rule: Rule::NoFailure, what }),
    };
    let (lines, digest) = world.stage.trace.end();
    Outcome { violation, digest, lines }
}
