use proptest::prelude::*;

use super::*;
use crate::keys::hold_key;

const A: &str = "11111111222233334444555555555555";

fn cause(partition: u32, position: i64) -> Cause {
    Cause { channel: format!("{A}:{partition}").parse().unwrap(), position: Position::new(position).unwrap() }
}

fn key() -> [u8; HOLD_KEY_BYTES] {
    hold_key(cause(1, 0).channel, Position::new(7).unwrap())
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn header(name: &str, value: Option<Bytes>) -> Header {
    Header { name: name.to_owned(), value }
}

/// A null key, an empty value, a header with null, one with an empty value, and a repeated name.
fn record() -> Record {
    Record {
        timestamp: -1,
        key: None,
        value: Some(bytes("")),
        headers: vec![header("a", None), header("é", Some(bytes(""))), header("a", Some(bytes("x")))],
    }
}

/// The record above by hand, field by field.
const RECORD: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0\x03\
    \0\0\0\x01a\xff\xff\xff\xff\0\0\0\x02\xc3\xa9\0\0\0\0\0\0\0\x01a\0\0\0\x01x";

fn with_checksum(body: &[u8]) -> Bytes {
    Bytes::from([body, &checksum(&key(), body).to_be_bytes()].concat())
}

fn decode_error(body: &[u8]) -> HeldError {
    HeldMessage::decode(&key(), &with_checksum(body)).unwrap_err()
}

fn v1(tail: &[u8]) -> Bytes {
    Bytes::from([b"\x01", RECORD, tail].concat())
}

#[test]
fn golden_record_part() {
    assert_eq!(record().encode().unwrap(), RECORD);
    assert_eq!(Record::decode(&Bytes::from_static(RECORD)), Ok(record()));
}

#[test]
fn golden_row_of_version_2() {
    let causes = causes::encode(&[cause(0, 9)]);
    let body = [b"\x02\0\0\0\x1c", &causes[..], RECORD].concat();
    assert_eq!(causes.len(), 0x1c);
    let row = encode(&key(), &causes, RECORD);
    assert_eq!(row, with_checksum(&body));
    let message = HeldMessage { version: VERSION_2, record: record(), causes: vec![cause(0, 9)] };
    assert_eq!(HeldMessage::decode(&key(), &row), Ok(message));
}

#[test]
fn the_checksum_is_the_ieee_one() {
    // The check value that the polynomial is known by, over a key and a value that make up its text.
    assert_eq!(checksum(b"1234", b"56789"), 0xcbf4_3926);
}

#[test]
fn golden_row_of_version_1() {
    let tail = [&b"\0\0\0\x02"[..], &cause(0, 0).channel.to_bytes(), b"\0\0\0\0\0\0\0\x09"].concat();
    let tail = [&tail[..], &cause(3, 0).channel.to_bytes(), b"\0\0\0\0\0\0\x03\xe8"].concat();
    let message =
        HeldMessage { version: VERSION_1, record: record(), causes: vec![cause(0, 9), cause(3, 1000)] };
    assert_eq!(HeldMessage::decode(&key(), &v1(&tail)), Ok(message));
}

#[test]
fn version_1_causes_obey_every_rule() {
    let entry = |channel: &[u8], position: i64| [channel, &position.to_be_bytes()].concat();
    let list = |entries: &[Vec<u8>]| {
        let count = u32::try_from(entries.len()).unwrap();
        [&count.to_be_bytes()[..], &entries.concat()].concat()
    };
    let zero = cause(0, 0).channel.to_bytes();
    let one = cause(1, 0).channel.to_bytes();
    let mut negative = zero;
    negative[16] = 0x80;
    for (tail, error) in [
        (list(&[entry(&one, 1), entry(&zero, 1)]), HeldError::CauseOrder),
        (list(&[entry(&one, 1), entry(&one, 1)]), HeldError::CauseOrder),
        (list(&[entry(&[0; 20], 1)]), HeldError::Cause),
        (list(&[entry(&negative, 1)]), HeldError::Cause),
        (list(&[entry(&zero, -1)]), HeldError::Cause),
        (list(&[entry(&zero, i64::MAX)]), HeldError::Cause),
        (b"\0\0\0\x01".to_vec(), HeldError::Length),
        (b"\xff\xff\xff\xff".to_vec(), HeldError::Length),
        (b"\0\0\0\0x".to_vec(), HeldError::Trailing),
        (b"\0\0\0".to_vec(), HeldError::Length),
    ] {
        assert_eq!(HeldMessage::decode(&key(), &v1(&tail)), Err(error));
    }
}

#[test]
fn the_key_obeys_the_rules_of_a_cause() {
    let row = |key: &[u8]| {
        let body = [b"\x02\0\0\0\x02\x01\0", RECORD].concat();
        HeldMessage::decode(key, &Bytes::from([&body[..], &checksum(key, &body).to_be_bytes()].concat()))
    };
    assert!(row(&key()).is_ok());
    let changed = |at: usize, byte: u8| {
        let mut key = key();
        key[at] = byte;
        key
    };
    assert_eq!(row(&changed(0, b'x')), Err(HeldError::Key(KeyError::Class)));
    assert_eq!(row(&changed(17, 0x80)), Err(HeldError::Key(KeyError::Channel)));
    assert_eq!(row(&changed(21, 0x80)), Err(HeldError::Key(KeyError::Channel)));
    assert_eq!(row(&key()[..28]), Err(HeldError::Key(KeyError::Length)));
    assert_eq!(row(&key()[..1]), Err(HeldError::Key(KeyError::Length)));
    assert_eq!(row(b"v"), Err(HeldError::KeyClass));
    let mut zero = key();
    zero[1..17].fill(0);
    assert_eq!(row(&zero), Err(HeldError::Key(KeyError::Channel)));
}

#[test]
fn version_2_rows_obey_every_rule() {
    let good = [b"\x02\0\0\0\x02\x01\0", RECORD].concat();
    assert!(HeldMessage::decode(&key(), &with_checksum(&good)).is_ok());
    let with = |at: usize, new: &[u8]| [&good[..at], new, &good[at + new.len()..]].concat();
    assert_eq!(HeldMessage::decode(&key(), &Bytes::new()), Err(HeldError::Length));
    assert_eq!(HeldMessage::decode(&key(), &Bytes::from_static(b"\x02\0\0")), Err(HeldError::Length));
    assert_eq!(decode_error(b"\x03"), HeldError::Version);
    assert_eq!(decode_error(b"\x02"), HeldError::Length);
    assert_eq!(decode_error(&with(1, b"\xff")), HeldError::Length);
    assert_eq!(decode_error(&with(1, b"\x7f\xff\xff\xff")), HeldError::Length);
    assert_eq!(decode_error(&with(5, b"\x02")), HeldError::Causes(CausesError::Format));
    assert_eq!(decode_error(&with(15, b"\x05")), HeldError::Flags);
    assert_eq!(decode_error(&with(16, b"\xff")), HeldError::Length);
    assert_eq!(decode_error(&with(20, b"\xff")), HeldError::Length);
    assert_eq!(decode_error(&with(24, b"\x80")), HeldError::Length);
    assert_eq!(decode_error(&with(28, b"\xff")), HeldError::HeaderName);
    assert_eq!(decode_error(&with(29, b"\xff\xff\xff\xfe")), HeldError::Length);
    assert_eq!(decode_error(&[&good[..], b"x"].concat()), HeldError::Trailing);
    assert_eq!(decode_error(&good[..good.len() - 1]), HeldError::Length);
}

#[test]
fn a_row_under_another_key_is_refused() {
    let row = encode(&key(), &causes::encode(&[]), RECORD);
    let other = hold_key(cause(1, 0).channel, Position::new(8).unwrap());
    assert_eq!(HeldMessage::decode(&other, &row), Err(HeldError::Checksum));
}

#[test]
fn enormous_lengths_and_counts_allocate_nothing() {
    let lengths: [&[u8]; 3] = [
        b"\0\0\0\0\0\0\0\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\0\0\0\x03\x7f\xff\xff\xff",
        b"\0\0\0\0\0\0\0\0\x03\0\0\0\x01\x7f\xff\xff\xff",
    ];
    for record in lengths {
        assert_eq!(validate_record(record), Err(HeldError::Length));
    }
    let mut causes = Vec::new();
    let error = decode_into(&key(), &v1(b"\x7f\xff\xff\xff"), &mut causes).err();
    assert_eq!((error, causes.capacity()), (Some(HeldError::Length), 0));
}

fn any_field() -> impl Strategy<Value = Option<Bytes>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from))
}

