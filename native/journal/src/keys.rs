//! Keys of the journal's rows: one leading tag a class, integers big-endian.
//!
//! | key bytes | row |
//! |---|---|
//! | `76` (`v`) | format version |
//! | `63` (`c`) | client |
//! | `6d` (`m`) sequence:8 `02` | intent |
//! | `6d` (`m`) sequence:8 `03` | execution |
//! | `6d` (`m`) sequence:8 `04` generation:4 | attempt |
//! | `6d` (`m`) sequence:8 `05` generation:4 | ack |
//! | `6d` (`m`) sequence:8 `06` failureId:8 | failure |
//! | `6d` (`m`) sequence:8 `07` index:4 | effect |
//! | `61` (`a`) text(namespace) text(id) | alias, by its source |
//! | `74` (`t`) text(namespace) text(id) sequence:8 | tombstone, by identity and creator |
//! | `70` (`p`) text(namespace) text(id) sequence:8 | index: a pending row, by its intent's identity; no value |
//! | `64` (`d`) parkedAt:8 failureId:8 | index: a dead letter; the value is its sequence:8 |
//!
//! The byte after a sequence is the number of the record group in the contract. `text` is UTF-8 in which each byte `00`
//! is followed by `ff`, ended by `00 00`: keys then sort as their texts do, and none is the beginning of another.
//! parkedAt has its sign bit flipped, so that times before 1970 sort first.

use std::sync::Arc;

use crate::records::Identity;

/// The key of the format version.
pub const VERSION_KEY: &[u8] = b"v";
/// The key of the client.
pub const CLIENT_KEY: &[u8] = b"c";

const MUTATION: u8 = b'm';
const ALIAS: u8 = b'a';
const TOMBSTONE: u8 = b't';
const PENDING: u8 = b'p';
const DEAD: u8 = b'd';

const INTENT: u8 = 2;
const EXECUTION: u8 = 3;
const ATTEMPT: u8 = 4;
const ACK: u8 = 5;
const FAILURE: u8 = 6;
const EFFECT: u8 = 7;

/// A key, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// The format version.
    Version,
    /// The client.
    Client,
    /// A row of one mutation.
    Mutation(u64, Part),
    /// An alias, by its source.
    Alias(Identity),
    /// A tombstone, by its identity and creator.
    Tombstone(Identity, u64),
    /// The index of pending rows.
    Pending(Identity, u64),
    /// The index of dead letters: when it was parked, by which failure.
    Dead(i64, u64),
}

/// Which row of a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What was asked for.
    Intent,
    /// How far it is.
    Execution,
    /// A prepared generation.
    Attempt(u32),
    /// The answer to a generation.
    Ack(u32),
    /// Failures, by the id that storage gave.
    Failure(u64),
    /// An effect, by its index.
    Effect(u32),
}

impl RowKey {
    /// The bytes of the key.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Version => VERSION_KEY.to_vec(),
            Self::Client => CLIENT_KEY.to_vec(),
            Self::Mutation(sequence, part) => mutation_key(*sequence, *part),
            Self::Alias(source) => identity_key(ALIAS, source),
            Self::Tombstone(identity, sequence) => sequenced_key(TOMBSTONE, identity, *sequence),
            Self::Pending(identity, sequence) => sequenced_key(PENDING, identity, *sequence),
            Self::Dead(parked_at, failure) => {
                let mut key = vec![DEAD];
                key.extend_from_slice(&sortable(*parked_at).to_be_bytes());
                key.extend_from_slice(&failure.to_be_bytes());
                key
            }
        }
    }

    /// Reads a key; `None` if the bytes are none.
    pub fn parse(key: &[u8]) -> Option<Self> {
        let (tag, rest) = key.split_first()?;
        match *tag {
            b'v' if rest.is_empty() => Some(Self::Version),
            b'c' if rest.is_empty() => Some(Self::Client),
            MUTATION => parse_mutation(rest),
            ALIAS => match parse_identity(rest)? {
                (source, []) => Some(Self::Alias(source)),
                _ => None,
            },
            TOMBSTONE => {
                let (identity, rest) = parse_identity(rest)?;
                Some(Self::Tombstone(identity, sequence(rest)?))
            }
            PENDING => {
                let (identity, rest) = parse_identity(rest)?;
                Some(Self::Pending(identity, sequence(rest)?))
            }
            DEAD => {
                let (parked_at, failure) = rest.split_first_chunk::<8>()?;
                let failure = u64::from_be_bytes(failure.try_into().ok()?);
                Some(Self::Dead(unsortable(u64::from_be_bytes(*parked_at)), failure))
            }
            _ => None,
        }
    }
}

fn parse_mutation(rest: &[u8]) -> Option<RowKey> {
    let (sequence, rest) = rest.split_first_chunk::<8>()?;
    let (group, rest) = rest.split_first()?;
    let part = match (*group, rest.len()) {
        (INTENT, 0) => Part::Intent,
        (EXECUTION, 0) => Part::Execution,
        (ATTEMPT, 4) => Part::Attempt(u32::from_be_bytes(rest.try_into().ok()?)),
        (ACK, 4) => Part::Ack(u32::from_be_bytes(rest.try_into().ok()?)),
        (FAILURE, 8) => Part::Failure(u64::from_be_bytes(rest.try_into().ok()?)),
        (EFFECT, 4) => Part::Effect(u32::from_be_bytes(rest.try_into().ok()?)),
        _ => return None,
    };
    Some(RowKey::Mutation(sequence_in_range(u64::from_be_bytes(*sequence))?, part))
}

