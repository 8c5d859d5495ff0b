//! Every scenario in `scenarios/` gives exactly what its `.expected.jsonl` says.
//!
//! There is one folder for each part of the rules and one file for each rule; the `note` of a scenario's first line
//! says which. The expectations follow from the rules of `docs/ordering.md`, not from what the binary printed once, so
//! a difference is a question to the rules first. No scenario ends in `COVERED_POSITION_FED`: within one execution
//! fedUpTo rises only by what is fed, or to the deleted marker, so that a scenario can't get there.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const EXPECTED: &str = ".expected.jsonl";

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is part of the checkout") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

/// What is wrong with a scenario's answers, if anything is.
fn difference(scenario: &Path, expected: &Path) -> Option<String> {
    let expected = fs::read_to_string(expected).expect("every scenario has an .expected.jsonl beside it");
    let expected: Vec<Value> =
        expected.lines().map(|line| serde_json::from_str(line).expect("expectations are JSON")).collect();
    let run = common::replay(scenario);
    if run.status != 0 {
        return Some(format!("exit status {}: {}", run.status, run.words));
    }
    let longer = run.answers.len().max(expected.len());
    let at = (0..longer).find(|index| run.answers.get(*index) != expected.get(*index))?;
    let show = |answer: Option<&Value>| answer.map_or_else(|| "nothing".to_owned(), Value::to_string);
    Some(format!(
        "answer {} is\n  {}\nand should be\n  {}",
        at + 1,
        show(run.answers.get(at)),
        show(expected.get(at))
    ))
}

#[test]
fn every_scenario_gives_what_the_rules_say() {
    let mut files = Vec::new();
    files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios"), &mut files);
    let (expectations, scenarios): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|path| path.to_string_lossy().ends_with(EXPECTED));
    assert!(!scenarios.is_empty());
    assert_eq!(scenarios.len(), expectations.len(), "scenarios and expectations come in pairs");

    let failures: Vec<String> = scenarios
        .iter()
        .filter_map(|scenario| {
            let expected = scenario.to_string_lossy().replace(".jsonl", EXPECTED);
            difference(scenario, Path::new(&expected)).map(|what| format!("{}: {what}", scenario.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), scenarios.len(), failures.join("\n"));
}
