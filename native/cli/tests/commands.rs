//! Arguments, help, and standard output as a pipe.

mod common;

use std::process::Stdio;

use common::{file, parsley};

fn output(arguments: &[&str]) -> (i32, String, String) {
    let output = parsley().args(arguments).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (output.status.code().expect("it was not killed"), text(output.stdout), text(output.stderr))
}

#[test]
fn help_names_every_command() {
    for arguments in [&["--help"][..], &["-h"], &["help"], &["replay", "--help"], &["decode", "--help"]] {
        let (status, out, err) = output(arguments);
        assert_eq!((status, err.as_str()), (0, ""), "{arguments:?}");
        for command in
            ["\n  parsley replay FILE.jsonl", "parsley decode causes HEX", "decode held KEYHEX VALUEHEX"]
        {
            assert!(out.contains(command), "{out}");
        }
    }
}

#[test]
fn version_is_that_of_the_package() {
    for argument in ["--version", "-V"] {
        let (status, out, _) = output(&[argument]);
        assert_eq!((status, out), (0, format!("parsley {}\n", env!("CARGO_PKG_VERSION"))));
    }
}

#[test]
fn wrong_arguments_are_told_and_nothing_is_answered() {
    for arguments in [
        &[][..],
        &["replay"],
        &["replay", "a", "b"],
        &["decode"],
        &["decode", "causes"],
        &["decode", "held", "68"],
        &["decode", "rows", "00"],
        &["listen"],
        &["--verbose"],
    ] {
        let (status, out, err) = output(arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains("--help"), "{arguments:?}: {err}");
    }
}

#[test]
fn a_word_that_is_no_command_is_named_with_the_commands_and_the_nearest_one() {
    for (arguments, what) in [
        (&["frob"][..], "\"frob\" is no command of parsley\n"),
        (&["relpay", "a"], "\"relpay\" is no command of parsley, did you mean \"replay\"?"),
        (&["decode", "cause", "00"], "parsley decodes, did you mean \"causes\"?"),
        (&["decode", "rows", "00"], "\"rows\" is nothing that parsley decodes\n"),
        (&["replay"], "these are not the arguments of parsley replay\n"),
    ] {
        let (status, _, err) = output(arguments);
        assert_eq!(status, 2, "{arguments:?}");
        assert!(err.contains(what), "{arguments:?}: {err}");
        assert!(err.contains("parsley replay FILE.jsonl") && err.contains("decode causes HEX"), "{err}");
    }
}

#[test]
fn a_refusal_in_a_replay_is_explained_beside_the_answers() {
    let channel = "11111111111111111111111111111111:0";
    let feed = format!(r#"{{"op":"feed","channel":"{channel}","offset":4,"timestamp":0}}"#);
    let open = format!(r#"{{"op":"open","received":{{"orders":"{channel}"}}}}"#);
    let scenario = file(format!("{open}\n{feed}\n{feed}\n").as_bytes());
    let (status, out, err) = output(&["replay", scenario.path().to_str().unwrap()]);
    assert_eq!((status, out.lines().count()), (0, 2));
    assert!(err.contains("line 3: OUT_OF_ORDER_FEED") && err.contains(channel), "{err}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    // More answers than any pipe takes in, so that the writer meets the closed end.
    let stamps = r#"{"op":"stamp"}"#.to_owned() + "\n";
    let scenario =
        file((r#"{"op":"open","received":{}}"#.to_owned() + "\n" + &stamps.repeat(100_000)).as_bytes());
    let mut child = parsley()
        .arg("replay")
        .arg(scenario.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn answers_that_cannot_be_written_are_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return }; // Only some systems have a device that is always full.
    let output = parsley().arg("--help").stdout(full).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("can't be written"));
}