/// The key of a row of one mutation.
pub fn mutation_key(sequence: u64, part: Part) -> Vec<u8> {
    let mut key = Vec::with_capacity(18);
    key.push(MUTATION);
    key.extend_from_slice(&sequence.to_be_bytes());
    match part {
        Part::Intent => key.push(INTENT),
        Part::Execution => key.push(EXECUTION),
        Part::Attempt(generation) => numbered(&mut key, ATTEMPT, generation),
        Part::Ack(generation) => numbered(&mut key, ACK, generation),
        Part::Failure(id) => {
            key.push(FAILURE);
            key.extend_from_slice(&id.to_be_bytes());
        }
        Part::Effect(index) => numbered(&mut key, EFFECT, index),
    }
    key
}

fn numbered(key: &mut Vec<u8>, group: u8, number: u32) {
    key.push(group);
    key.extend_from_slice(&number.to_be_bytes());
}

/// Keys from `start` on and before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The first key that may be in it.
    pub start: Vec<u8>,
    /// The first key behind it.
    pub end: Vec<u8>,
}

impl KeyRange {
    /// Every key that begins with `prefix`, whose last byte is not `ff`.
    fn of_prefix(prefix: Vec<u8>) -> Self {
        let mut end = prefix.clone();
        if let Some(last) = end.last_mut() {
            debug_assert_ne!(*last, 0xff, "tags, groups and the ends of texts are all below ff");
            *last += 1;
        }
        Self { start: prefix, end }
    }

    /// Every row.
    pub fn all() -> Self {
        Self { start: Vec::new(), end: vec![0xff] }
    }

    /// Every row of the mutations from `first` to `last`, both included.
    pub fn mutations(first: u64, last: u64) -> Self {
        let mut start = vec![MUTATION];
        start.extend_from_slice(&first.to_be_bytes());
        let mut end = vec![MUTATION];
        match last.checked_add(1) {
            Some(next) => end.extend_from_slice(&next.to_be_bytes()),
            None => end = vec![MUTATION + 1],
        }
        Self { start, end }
    }

    /// The failures of a mutation.
    pub fn failures(sequence: u64) -> Self {
        Self::group(sequence, FAILURE)
    }

    /// The effects of a mutation.
    pub fn effects(sequence: u64) -> Self {
        Self::group(sequence, EFFECT)
    }

    fn group(sequence: u64, group: u8) -> Self {
        let mut prefix = vec![MUTATION];
        prefix.extend_from_slice(&sequence.to_be_bytes());
        prefix.push(group);
        Self::of_prefix(prefix)
    }

    /// All aliases.
    pub fn aliases() -> Self {
        Self::of_prefix(vec![ALIAS])
    }

    /// All tombstones.
    pub fn tombstones() -> Self {
        Self::of_prefix(vec![TOMBSTONE])
    }

    /// The tombstones of one identity.
    pub fn tombstones_of(identity: &Identity) -> Self {
        Self::of_prefix(identity_key(TOMBSTONE, identity))
    }

    /// All pending rows, by identity.
    pub fn pending() -> Self {
        Self::of_prefix(vec![PENDING])
    }

    /// The pending rows of one identity, from a sequence on.
    pub fn pending_of(identity: &Identity, from: u64) -> Self {
        let mut range = Self::of_prefix(identity_key(PENDING, identity));
        range.start.extend_from_slice(&from.to_be_bytes());
        range
    }

    /// The pending rows of identities behind this one.
    pub fn pending_behind(identity: &Identity) -> Self {
        Self { start: Self::pending_of(identity, 0).end, end: Self::pending().end }
    }

    /// All dead letters, by the time they were parked.
    pub fn dead() -> Self {
        Self::of_prefix(vec![DEAD])
    }
}

fn identity_key(tag: u8, identity: &Identity) -> Vec<u8> {
    let mut key = Vec::with_capacity(identity.namespace.len() + identity.id.len() + 16);
    key.push(tag);
    push_text(&mut key, &identity.namespace);
    push_text(&mut key, &identity.id);
    key
}

