use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::keys::{CLIENT_KEY, Part, RowKey, mutation_key};
use crate::records::{Identity, Meta, Presence};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The value of a row without its version and its checksum, which are compared here.
fn fields<R: Row>(record: &R) -> String {
    let key = b"k";
    let value = encode(key, record);
    let (content, sum) = value.split_last_chunk::<4>().expect("a checksum");
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    assert_eq!(u32::from_be_bytes(*sum), hasher.finalize(), "the checksum is that of key and content");
    assert_eq!(content[0], 1, "the version comes first");
    hex(&content[1..])
}

/// A text or blob: its length in four bytes, and then itself.
fn text(text: &str) -> String {
    hex(&u32::try_from(text.len()).expect("a short text").to_be_bytes()) + &hex(text.as_bytes())
}

fn identity() -> Identity {
    Identity::new("n", "é")
}

fn key_text() -> String {
    text("n") + &text("é")
}

#[test]
fn a_client_has_its_documented_bytes() {
    let client = Client {
        id: "c".into(),
        epoch: u64::MAX - 1,
        allocated: 3,
        retired_through: 2,
        confirmed_through: 1,
        created_at: -1,
    };
    assert_eq!(
        fields(&client),
        text("c")
            + "fffffffffffffffe"
            + "0000000000000003"
            + "0000000000000002"
            + "0000000000000001"
            + "ffffffffffffffff"
    );
    // Once in full, with the checksum.
    assert_eq!(
        hex(&encode(CLIENT_KEY, &client)),
        format!("01{}{:08x}", fields(&client), checksum(CLIENT_KEY, &encode(CLIENT_KEY, &client)[..46]))
    );
}

#[test]
fn an_intent_has_its_documented_bytes() {
    let intent = Intent {
        identity: identity(),
        mutator: "set".into(),
        mutator_version: 2,
        args: Bytes::from_static(&[9, 0]),
        retry_of: Some(7),
        created_at: 1,
    };
    let end = "0000000000000001";
    let begin = key_text() + &text("set") + "00000002" + "000000020900";
    assert_eq!(fields(&intent), begin.clone() + "01" + "0000000000000007" + end);
    assert_eq!(fields(&Intent { retry_of: None, ..intent }), begin + "00" + end);
}

#[test]
fn an_execution_has_its_documented_bytes() {
    assert_eq!(
        fields(&Execution::new()),
        text("UNPREPARED") + "00000000" + "00000000" + "00" + "00" + "00" + "00" + "00"
    );
    let parked = Execution {
        phase: Phase::Parked,
        generation: 2,
        attempt: 1,
        last_attempt_at: Some(5),
        active_failure: Some(3),
        remote_outcome_unknown: true,
        retired_at: None,
        dismissed: Some(Dismissal { at: 6, note: "why".into() }),
    };
    assert_eq!(
        fields(&parked),
        text("PARKED")
            + "00000002"
            + "00000001"
            + "010000000000000005"
            + "010000000000000003"
            + "01"
            + "00"
            + "010000000000000006"
            + &text("why")
    );
}

#[test]
fn an_attempt_has_its_documented_bytes() {
    let attempt = Attempt {
        identity: identity(),
        codec_version: 4,
        base: Presence::Absent,
        mine: Presence::Present(Bytes::from_static(b"v")),
        precondition: Some(Meta { written_at: Some(8), etag: None }),
        retired_through: 1,
        idempotency_key: "c:0:1:g1".into(),
        prepared_at: 2,
        conflict: Some(Conflict {
            meta: Some(Meta { written_at: None, etag: Some("A".into()) }),
            received_at: 9,
        }),
    };
    let begin = key_text()
        + "00000004"
        + &text("ABSENT")
        + &text("PRESENT")
        + &text("v")
        + "01"
        + "010000000000000008"
        + "00"
        + "0000000000000001"
        + &text("c:0:1:g1")
        + "0000000000000002";
    assert_eq!(fields(&attempt), begin.clone() + "01" + "01" + "00" + "01" + &text("A") + "0000000000000009");
    let unmet = Attempt { conflict: None, ..attempt.clone() };
    assert_eq!(fields(&unmet), begin.clone() + "00");
    let bare = Attempt { conflict: Some(Conflict { meta: None, received_at: 9 }), ..attempt };
    assert_eq!(fields(&bare), begin + "01" + "00" + "0000000000000009");
}

