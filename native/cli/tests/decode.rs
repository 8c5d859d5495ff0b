//! `parsley decode`: what bytes say, or that they are refused.

mod common;

use common::{Run, run, run_with_input};
use serde_json::{Value, json};

const A: &str = "11111111222233334444555555555555";
const B: &str = "8f00000000004000800000000000000b";

fn causes(hex: &str) -> Run {
    run(&["decode", "causes", hex])
}

fn assert_causes(hex: &str, expected: &[(&str, u32, i64)]) {
    let run = causes(hex);
    let expected: Vec<Value> = expected
        .iter()
        .map(|(topic, partition, position)| {
            json!({"channel": format!("{topic}:{partition}"), "position": position})
        })
        .collect();
    assert_eq!(run.answers, [json!({"event": "causes", "causes": expected})], "{hex}");
    assert_eq!((run.status, run.words.as_str()), (0, ""), "{hex}");
}

#[test]
fn causes_are_shown_in_channel_order() {
    assert_causes("0100", &[]);
    assert_causes(&format!("0101{A}010300000000000003e8"), &[(A, 3, 1000)]);
    // Signed bytes would put B first.
    assert_causes(&format!("0102{A}01000000000000000009{B}01020000000000000001"), &[(A, 0, 9), (B, 2, 1)]);
    assert_causes(
        &format!("0101{A}047f000000000000000180010000000000000002ff7f00000000000000038080010000000000000004"),
        &[(A, 127, 1), (A, 128, 2), (A, 16383, 3), (A, 16384, 4)],
    );
    assert_causes(
        &format!("0101{A}01ffffffff077ffffffffffffffe"),
        &[(A, 2_147_483_647, 9_223_372_036_854_775_806)],
    );
}

#[test]
fn bytes_that_are_no_causes_are_refused() {
    for hex in [
        "",
        "01",
        "010000",
        "0200",
        "018000",
        "018080808008",
        &format!("0101{A}00"),
        &format!("0101{A}01007fffffffffffffff"),
        &format!("0102{B}01020000000000000001{A}01000000000000000009"),
    ] {
        let run = causes(hex);
        assert_eq!(run.answers, [json!({"event": "refused", "reason": "UNDECODABLE_METADATA"})], "{hex}");
        assert_eq!(run.status, 1, "{hex}");
        assert!(run.words.starts_with("parsley: causes: "), "{}", run.words);
    }
}

/// The key of a held message at position 3 of partition 2.
fn key() -> String {
    format!("68{B}000000020000000000000003")
}

/// Timestamp -1, a null key, an empty value, and a header `a` twice: null, then empty.
fn record() -> String {
    ["ffffffffffffffff", "01", "00000000", "00000002", "0000000161ffffffff", "000000016100000000"].concat()
}

fn version_1() -> String {
    format!("01{}00000001{A}000000070000000000000009", record())
}

/// CRC-32 as it is defined, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

fn version_2() -> String {
    let body = format!("020000001c0101{A}01070000000000000009{}", record());
    let text = key() + &body;
    let bytes: Vec<u8> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
    format!("{body}{:08x}", crc32(&bytes))
}

#[test]
fn a_held_message_of_either_version_is_shown_in_fields() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let expected = json!({
        "timestamp": -1,
        "key": null,
        "value": "",
        "headers": [["a", null], ["a", ""]],
        "causes": format!("0101{A}01070000000000000009"),
    });
    for value in [version_1(), version_2()] {
        let run = run(&["decode", "held", &key(), &value]);
        assert_eq!(run.answers, std::slice::from_ref(&expected), "{value}");
        assert_eq!((run.status, run.words.as_str()), (0, ""), "{value}");
    }
}

#[test]
fn rows_that_are_no_held_message_are_refused_by_key_and_cause() {
    let other_key = key().replace("0000000000000003", "0000000000000004");
    let reserved = key().replace("0000000000000003", "7fffffffffffffff");
    let fed_up_to = format!("66{B}00000002");
    let cut = version_2()[..version_2().len() - 2].to_owned();
    for (key, value, what) in [
        (key(), String::new(), "a length"),
        (key(), "03".to_owned(), "version"),
        (key(), cut, "checksum"),
        (other_key, version_2(), "checksum"),
        (key(), version_1() + "00", "bytes follow"),
        (reserved.clone(), version_1(), "impossible channel or position"),
        (fed_up_to, version_1(), "not that of a held message"),
        (String::new(), version_1(), "no known class"),
    ] {
        let run = run(&["decode", "held", &key, &value]);
        let refused = json!({"event": "refused", "reason": "UNKNOWN_ORDERING_STATE_FORMAT"});
        assert_eq!(run.answers, [refused], "{what}");
        assert_eq!(run.status, 1, "{what}");
        assert!(run.words.contains(&key) && run.words.contains(what), "{what}: {}", run.words);
    }
}

#[test]
fn every_flipped_bit_and_cut_of_a_version_2_row_is_refused() {
    let row = version_2();
    for at in 0..row.len() {
        let digit = u8::from_str_radix(&row[at..=at], 16).unwrap();
        let flipped = format!("{}{:x}{}", &row[..at], digit ^ 1 << (at % 4), &row[at + 1..]);
        assert_eq!(run(&["decode", "held", &key(), &flipped]).status, 1, "{flipped}");
    }
    for at in (0..row.len()).step_by(2) {
        assert_eq!(run(&["decode", "held", &key(), &row[..at]]).status, 1, "{at}");
    }
}

#[test]
fn white_space_in_hex_is_passed_over() {
    assert_eq!(causes("01 00\n").answers, causes("0100").answers);
    assert_eq!(causes(" 0\t1\r\n0 0 ").status, 0);
    let spaced: Vec<String> =
        version_2().as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair).into()).collect();
    let spaced = run(&["decode", "held", &key(), &spaced.join(" ")]);
    assert_eq!((spaced.status, spaced.words.as_str()), (0, ""));
    assert_eq!(spaced.answers, run(&["decode", "held", &key(), &version_2()]).answers);
}

#[test]
fn a_dash_is_read_from_standard_input() {
    let answered = run_with_input(&["decode", "causes", "-"], b"0100\n");
    assert_eq!((answered.status, answered.answers), (0, causes("0100").answers));

    let expected = run(&["decode", "held", &key(), &version_2()]).answers;
    for (arguments, input) in
        [(["decode", "held", &key(), "-"], version_2()), (["decode", "held", "-", &version_2()], key())]
    {
        let answered = run_with_input(&arguments, input.as_bytes());
        assert_eq!((answered.status, &answered.answers), (0, &expected), "{arguments:?}");
    }

    let both = run_with_input(&["decode", "held", "-", "-"], key().as_bytes());
    assert_eq!((both.status, both.answers.len()), (2, 0));
    assert!(both.words.contains("only one"), "{}", both.words);
    let no_hex = run_with_input(&["decode", "causes", "-"], b"\xff");
    assert_eq!((no_hex.status, no_hex.answers.len()), (2, 0));
    assert!(no_hex.words.contains("standard input"), "{}", no_hex.words);
}

#[test]
fn text_that_is_no_hex_is_a_wrong_argument() {
    for hex in ["0", "0G", "0A", "0x01"] {
        let run = causes(hex);
        assert_eq!((run.status, run.answers.len()), (2, 0), "{hex}");
        assert!(run.words.contains("lower-case hex"), "{}", run.words);
    }
}