fn any_record() -> impl Strategy<Value = Record> {
    let header = (".{0,6}", any_field()).prop_map(|(name, value)| Header { name, value });
    (any::<i64>(), any_field(), any_field(), prop::collection::vec(header, 0..4))
        .prop_map(|(timestamp, key, value, headers)| Record { timestamp, key, value, headers })
}

proptest! {
    #[test]
    fn decode_is_the_inverse_of_encode(record in any_record(), position in 0..i64::MAX) {
        let causes = vec![cause(0, position), cause(2, 5)];
        let row = encode(&key(), &causes::encode(&causes), &record.encode().unwrap());
        prop_assert_eq!(HeldMessage::decode(&key(), &row), Ok(HeldMessage { version: VERSION_2, record, causes }));
    }

    #[test]
    fn any_flipped_bit_of_key_or_row_is_refused(record in any_record(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut row = encode(&key(), &causes::encode(&[cause(0, 5)]), &record.encode().unwrap()).to_vec();
        let mut key = key();
        let at = at.index(key.len() + row.len());
        let byte = if at < key.len() { &mut key[at] } else { &mut row[at - HOLD_KEY_BYTES] };
        *byte ^= 1_u8 << bit;
        prop_assert!(HeldMessage::decode(&key, &Bytes::from(row)).is_err());
    }

    #[test]
    fn any_cut_is_refused(record in any_record(), at in any::<prop::sample::Index>()) {
        let row = encode(&key(), &causes::encode(&[cause(0, 5)]), &record.encode().unwrap());
        prop_assert!(HeldMessage::decode(&key(), &row.slice(..at.index(row.len()))).is_err());
    }

    #[test]
    fn no_input_panics(version in 0_u8..4, tail in prop::collection::vec(any::<u8>(), 0..80)) {
        let body = [&[version][..], &tail].concat();
        let _: Result<_, HeldError> = HeldMessage::decode(&key(), &with_checksum(&body));
        let _: Result<_, HeldError> = HeldMessage::decode(&key(), &Bytes::from(body));
        let _: Result<_, HeldError> = Record::decode(&Bytes::from(tail));
    }
}
