//! Shows what encoded bytes say, or that they say nothing.

use bytes::Bytes;
use parsley_core::causes;
use parsley_core::held::HeldMessage;
use parsley_core::refusal::Reason;

use crate::event::Event;
use crate::hex;

/// The causes in the value of a `parsley.causes` header.
pub(crate) fn causes(bytes: &[u8]) -> Event {
    match causes::decode(bytes) {
        Ok(causes) => Event::Causes(causes),
        Err(error) => {
            Event::Refused { reason: Reason::UndecodableMetadata, text: format!("causes: {error}") }
        }
    }
}

/// The message in a row of the ordering store, of either version.
pub(crate) fn held(key: &[u8], value: Vec<u8>) -> Event {
    match HeldMessage::decode(key, &Bytes::from(value)) {
        Ok(message) => Event::Message(message),
        Err(error) => Event::Refused {
            reason: Reason::UnknownOrderingStateFormat,
            text: format!("row {}: {error}", hex::encode(key)),
        },
    }
}
