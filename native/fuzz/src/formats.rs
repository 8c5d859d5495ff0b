//! The formats of the wire and of the store.

use bytes::Bytes;
use parsley_core::causes;
use parsley_core::held::{self, HeldError, HeldMessage, Record, VERSION_1, VERSION_2};
use parsley_core::keys::{self, HOLD_KEY_BYTES, RowKey};

/// The `parsley.causes` header.
pub fn causes(bytes: &[u8]) {
    let mut causes = Vec::new();
    if causes::decode_into(bytes, &mut causes).is_ok() {
        assert!(causes.windows(2).all(|pair| pair[0].channel < pair[1].channel));
        assert_eq!(causes::encode(&causes), bytes, "a set of causes has one encoding");
    }
    // A partition and a position take nine bytes, so no header makes more causes than that.
    assert!(causes.len() <= bytes.len() / 9);
}

/// The key of a row.
pub fn key(bytes: &[u8]) {
    let Ok(key) = RowKey::parse(bytes) else { return };
    let written = match key {
        RowKey::Version => keys::VERSION_KEY.to_vec(),
        RowKey::FedUpTo(channel) => keys::fed_up_to_key(channel).to_vec(),
        RowKey::Frontier(channel) => keys::frontier_key(channel).to_vec(),
        RowKey::Past(channel) => keys::past_key(channel).to_vec(),
        RowKey::Name(name) => keys::name_key(name),
        RowKey::Hold(channel, position) => keys::hold_key(channel, position).to_vec(),
    };
    assert_eq!(written, bytes, "a key has one encoding");
}

/// The record part of a held row, which also crosses between Java and the native library.
pub fn record(bytes: &[u8]) {
    let read = Record::decode(&Bytes::copy_from_slice(bytes));
    assert_eq!(read.as_ref().err(), held::validate_record(bytes).err().as_ref(), "there is one reader");
    if let Ok(record) = read {
        assert_eq!(record.encode().as_deref(), Some(bytes), "a record has one encoding");
    }
}

/// A held row of version 1: the 29 bytes of its key, then its value after the version byte.
pub fn held_v1(bytes: &[u8]) {
    let Some((key, rest)) = bytes.split_first_chunk::<HOLD_KEY_BYTES>() else { return };
    let value = Bytes::from([&[VERSION_1], rest].concat());
    let Ok(message) = HeldMessage::decode(key, &value) else { return };
    assert_eq!(message.version, VERSION_1);
    let record = message.record.encode().expect("it fitted into the row");
    let mut written = [&[VERSION_1][..], &record].concat();
    written.extend_from_slice(&count(message.causes.len()).to_be_bytes());
    for cause in &message.causes {
        written.extend_from_slice(&cause.channel.to_bytes());
        written.extend_from_slice(&cause.position.get().to_be_bytes());
    }
    assert_eq!(written, value, "a row has one encoding");
    // What an upgrade makes of it.
    let upgraded = held::encode(key, &causes::encode(&message.causes), &record);
    let upgraded = HeldMessage::decode(key, &upgraded).expect("what was read can be written");
    assert_eq!(upgraded, HeldMessage { version: VERSION_2, ..message });
}

/// A held row of version 2: the 29 bytes of its key, then its value between version byte and checksum. The checksum is
/// put right, since no fuzzer would guess one.
pub fn held_v2(bytes: &[u8]) {
    let Some((key, rest)) = bytes.split_first_chunk::<HOLD_KEY_BYTES>() else { return };
    let value = Bytes::from(with_checksum(key, [&[VERSION_2], rest].concat()));
    let Ok(message) = HeldMessage::decode(key, &value) else { return };
    assert_eq!(message.version, VERSION_2);
    let record = message.record.encode().expect("it fitted into the row");
    assert_eq!(held::encode(key, &causes::encode(&message.causes), &record), value, "a row has one encoding");
    // One flipped bit, wherever the last bytes say.
    let bit =
        value.iter().rev().take(4).fold(0, |bit, byte| bit << 8 | usize::from(*byte)) % (value.len() * 8);
    let mut flipped = value.to_vec();
    flipped[bit / 8] ^= 1 << (bit % 8);
    let refused = HeldMessage::decode(key, &Bytes::from(flipped));
    // The first byte tells how to read the others, so a flip there is another version.
    assert!(
        matches!(refused, Err(HeldError::Checksum | HeldError::Version)) || bit < 8,
        "bit {bit}: {refused:?}"
    );
}

/// A value of version 2 without its checksum, and the checksum that belongs to it.
pub(crate) fn with_checksum(key: &[u8], mut body: Vec<u8>) -> Vec<u8> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(&body);
    body.extend_from_slice(&hasher.finalize().to_be_bytes());
    body
}

fn count(of: usize) -> i32 {
    i32::try_from(of).expect("they came out of a row that counts them so")
}
