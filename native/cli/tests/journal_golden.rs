//! Every scenario in `journal/` gives exactly what its `.expected` says, one file for each rule of the drain.
//!
//! The expectations were derived from the rules of `docs/drain.md` by hand. A scenario is replayed with `--commits` unless
//! its expectation begins with `# without --commits`. `"message":"*"` stands for any text; an expectation that begins with `# exit 2
//! line N` is of a file that is no scenario.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Whether an answer is the expected one, free texts aside.
fn fits(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => {
            answer.len() == expected.len()
                && expected.iter().all(|(name, value)| match answer.get(name) {
                    Some(text) if matches!(name.as_str(), "message" | "why") && value == "*" => {
                        text.is_string()
                    }
                    Some(answer) => fits(answer, value),
                    None => false,
                })
        }
        (Value::Array(answer), Value::Array(expected)) => {
            answer.len() == expected.len() && answer.iter().zip(expected).all(|(a, e)| fits(a, e))
        }
        _ => answer == expected,
    }
}

fn difference(scenario: &Path) -> Option<String> {
    let path = scenario.to_str().expect("the path is UTF-8");
    let expected =
        fs::read_to_string(scenario.with_extension("expected")).expect("expectations are beside it");
    let (expected, run) = match expected.strip_prefix("# without --commits\n") {
        Some(expected) => (expected, common::run(&["journal", "replay", path])),
        None => (&*expected, common::run(&["journal", "replay", "--commits", path])),
    };
    if let Some(line) = expected.strip_prefix("# exit 2 line ") {
        let place = format!("line {}:", line.trim());
        return (run.status != 2 || !run.words.contains(&place))
            .then(|| format!("exit status {} and not 2 at {place} {}", run.status, run.words));
    }
    if run.status != 0 {
        return Some(format!("exit status {}: {}", run.status, run.words));
    }
    let expected: Vec<Value> =
        expected.lines().map(|line| serde_json::from_str(line).expect("expectations are JSON")).collect();
    let longer = run.answers.len().max(expected.len());
    let at = (0..longer).find(|at| match (run.answers.get(*at), expected.get(*at)) {
        (Some(answer), Some(expected)) => !fits(answer, expected),
        _ => true,
    })?;
    let show = |answer: Option<&Value>| answer.map_or_else(|| "nothing".to_owned(), Value::to_string);
    Some(format!(
        "answer {} is\n  {}\nand should be\n  {}",
        at + 1,
        show(run.answers.get(at)),
        show(expected.get(at))
    ))
}

#[test]
fn every_journal_scenario_gives_what_the_rules_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journal");
    let mut scenarios: Vec<_> = fs::read_dir(folder)
        .expect("the folder is part of the checkout")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    scenarios.sort();
    assert!(scenarios.len() > 300, "{} scenarios", scenarios.len());
    let failures: Vec<String> = scenarios
        .iter()
        .filter_map(|scenario| difference(scenario).map(|what| format!("{}: {what}", scenario.display())))
        .collect();
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), scenarios.len(), failures.join("\n"));
}
