//! What is no scenario ends with exit status 2, and with the line's number and what is wrong on standard error.

mod common;

use common::{file, replay, replay_lines, run};

const OPEN: &str = r#"{"op":"open","received":{"orders":"11111111111111111111111111111111:0"}}"#;
const FEED: &str = r#"{"op":"feed","channel":"11111111111111111111111111111111:0","offset":0,"timestamp":0}"#;
const STAMP: &str = r#"{"op":"stamp"}"#;
const ROWS: &str = r#"{"op":"rows","rows":[]}"#;
const NOTHING_HAPPENED: &str = r#"{"op":"identities","dead":[],"recreated":[]}"#;

/// The last line is refused, with these words among others, after whatever the others answered.
fn refused(lines: &[&str], what: &str) {
    let run = replay_lines(lines);
    let place = format!("line {}: ", lines.len());
    assert_eq!(run.status, 2, "{lines:?}");
    assert!(run.words.contains(&place), "{lines:?} should be refused at {place:?}: {}", run.words);
    assert!(run.words.contains(what), "{lines:?} should be refused for {what:?}: {}", run.words);
}

/// The line is refused as the first one and, where it needs one, on an open execution and after a refusal.
fn malformed(line: &str, what: &str) {
    refused(&[line], what);
    refused(&[OPEN, line], what);
    refused(&[OPEN, FEED, FEED, line], what);
}