fn sequenced_key(tag: u8, identity: &Identity, sequence: u64) -> Vec<u8> {
    let mut key = identity_key(tag, identity);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

fn push_text(key: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        key.push(byte);
        if byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

fn parse_identity(rest: &[u8]) -> Option<(Identity, &[u8])> {
    let (namespace, rest) = parse_text(rest)?;
    let (id, rest) = parse_text(rest)?;
    Some((Identity { namespace, id }, rest))
}

fn parse_text(rest: &[u8]) -> Option<(Arc<str>, &[u8])> {
    let zero = rest.iter().position(|byte| *byte == 0)?;
    if rest.get(zero + 1) == Some(&0) {
        // Without a zero inside, which is nearly always, the text is there as it is.
        return Some((std::str::from_utf8(&rest[..zero]).ok()?.into(), &rest[zero + 2..]));
    }
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match (rest.get(at)?, rest.get(at + 1)) {
            (0, Some(0)) => return Some((String::from_utf8(text).ok()?.into(), &rest[at + 2..])),
            (0, Some(0xff)) => {
                text.push(0);
                at += 2;
            }
            (0, _) => return None,
            (byte, _) => {
                text.push(*byte);
                at += 1;
            }
        }
    }
}

fn sequence(rest: &[u8]) -> Option<u64> {
    sequence_in_range(u64::from_be_bytes(rest.try_into().ok()?))
}

/// Sequences are signed on the other side of every boundary, and begin at 1.
fn sequence_in_range(sequence: u64) -> Option<u64> {
    (1..=i64::MAX.unsigned_abs()).contains(&sequence).then_some(sequence)
}

fn sortable(time: i64) -> u64 {
    time.cast_unsigned() ^ (1 << 63)
}

fn unsortable(time: u64) -> i64 {
    (time ^ (1 << 63)).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_have_their_documented_bytes() {
        let key = Identity::new("n\0", "i");
        assert_eq!(RowKey::Alias(key.clone()).encode(), b"an\x00\xff\x00\x00i\x00\x00");
        assert_eq!(
            RowKey::Pending(key.clone(), 258).encode(),
            b"pn\x00\xff\x00\x00i\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02"
        );
        assert_eq!(
            mutation_key(258, Part::Attempt(3)),
            b"m\x00\x00\x00\x00\x00\x00\x01\x02\x04\x00\x00\x00\x03"
        );
        assert_eq!(
            RowKey::Dead(-1, 2).encode(),
            b"d\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x02"
        );
    }

    #[test]
    fn bytes_that_are_no_key_are_refused() {
        for bytes in [
            &b""[..],
            b"z",
            b"vx",
            b"m",
            b"m\0\0\0\0\0\0\0\0\x02",
            b"m\xff\0\0\0\0\0\0\0\x02",
            b"m\0\0\0\0\0\0\0\x01\x02\0",
            b"m\0\0\0\0\0\0\0\x01\x08\0\0\0\0",
            b"an\0",
            b"an\0\x01i\0\0",
            b"an\0\0i\0\0x",
            b"a\xfe\0\0i\0\0",
            b"pn\0\0i\0\0",
            b"d\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(RowKey::parse(bytes), None, "{bytes:?}");
        }
    }

    fn identity() -> impl Strategy<Value = Identity> {
        ("[ab\0\u{1}é]{0,4}", "[ab\0\u{1}é]{0,4}").prop_map(|(namespace, id)| Identity::new(namespace, id))
    }

    fn key() -> impl Strategy<Value = RowKey> {
        let sequence = 1..=i64::MAX.unsigned_abs();
        prop_oneof![
            Just(RowKey::Version),
            Just(RowKey::Client),
            (sequence.clone(), any::<u32>(), any::<u64>(), 0..6).prop_map(
                |(sequence, small, large, which)| {
                    let part = match which {
                        0 => Part::Intent,
                        1 => Part::Execution,
                        2 => Part::Attempt(small),
                        3 => Part::Ack(small),
                        4 => Part::Failure(large),
                        _ => Part::Effect(small),
                    };
                    RowKey::Mutation(sequence, part)
                }
            ),
            identity().prop_map(RowKey::Alias),
            (identity(), sequence.clone())
                .prop_map(|(identity, sequence)| RowKey::Tombstone(identity, sequence)),
            (identity(), sequence).prop_map(|(identity, sequence)| RowKey::Pending(identity, sequence)),
            (any::<i64>(), any::<u64>()).prop_map(|(at, failure)| RowKey::Dead(at, failure)),
        ]
    }

    proptest! {
        #[test]
        fn a_key_reads_back_as_itself(key in key()) {
            prop_assert_eq!(RowKey::parse(&key.encode()), Some(key));
        }

        #[test]
        fn identities_sort_as_their_texts(a in identity(), b in identity()) {
            let (left, right) = (RowKey::Alias(a.clone()).encode(), RowKey::Alias(b.clone()).encode());
            prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        }

        #[test]
        fn dead_letters_sort_by_time(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(RowKey::Dead(a, 0).encode().cmp(&RowKey::Dead(b, 0).encode()), a.cmp(&b));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = RowKey::parse(&bytes);
        }

        #[test]
        fn an_identity_ranges_over_its_own_rows(a in identity(), b in identity(), sequence in 1u64..9) {
            let range = KeyRange::pending_of(&a, sequence);
            let inside = |key: RowKey| { let key = key.encode(); range.start <= key && key < range.end };
            prop_assert!(inside(RowKey::Pending(a.clone(), sequence)));
            prop_assert!(!inside(RowKey::Pending(a.clone(), sequence - 1)) || sequence == 1);
            prop_assert_eq!(inside(RowKey::Pending(b.clone(), sequence)), a == b);
        }
    }
}
