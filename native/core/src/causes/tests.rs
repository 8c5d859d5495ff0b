use proptest::prelude::*;

use super::*;

const A: &str = "11111111222233334444555555555555";
const B: &str = "8f00000000004000800000000000000b";

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.replace('A', A).replace('B', B).split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn cause(topic: &str, partition: u32, position: i64) -> Cause {
    Cause {
        channel: format!("{topic}:{partition}").parse().unwrap(),
        position: Position::new(position).unwrap(),
    }
}

#[test]
fn golden_bytes_decode_and_encode() {
    let vectors = [
        ("01 00", vec![]),
        ("01 01 A 01 03 00000000000003e8", vec![cause(A, 3, 1000)]),
        ("01 02 A 01 00 0000000000000009 B 01 02 0000000000000001", vec![cause(A, 0, 9), cause(B, 2, 1)]),
        (
            "01 01 A 04 7f 0000000000000001 8001 0000000000000002 ff7f 0000000000000003 808001 0000000000000004",
            vec![cause(A, 127, 1), cause(A, 128, 2), cause(A, 16383, 3), cause(A, 16384, 4)],
        ),
        ("01 01 A 01 ffffffff07 7ffffffffffffffe", vec![cause(A, 2_147_483_647, i64::MAX - 1)]),
    ];
    for (bytes, causes) in vectors {
        assert_eq!(decode(&hex(bytes)), Ok(causes.clone()), "{bytes}");
        assert_eq!(encode(&causes), hex(bytes), "{bytes}");
    }
}

#[test]
fn every_rule_is_refused_by_its_name() {
    let zero = "00000000000000000000000000000000";
    let vectors = [
        ("", CausesError::Cut),
        ("01", CausesError::Cut),
        ("01 01 1111", CausesError::Cut),
        ("01 01 A 01 00 00000000000000", CausesError::Cut),
        ("01 01 A 02 00 0000000000000001", CausesError::Cut),
        ("00 00", CausesError::Format),
        ("02 00", CausesError::Format),
        ("01 80 00", CausesError::Varint),
        ("01 ff ff ff ff 08", CausesError::Varint),
        ("01 80 80 80 80 80 01", CausesError::Varint),
        ("01 01 A 01 81 00 0000000000000001", CausesError::Varint),
        (&format!("01 01 {zero} 01 00 0000000000000001"), CausesError::ZeroTopic),
        ("01 02 A 01 00 0000000000000001 A 01 00 0000000000000001", CausesError::TopicOrder),
        ("01 02 B 01 00 0000000000000001 A 01 00 0000000000000001", CausesError::TopicOrder),
        ("01 01 A 00", CausesError::EmptyGroup),
        ("01 01 A 02 01 0000000000000001 01 0000000000000001", CausesError::PartitionOrder),
        ("01 01 A 02 01 0000000000000001 00 0000000000000001", CausesError::PartitionOrder),
        ("01 01 A 01 00 7fffffffffffffff", CausesError::Position),
        ("01 01 A 01 00 8000000000000000", CausesError::Position),
        ("01 00 00", CausesError::Trailing),
        ("01 01 A 01 00 0000000000000001 00", CausesError::Trailing),
    ];
    for (bytes, error) in vectors {
        assert_eq!(decode(&hex(bytes)), Err(error), "{bytes}");
    }
}

#[test]
fn rules_are_judged_in_the_order_of_the_bytes() {
    // The wrong partition comes before the cut, the wrong topic before the wrong partition count.
    assert_eq!(decode(&hex("01 01 A 01 8000 00")), Err(CausesError::Varint));
    assert_eq!(decode(&hex("01 02 B 01 00 0000000000000001 A 00")), Err(CausesError::TopicOrder));
}

#[test]
fn an_enormous_count_allocates_nothing() {
    let mut causes = Vec::new();
    assert_eq!(decode_into(&hex("01 ffffffff07"), &mut causes), Err(CausesError::Cut));
    assert_eq!(decode_into(&hex("01 01 A ffffffff07"), &mut causes), Err(CausesError::Cut));
    assert_eq!(causes.capacity(), 0);
}

#[test]
fn a_patched_position_equals_an_encoding_from_nothing() {
    let mut encoder = Encoder::default();
    let mut places = Vec::new();
    encoder
        .encode([cause(A, 0, 1), cause(A, 300, 2), cause(B, 5, 3)].into_iter(), |place| places.push(place));
    encoder.patch(places[1], Position::new(77).unwrap());
    assert_eq!(encoder.bytes(), encode(&[cause(A, 0, 1), cause(A, 300, 77), cause(B, 5, 3)]));
}

fn any_causes() -> impl Strategy<Value = Vec<Cause>> {
    let channel = (1_u128..=4, prop_oneof![0_u32..4, 120_u32..140, Just(2_147_483_647)]);
    let map = prop::collection::btree_map(channel, 0..i64::MAX, 0..40);
    map.prop_map(|map| {
        let entry = |((topic, partition), position)| cause(&format!("{topic:032x}"), partition, position);
        map.into_iter().map(entry).collect()
    })
}

proptest! {
    #[test]
    fn decode_is_the_inverse_of_encode(causes in any_causes()) {
        let bytes = encode(&causes);
        prop_assert_eq!(decode(&bytes), Ok(causes));
    }

    #[test]
    fn what_decodes_has_no_other_encoding(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(causes) = decode(&bytes) {
            prop_assert_eq!(encode(&causes), bytes);
        }
    }

    #[test]
    fn a_changed_encoding_never_panics_and_stays_canonical(
        causes in any_causes(), at in any::<prop::sample::Index>(), bit in 0..8, cut in any::<bool>()
    ) {
        let mut bytes = encode(&causes);
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1_u8 << bit }
        if let Ok(causes) = decode(&bytes) {
            prop_assert_eq!(encode(&causes), bytes);
        }
    }
}