/// A feed with this instead of one of its fields.
fn feed_with(field: &str) -> String {
    let channel = r#""channel":"11111111111111111111111111111111:0""#;
    let name = field.split(':').next().expect("there is a first part");
    let fields = [r#""op":"feed""#, channel, r#""offset":0"#, r#""timestamp":0"#];
    let kept = fields.iter().filter(|kept| !kept.starts_with(&format!("{name}:")));
    let fields: Vec<&str> = kept.copied().chain((!field.ends_with(':')).then_some(field)).collect();
    format!("{{{}}}", fields.join(","))
}

#[test]
fn the_lines_that_the_other_tests_break_are_a_scenario() {
    let run = replay_lines(&[ROWS, OPEN, NOTHING_HAPPENED, &feed_with("\"key\":\"00\""), STAMP]);
    assert_eq!((run.status, run.answers.len()), (0, 2), "{}", run.words);
}

#[test]
fn a_line_is_one_json_object() {
    for line in
        ["", "  ", "{", "{}{}", "{\"op\":\"stamp\",}", "{'op':'stamp'}", "op", "\u{feff}{\"op\":\"stamp\"}"]
    {
        malformed(line, "not JSON");
    }
    for line in ["[]", "1", "null", "\"stamp\"", "[{\"op\":\"stamp\"}]"] {
        malformed(line, "not a JSON object");
    }
}

#[test]
fn a_line_is_utf_8() {
    let scenario = file(b"{\"op\":\"open\",\"received\":{}}\n{\"op\":\"stamp\",\"note\":\"\xff\"}\n");
    let run = replay(scenario.path());
    assert_eq!(run.status, 2);
    assert!(run.words.contains("line 2: not JSON"), "{}", run.words);
}

#[test]
fn the_op_is_known() {
    malformed("{}", "\"op\" is missing");
    malformed(r#"{"op":1}"#, "\"op\" takes a string");
    malformed(r#"{"op":null}"#, "\"op\" takes a string");
    for op in ["", "Stamp", "feeds", "close"] {
        malformed(&format!("{{\"op\":\"{op}\"}}"), "unknown op");
    }
}

#[test]
fn every_field_that_is_not_optional_is_there() {
    for (line, field) in [
        (r#"{"op":"rows"}"#.to_owned(), "rows"),
        (r#"{"op":"open"}"#.to_owned(), "received"),
        (r#"{"op":"identities","dead":[]}"#.to_owned(), "dead"),
        (r#"{"op":"identities","recreated":[]}"#.to_owned(), "recreated"),
        (feed_with("\"channel\":"), "channel"),
        (feed_with("\"offset\":"), "offset"),
        (feed_with("\"timestamp\":"), "timestamp"),
    ] {
        let missing = if field == "dead" {
            "recreated"
        } else if field == "recreated" {
            "dead"
        } else {
            field
        };
        malformed(&line, &format!("{missing:?} is missing"));
    }
}

#[test]
fn an_offset_is_a_position() {
    for offset in ["-1", "9223372036854775807", "18446744073709551616", "1.0", "1e3", "\"1\"", "null", "true"]
    {
        malformed(&feed_with(&format!("\"offset\":{offset}")), "\"offset\" takes an integer");
    }
}

#[test]
fn a_timestamp_is_an_integer_of_64_bits() {
    for timestamp in ["9223372036854775808", "0.5", "\"0\"", "null"] {
        malformed(&feed_with(&format!("\"timestamp\":{timestamp}")), "\"timestamp\" takes an integer");
    }
}

#[test]
fn bytes_are_even_lower_case_hex() {
    for bytes in ["\"0\"", "\"0F\"", "\"0x\"", "\"zz\"", "0", "[]", "true"] {
        malformed(&feed_with(&format!("\"key\":{bytes}")), "\"key\" takes bytes");
        malformed(&feed_with(&format!("\"value\":{bytes}")), "\"value\" takes bytes");
        malformed(&feed_with(&format!("\"headers\":[[\"a\",{bytes}]]")), "\"headers\" takes bytes");
        malformed(&format!("{{\"op\":\"rows\",\"rows\":[[\"76\",{bytes}]]}}"), "\"rows\" takes bytes");
        malformed(&format!("{{\"op\":\"rows\",\"rows\":[[{bytes},\"02\"]]}}"), "\"rows\" takes bytes");
    }
    malformed(r#"{"op":"rows","rows":[["76",null]]}"#, "\"rows\" takes bytes");
}

#[test]
fn headers_are_pairs_of_name_and_bytes_or_null() {
    for headers in
        ["null", "{}", "\"\"", "[null]", "[[]]", "[[\"a\"]]", "[[\"a\",\"00\",\"00\"]]", "[[1,\"00\"]]"]
    {
        malformed(&feed_with(&format!("\"headers\":{headers}")), "\"headers\" takes");
    }
}

#[test]
fn rows_are_pairs_of_bytes() {
    for rows in ["null", "{}", "[null]", "[[]]", "[[\"76\"]]", "[[\"76\",\"02\",\"\"]]"] {
        malformed(&format!("{{\"op\":\"rows\",\"rows\":{rows}}}"), "\"rows\" takes");
    }
}

#[test]
fn a_channel_has_one_form() {
    for channel in [
        "",
        "11111111111111111111111111111111",
        "11111111111111111111111111111111:",
        "1111111111111111111111111111111:0",
        "111111111111111111111111111111111:0",
        "1111111111111111111111111111111A:0",
        "00000000000000000000000000000000:0",
        "11111111111111111111111111111111:-1",
        "11111111111111111111111111111111:+1",
        "11111111111111111111111111111111:01",
        "11111111111111111111111111111111:2147483648",
        "11111111111111111111111111111111:0:0",
        "11111111-1111-1111-1111-111111111111:0",
    ] {
        let what = "is not a channel";
        malformed(&feed_with(&format!("\"channel\":\"{channel}\"")), what);
        malformed(&format!("{{\"op\":\"open\",\"received\":{{\"a\":\"{channel}\"}}}}"), what);
        malformed(&format!("{{\"op\":\"open\",\"received\":{{}},\"start\":{{\"{channel}\":1}}}}"), what);
        malformed(&format!("{{\"op\":\"identities\",\"dead\":[\"{channel}\"],\"recreated\":[]}}"), what);
        malformed(&format!("{{\"op\":\"identities\",\"dead\":[],\"recreated\":[\"{channel}\"]}}"), what);
    }
    malformed(&feed_with("\"channel\":0"), "\"channel\" takes a channel");
    malformed(r#"{"op":"identities","dead":"","recreated":[]}"#, "\"dead\" takes a list");
    malformed(r#"{"op":"identities","dead":[],"recreated":[0]}"#, "\"recreated\" takes a channel");
}

#[test]
fn an_open_names_each_channel_once() {
    for received in ["null", "[]", "\"\"", "{\"orders\":null}", "{\"orders\":[]}"] {
        malformed(&format!("{{\"op\":\"open\",\"received\":{received}}}"), "\"received\" takes");
    }
    let channel = "11111111111111111111111111111111:0";
    let twice = format!(r#"{{"op":"open","received":{{"a":"{channel}","b":"{channel}"}}}}"#);
    malformed(&twice, "two names for one channel");
}

#[test]
fn a_received_topic_has_a_name() {
    // Its row would be refused by the next open.
    let empty = r#"{"op":"open","received":{"":"11111111111111111111111111111111:0"}}"#;
    malformed(empty, "empty name");
}

#[test]
fn a_start_is_not_negative() {
    for start in ["-1", "9223372036854775808", "1.5", "\"1\"", "null"] {
        // Also of a channel that is not received.
        let start = format!("\"start\":{{\"22222222222222222222222222222222:0\":{start}}}");
        malformed(&format!("{{\"op\":\"open\",\"received\":{{}},{start}}}"), "\"start\" takes integers");
    }
    for start in ["null", "[]", "5"] {
        malformed(&format!("{{\"op\":\"open\",\"received\":{{}},\"start\":{start}}}"), "\"start\" takes");
    }
}

#[test]
fn a_budget_is_at_least_1() {
    for budget in ["0", "-1", "1.5", "\"1\"", "null"] {
        malformed(&format!("{{\"op\":\"open\",\"received\":{{}},\"budget\":{budget}}}"), "\"budget\" takes");
    }
}

#[test]
fn only_received_channels_are_fed() {
    let other = feed_with(r#""channel":"22222222222222222222222222222222:0""#);
    refused(&[OPEN, &other], "does not receive it");
    // Lines after a refusal are ignored, but have to make sense for the open that they come after.
    refused(&[OPEN, FEED, FEED, &other], "does not receive it");
    let bad_rows = r#"{"op":"rows","rows":[["78",""]]}"#;
    refused(&[bad_rows, OPEN, &other], "does not receive it");
}

#[test]
fn nothing_but_open_comes_while_nothing_is_open() {
    for op in ["stamp", "status", "store", "commit", "abort", "crash"] {
        let line = format!("{{\"op\":\"{op}\"}}");
        refused(&[&line], "nothing is open");
        refused(&[OPEN, r#"{"op":"abort"}"#, &line], "nothing is open");
        refused(&[OPEN, r#"{"op":"crash"}"#, &line], "nothing is open");
    }
    for line in [FEED, NOTHING_HAPPENED] {
        refused(&[ROWS, line], "nothing is open");
        refused(&[OPEN, r#"{"op":"crash"}"#, line], "nothing is open");
    }
}

#[test]
fn rows_come_before_the_first_open() {
    refused(&[OPEN, ROWS], "before the first open");
    refused(&[OPEN, r#"{"op":"crash"}"#, ROWS], "before the first open");
    refused(&[OPEN, FEED, FEED, ROWS], "before the first open");
    let bad_rows = r#"{"op":"rows","rows":[["78",""]]}"#;
    refused(&[bad_rows, OPEN, ROWS], "before the first open");
}

#[test]
fn identities_come_before_the_first_feed() {
    refused(&[OPEN, NOTHING_HAPPENED, FEED, NOTHING_HAPPENED], "identities come between");
    refused(&[OPEN, FEED, r#"{"op":"commit"}"#, NOTHING_HAPPENED], "identities come between");
}

#[test]
fn lines_before_the_wrong_one_are_answered() {
    let run = replay_lines(&[OPEN, FEED, "no"]);
    assert_eq!((run.status, run.answers.len()), (2, 1));
    assert_eq!(run.answers[0]["event"], "delivered");
}

#[test]
fn a_last_line_without_an_end_counts() {
    let run = replay(file(format!("{OPEN}\n{STAMP}").as_bytes()).path());
    assert_eq!((run.status, run.answers.len()), (0, 1));
    let run = replay(file(format!("{OPEN}\r\n{STAMP}\r\n").as_bytes()).path());
    assert_eq!((run.status, run.answers.len()), (0, 1));
}

#[test]
fn no_lines_are_a_scenario() {
    let run = replay(file(b"").path());
    assert_eq!((run.status, run.answers.len()), (0, 0));
}

#[test]
fn fields_that_no_op_knows_are_ignored() {
    let run = replay_lines(&[OPEN, r#"{"op":"stamp","note":"why","offset":-1}"#]);
    assert_eq!((run.status, run.answers.len()), (0, 1), "{}", run.words);
}

#[test]
fn optional_fields_may_be_absent_and_payloads_null() {
    let null = feed_with(r#""key":null,"value":null"#);
    assert_eq!(replay_lines(&[OPEN, &null]).status, 0);
    assert_eq!(replay_lines(&[OPEN, FEED]).status, 0);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let run = run(&["replay", "/nonexistent/scenario.jsonl"]);
    assert_eq!(run.status, 2);
    assert!(run.words.contains("/nonexistent/scenario.jsonl can't be read"), "{}", run.words);
}
