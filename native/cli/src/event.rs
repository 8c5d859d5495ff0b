//! What a command answers, and its form as JSON: one object a line.

use bytes::Bytes;
use parsley_core::causes::{self, Cause};
use parsley_core::channel::{ChannelId, Position};
use parsley_core::engine::Blocked;
use parsley_core::held::HeldMessage;
use parsley_core::keys::RowKey;
use parsley_core::refusal::Reason;
use serde_json::{Map, Value, json};

use crate::hex;

/// One line of output.
#[derive(Debug)]
pub(crate) enum Event {
    /// The record was fed before and is dropped.
    Duplicate(ChannelId, Position),
    /// The record goes to the application.
    Delivered(ChannelId, Position),
    /// The record was taken in and waits.
    Held(ChannelId, Position),
    /// The encoded causes of what would be sent now.
    Stamp(Vec<u8>),
    /// What waits, and for what.
    Status {
        /// Channels that hold something, in channel order, with how many messages.
        held: Vec<(ChannelId, usize)>,
        /// Heads that can't be delivered now, in channel order.
        blocked: Vec<Blocked>,
    },
    /// All rows, in key order.
    Store(Vec<(Bytes, Bytes)>),
    /// Decoded causes, in channel order.
    Causes(Vec<Cause>),
    /// The engine or a decoder refused.
    Refused {
        /// The name that is printed.
        reason: Reason,
        /// What happened, in words for people; no part of the line.
        text: String,
    },
    /// One held message, as [`Event::Store`] shows it.
    Message(HeldMessage),
}

impl Event {
    /// The line, without its end.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Duplicate(channel, position) => at("duplicate", *channel, *position),
            Self::Delivered(channel, position) => at("delivered", *channel, *position),
            Self::Held(channel, position) => at("held", *channel, *position),
            Self::Stamp(causes) => json!({"event": "stamp", "causes": hex::encode(causes)}),
            Self::Status { held, blocked } => {
                let held: Map<String, Value> =
                    held.iter().map(|(channel, count)| (channel.to_string(), json!(count))).collect();
                let blocked: Vec<Value> = blocked.iter().map(blocked_head).collect();
                json!({"event": "status", "held": held, "blocked": blocked})
            }
            Self::Store(rows) => {
                let rows: Vec<Value> = rows
                    .iter()
                    .map(|(key, value)| json!([hex::encode(key), row_value(key, value)]))
                    .collect();
                json!({"event": "store", "rows": rows})
            }
            Self::Causes(causes) => {
                let causes: Vec<Value> = causes
                    .iter()
                    .map(|cause| json!({"channel": cause.channel.to_string(), "position": cause.position.get()}))
                    .collect();
                json!({"event": "causes", "causes": causes})
            }
            Self::Message(message) => held_message(message),
            Self::Refused { reason, .. } => json!({"event": "refused", "reason": reason.name()}),
        }
    }
}

fn at(event: &str, channel: ChannelId, position: Position) -> Value {
    json!({"event": event, "channel": channel.to_string(), "offset": position.get()})
}

fn blocked_head(head: &Blocked) -> Value {
    let causes: Vec<Value> = head
        .causes
        .iter()
        .map(|(cause, settled)| {
            json!({
                "channel": cause.channel.to_string(),
                "required": cause.position.get(),
                "settled": settled,
            })
        })
        .collect();
    json!({"channel": head.channel.to_string(), "offset": head.position.get(), "causes": causes})
}

fn row_value(key: &[u8], value: &Bytes) -> Value {
    if !matches!(RowKey::parse(key), Ok(RowKey::Hold(..))) {
        return json!(hex::encode(value));
    }
    held_message(
        &HeldMessage::decode(key, value).expect("the engine wrote this row, or judged it when it opened"),
    )
}

/// A held message in fields, its place left to the row's key.
fn held_message(message: &HeldMessage) -> Value {
    let record = &message.record;
    let field = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| hex::encode(bytes));
    let headers: Vec<Value> =
        record.headers.iter().map(|header| json!([header.name, field(&header.value)])).collect();
    json!({
        "timestamp": record.timestamp,
        "key": field(&record.key),
        "value": field(&record.value),
        "headers": headers,
        "causes": hex::encode(&causes::encode(&message.causes)),
    })
}
