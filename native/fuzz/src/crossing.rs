//! What crosses from Java.

use bytes::Bytes;
use parsley_core::TopicId;
use parsley_core::crossing::Config;
use parsley_core::crossing::config::read_topics;
use parsley_core::crossing::packed::{pack, unpack, unpack_offsets};

/// Packed rows and packed offsets.
pub fn packed(bytes: &[u8]) {
    let rows = unpack(Bytes::copy_from_slice(bytes));
    let offsets = unpack_offsets(Bytes::copy_from_slice(bytes));
    assert!(offsets.is_err() || rows.is_ok(), "offsets are rows");
    if let Ok(rows) = rows {
        let mut written = Vec::new();
        for (key, value) in rows {
            pack(&mut written, &key, value.as_deref());
        }
        assert_eq!(written, bytes, "rows have one encoding");
    }
    if let Ok(offsets) = offsets {
        let mut written = Vec::new();
        for (name, offset) in offsets {
            let offset = offset.map(i64::to_be_bytes);
            pack(&mut written, name.as_bytes(), offset.as_ref().map(<[u8; 8]>::as_slice));
        }
        assert_eq!(written, bytes, "offsets have one encoding");
    }
}

/// What an engine is opened with, and topic ids.
pub fn config(bytes: &[u8]) {
    if let Ok(topics) = read_topics(bytes) {
        assert_eq!(topics.into_iter().flat_map(TopicId::to_bytes).collect::<Vec<u8>>(), bytes);
    }
    let Ok(config) = Config::read(Bytes::copy_from_slice(bytes)) else { return };
    assert!(config.budget_bytes > 0);
    let mut written =
        i64::try_from(config.budget_bytes).expect("it was read from one").to_be_bytes().to_vec();
    let length = |bytes: usize| i32::try_from(bytes).expect("it was read from one").to_be_bytes();
    written.extend_from_slice(&length(config.received.len()));
    for received in config.received {
        written.extend_from_slice(&length(received.name.len()));
        written.extend_from_slice(received.name.as_bytes());
        written.extend_from_slice(&received.channel.to_bytes());
        written.extend_from_slice(&received.start.to_be_bytes());
    }
    assert_eq!(written, bytes, "a configuration has one encoding");
}
