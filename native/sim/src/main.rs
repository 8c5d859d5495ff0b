//! `parsley-sim --seeds 0..1000000` runs worlds by the million; `parsley-sim --seed 7` tells the story of one.

use std::process::ExitCode;

use parsley_sim::runner::{Simulator, main as run};

fn main() -> ExitCode {
    run(Simulator {
        command: "parsley-sim",
        target: "sim",
        run: |seed| parsley_sim::run(seed).violation.map(|found| found.to_string()),
        tell: |seed| {
            let outcome = parsley_sim::tell(seed);
            (outcome.lines, outcome.violation.map(|found| found.to_string()))
        },
    })
}