#[test]
fn an_answer_has_its_documented_bytes() {
    let ack = Ack {
        value: Presence::Present(Bytes::new()),
        codec_version: 1,
        etag: Some("e".into()),
        target: Some(identity()),
        received_at: 3,
    };
    assert_eq!(
        fields(&ack),
        text("PRESENT")
            + &text("")
            + "00000001"
            + "01"
            + &text("e")
            + "01"
            + &key_text()
            + "0000000000000003"
    );
}

#[test]
fn a_failure_has_its_documented_bytes() {
    let failure = Failure {
        generation: 1,
        kind: FailureKind::Transport,
        detail: "push-failed".into(),
        message: "why".into(),
        first_at: 1,
        last_at: 2,
        count: 3,
    };
    assert_eq!(
        fields(&failure),
        "00000001".to_owned()
            + &text("TRANSPORT")
            + &text("push-failed")
            + &text("why")
            + "0000000000000001"
            + "0000000000000002"
            + "00000003"
    );
}

#[test]
fn an_effect_has_its_documented_bytes() {
    let effect =
        |target, disposition, completed_at| Effect { target, created_at: 1, disposition, completed_at };
    assert_eq!(
        fields(&effect(EffectTarget::Namespace("n".into()), Disposition::Pending, None)),
        text("NAMESPACE") + &text("n") + "0000000000000001" + &text("PENDING") + "00"
    );
    assert_eq!(
        fields(&effect(EffectTarget::Key(identity()), Disposition::Skipped, Some(2))),
        text("KEY") + &key_text() + "0000000000000001" + &text("SKIPPED") + "010000000000000002"
    );
}

#[test]
fn an_alias_has_its_documented_bytes() {
    let alias = Alias {
        target: identity(),
        state: AliasState::Active,
        created_by: 4,
        created_at: 1,
        activated_at: Some(2),
    };
    assert_eq!(
        fields(&alias),
        key_text() + &text("ACTIVE") + "0000000000000004" + "0000000000000001" + "010000000000000002"
    );
}

#[test]
fn a_tombstone_has_its_documented_bytes() {
    let tombstone = Tombstone {
        state: TombstoneState::Superseded,
        created_at: 1,
        activated_at: Some(2),
        superseded_by: Some(5),
        superseded_at: Some(3),
    };
    assert_eq!(
        fields(&tombstone),
        text("SUPERSEDED")
            + "0000000000000001"
            + "010000000000000002"
            + "010000000000000005"
            + "010000000000000003"
    );
}

/// A value with the right checksum, whatever its fields are.
fn sealed(key: &[u8], fields: &[u8]) -> Bytes {
    let mut value = vec![FORMAT_VERSION];
    value.extend_from_slice(fields);
    let sum = checksum(key, &value);
    value.extend_from_slice(&sum.to_be_bytes());
    value.into()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex")).collect()
}

fn refuses<R: Row + std::fmt::Debug>(what: &str, fields: &str) {
    let value = sealed(b"k", &unhex(fields));
    assert_eq!(decode::<R>(b"k", &value).err(), Some(RowError::Fields), "{what}");
}

