//! `parsley-journal-sim --seeds 0..100000` runs worlds by the thousand; `parsley-journal-sim --seed 7` tells the story of
//! one.

use std::process::ExitCode;

use parsley_sim::runner::{Simulator, main as run};

fn main() -> ExitCode {
    run(Simulator {
        command: "parsley-journal-sim",
        target: "journal-sim",
        run: |seed| parsley_journal_sim::run(seed).violation.map(|found| found.to_string()),
        tell: |seed| {
            let outcome = parsley_journal_sim::tell(seed);
            (outcome.lines, outcome.violation.map(|found| found.to_string()))
        },
    })
}