#[test]
fn fields_that_are_right_by_checksum_alone_are_refused() {
    let zeros = "0000000000000000";
    let execution = |phase: &str, rest: &str| text(phase) + "00000000" + "00000000" + rest;
    refuses::<Execution>("a phase by another name", &execution("unprepared", "0000000000"));
    refuses::<Execution>("a phase by its number", &execution("1", "0000000000"));
    refuses::<Execution>("a flag of 2", &execution("UNPREPARED", "0000020000"));
    refuses::<Execution>("an optional of 2", &execution("UNPREPARED", "0200000000"));
    refuses::<Execution>("a byte too many", &execution("UNPREPARED", "000000000000"));
    refuses::<Execution>("a byte too few", &execution("UNPREPARED", "00000000"));
    refuses::<Execution>("a failure beyond 2^63", &execution("UNPREPARED", "0001ffffffffffffffff000000"));
    refuses::<Client>(
        "a sequence beyond 2^63",
        &(text("c") + zeros + "8000000000000000" + zeros + zeros + zeros),
    );
    refuses::<Client>("a text that is no UTF-8", &("00000001ff".to_owned() + &zeros.repeat(5)));
    refuses::<Client>("a length past the end", &("7fffffff63".to_owned() + &zeros.repeat(5)));
    let intent = |version: &str| key_text() + &text("m") + version + &text("") + "00" + zeros;
    refuses::<Intent>("a mutator version of 0", &intent("00000000"));
    let failure = |kind: &str, count: &str| {
        "00000000".to_owned() + &text(kind) + &text("d") + &text("m") + zeros + zeros + count
    };
    refuses::<Failure>("a kind by another name", &failure("NONE", "00000001"));
    refuses::<Failure>("a count of 0", &failure("CODEC", "00000000"));
    refuses::<Effect>(
        "a kind by another name",
        &(text("key") + &key_text() + zeros + &text("PENDING") + "00"),
    );
    refuses::<Effect>(
        "a disposition by another name",
        &(text("NAMESPACE") + &text("n") + zeros + &text("DONE") + "00"),
    );
    refuses::<Alias>("a state by another name", &(key_text() + &text("SUPERSEDED") + zeros + zeros + "00"));
    refuses::<Tombstone>("a state by another name", &(text("APPLIED") + zeros + "000000"));
    refuses::<Ack>("a presence by another name", &(text("NULL") + "00000001" + "0000" + zeros));
}

#[test]
fn a_later_version_is_told_apart_from_damage() {
    let key = CLIENT_KEY;
    let value = encode(key, &Client::new("c".into(), 1, 1));
    let mut later = value.to_vec();
    later[0] = 2;
    assert_eq!(decode::<Client>(key, &later.clone().into()).err(), Some(RowError::Version(2)));
    let sum = checksum(key, &later[..later.len() - 4]).to_be_bytes();
    let at = later.len() - 4;
    later[at..].copy_from_slice(&sum);
    assert_eq!(decode::<Client>(key, &later.into()).err(), Some(RowError::Version(2)));
}

#[test]
fn a_row_belongs_to_its_key() {
    let (one, two) = (mutation_key(1, Part::Execution), mutation_key(2, Part::Execution));
    let value = encode(&one, &Execution::new());
    assert_eq!(decode::<Execution>(&two, &value).err(), Some(RowError::Checksum));
}

fn short() -> impl Strategy<Value = std::sync::Arc<str>> {
    "[a\0é\u{1F600}]{0,5}".prop_map(Into::into)
}

fn some_identity() -> impl Strategy<Value = Identity> {
    (short(), short()).prop_map(|(namespace, id)| Identity { namespace, id })
}

fn presence() -> impl Strategy<Value = Presence> {
    prop_oneof![
        Just(Presence::Absent),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Presence::Present(bytes.into()))
    ]
}

fn meta() -> impl Strategy<Value = Option<Meta>> {
    prop::option::of(
        (prop::option::of(any::<i64>()), prop::option::of(short()))
            .prop_map(|(written_at, etag)| Meta { written_at, etag }),
    )
}

fn sequence() -> impl Strategy<Value = u64> {
    0..=i64::MAX.unsigned_abs()
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let conflict = prop::option::of((meta(), any::<i64>()))
        .prop_map(|it| it.map(|(meta, received_at)| Conflict { meta, received_at }));
    (
        some_identity(),
        any::<u32>(),
        presence(),
        presence(),
        meta(),
        sequence(),
        short(),
        any::<i64>(),
        conflict,
    )
        .prop_map(
            |(
                identity,
                codec_version,
                base,
                mine,
                precondition,
                retired_through,
                key,
                prepared_at,
                conflict,
            )| {
                Attempt {
                    identity,
                    codec_version,
                    base,
                    mine,
                    precondition,
                    retired_through,
                    idempotency_key: key,
                    prepared_at,
                    conflict,
                }
            },
        )
}

fn execution() -> impl Strategy<Value = Execution> {
    let dismissed = prop::option::of((any::<i64>(), short()).prop_map(|(at, note)| Dismissal { at, note }));
    let phases =
        prop::sample::select(vec![Phase::Ready, Phase::RefreshRequired, Phase::Parked, Phase::Retired]);
    (
        phases,
        any::<(u32, u32)>(),
        prop::option::of(any::<i64>()),
        prop::option::of(sequence()),
        any::<bool>(),
        dismissed,
    )
        .prop_map(
            |(phase, (generation, attempt), at, active_failure, remote_outcome_unknown, dismissed)| {
                Execution {
                    phase,
                    generation,
                    attempt,
                    last_attempt_at: at,
                    active_failure,
                    remote_outcome_unknown,
                    retired_at: at,
                    dismissed,
                }
            },
        )
}

fn ack() -> impl Strategy<Value = Ack> {
    (presence(), any::<u32>(), prop::option::of(short()), prop::option::of(some_identity()), any::<i64>())
        .prop_map(|(value, codec_version, etag, target, received_at)| Ack {
            value,
            codec_version,
            etag,
            target,
            received_at,
        })
}

/// Reads back as itself; with any bit flipped, cut anywhere, or under another key it does not read at all.
fn is_strict<R: Row + PartialEq + std::fmt::Debug>(record: &R, bit: usize, cut: usize) {
    let key = RowKey::Alias(Identity::new("n", "i")).encode();
    let value = encode(&key, record);
    assert_eq!(decode::<R>(&key, &value).as_ref(), Ok(record));
    let mut flipped = value.to_vec();
    let bit = bit % (flipped.len() * 8);
    flipped[bit / 8] ^= 1 << (bit % 8);
    assert!(decode::<R>(&key, &flipped.into()).is_err(), "bit {bit} of {value:?}");
    let cut = cut % value.len();
    assert!(decode::<R>(&key, &value.slice(..cut)).is_err(), "cut at {cut}");
    assert!(decode::<R>(b"another", &value).is_err());
}

proptest! {
    #[test]
    fn an_attempt_reads_back_as_itself_and_nothing_else_does(it in attempt(), bit: usize, cut: usize) {
        is_strict(&it, bit, cut);
    }

    #[test]
    fn an_execution_reads_back_as_itself_and_nothing_else_does(it in execution(), bit: usize, cut: usize) {
        is_strict(&it, bit, cut);
    }

    #[test]
    fn an_answer_reads_back_as_itself_and_nothing_else_does(it in ack(), bit: usize, cut: usize) {
        is_strict(&it, bit, cut);
    }

    #[test]
    fn an_intent_reads_back_as_itself_and_nothing_else_does(
        identity in some_identity(), mutator in short(), version in 1u32.., args: Vec<u8>,
        retry_of in prop::option::of(sequence()), created_at: i64, bit: usize, cut: usize,
    ) {
        let it = Intent { identity, mutator, mutator_version: version, args: args.into(), retry_of, created_at };
        is_strict(&it, bit, cut);
    }

    #[test]
    fn a_failure_reads_back_as_itself_and_nothing_else_does(
        generation: u32, detail in short(), message in short(), first_at: i64, last_at: i64, count in 1u32..,
        bit: usize, cut: usize,
    ) {
        let kind = FailureKind::Codec;
        is_strict(&Failure { generation, kind, detail, message, first_at, last_at, count }, bit, cut);
    }

    #[test]
    fn routes_and_deletions_read_back_as_themselves(
        target in some_identity(), by in sequence(), at: i64, later in prop::option::of(any::<i64>()),
        bit: usize, cut: usize,
    ) {
        let alias =
            Alias { target: target.clone(), state: AliasState::Pending, created_by: by, created_at: at, activated_at: later };
        is_strict(&alias, bit, cut);
        let state = TombstoneState::Active;
        let (activated_at, superseded_at) = (later, later);
        let superseded_by = later.map(|_| by);
        is_strict(&Tombstone { state, created_at: at, activated_at, superseded_by, superseded_at }, bit, cut);
        let target = EffectTarget::Key(target);
        is_strict(&Effect { target, created_at: at, disposition: Disposition::Applied, completed_at: later }, bit, cut);
    }

    #[test]
    fn no_bytes_panic(fields: Vec<u8>) {
        let value = sealed(b"k", &fields);
        let _ = decode::<Client>(b"k", &value);
        let _ = decode::<Intent>(b"k", &value);
        let _ = decode::<Execution>(b"k", &value);
        let _ = decode::<Attempt>(b"k", &value);
        let _ = decode::<Ack>(b"k", &value);
        let _ = decode::<Failure>(b"k", &value);
        let _ = decode::<Effect>(b"k", &value);
        let _ = decode::<Alias>(b"k", &value);
        let _ = decode::<Tombstone>(b"k", &value);
        let _ = decode::<Client>(b"k", &fields.into());
    }
}
