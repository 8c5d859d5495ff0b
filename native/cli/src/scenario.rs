//! The lines of a scenario, read strictly: a line either is an operation in every field or is refused with what is
//! wrong with it. Whether an operation may come where it stands is judged by [`crate::replay`].
//!
//! Fields that no operation knows are ignored, so a scenario can carry notes.

use std::collections::BTreeMap;

use bytes::Bytes;
use parsley_core::channel::{ChannelId, Position};
use parsley_core::engine::{BUDGET_BYTES_DEFAULT, Received};
use parsley_core::held::{Header, Record};
use serde_json::{Map, Value};

use crate::hex;

/// One line.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Sets the committed rows.
    Rows(Vec<(Bytes, Bytes)>),
    /// Starts an execution.
    Open {
        /// Each channel once.
        received: Vec<Received>,
        /// At least 1.
        budget_bytes: usize,
    },
    /// Anything that needs an execution.
    Step(Step),
}

/// What can be done while an execution is open.
#[derive(Debug)]
pub(crate) enum Step {
    /// A record arrives.
    Feed {
        /// Where it comes from.
        channel: ChannelId,
        /// Its offset there.
        position: Position,
        /// The record itself.
        record: Record,
    },
    /// What the broker says of channels' topics.
    Identities {
        /// Channels whose topic is confirmed deleted.
        dead: Vec<ChannelId>,
        /// Channels whose topic was deleted and created again.
        recreated: Vec<ChannelId>,
    },
    /// Asks for the causes of a send.
    Stamp,
    /// Asks what is held, and why.
    Status,
    /// Asks for the rows as after a commit.
    Store,
    /// Commits and goes on.
    Commit,
    /// Drops everything since the last commit and closes.
    Abort,
    /// Drops everything since the last commit and closes.
    Crash,
}

/// What is wrong with a line, in words for its author.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotAScenario(pub(crate) String);

fn wrong<T>(what: impl Into<String>) -> Result<T, NotAScenario> {
    Err(NotAScenario(what.into()))
}

/// Reads one line.
pub(crate) fn parse(line: &[u8]) -> Result<Operation, NotAScenario> {
    let value = serde_json::from_slice(line).map_err(|error| NotAScenario(format!("not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return wrong("not a JSON object");
    };
    let fields = Fields(&fields);
    let op = fields.text("op")?;
    Ok(match op {
        "rows" => Operation::Rows(list(fields.required("rows")?, "rows", row)?),
        "open" => open(&fields)?,
        "feed" => Operation::Step(feed(&fields)?),
        "identities" => Operation::Step(Step::Identities {
            dead: list(fields.required("dead")?, "dead", channel)?,
            recreated: list(fields.required("recreated")?, "recreated", channel)?,
        }),
        "stamp" => Operation::Step(Step::Stamp),
        "status" => Operation::Step(Step::Status),
        "store" => Operation::Step(Step::Store),
        "commit" => Operation::Step(Step::Commit),
        "abort" => Operation::Step(Step::Abort),
        "crash" => Operation::Step(Step::Crash),
        unknown => return wrong(format!("unknown op {unknown:?}")),
    })
}

fn open(fields: &Fields<'_>) -> Result<Operation, NotAScenario> {
    let starts = match fields.optional("start") {
        None => BTreeMap::new(),
        Some(value) => starts(value)?,
    };
    let budget_bytes = match fields.optional("budget") {
        None => BUDGET_BYTES_DEFAULT,
        Some(value) => budget(value)?,
    };
    let mut received: Vec<Received> = Vec::new();
    for (name, value) in object(fields.required("received")?, "received")? {
        if name.is_empty() {
            return wrong("a received topic has an empty name".to_owned());
        }
        let channel = channel(value, "received")?;
        if let Some(other) = received.iter().find(|other| other.channel == channel) {
            return wrong(format!(
                "two names for one channel: {:?} and {name:?} are both {channel}",
                other.name
            ));
        }
        let start = starts.get(&channel).copied().unwrap_or(0);
        received.push(Received { name: name.clone(), channel, start });
    }
    Ok(Operation::Open { received, budget_bytes })
}

fn starts(value: &Value) -> Result<BTreeMap<ChannelId, i64>, NotAScenario> {
    let mut starts = BTreeMap::new();
    for (name, value) in object(value, "start")? {
        let Some(start) = value.as_i64().filter(|start| *start >= 0) else {
            return badly_typed("start", "integers of 0 to 9223372036854775807 by channel", value);
        };
        starts.insert(channel_of(name, "start")?, start);
    }
    Ok(starts)
}

fn budget(value: &Value) -> Result<usize, NotAScenario> {
    match value.as_u64().and_then(|budget| usize::try_from(budget).ok()) {
        Some(budget) if budget >= 1 => Ok(budget),
        _ => badly_typed("budget", "an integer of at least 1", value),
    }
}

fn feed(fields: &Fields<'_>) -> Result<Step, NotAScenario> {
    let channel = channel(fields.required("channel")?, "channel")?;
    let offset = fields.required("offset")?;
    let Some(position) = offset.as_i64().and_then(Position::new) else {
        return badly_typed("offset", "an integer of 0 to 9223372036854775806", offset);
    };
    let timestamp = fields.required("timestamp")?;
    let Some(timestamp) = timestamp.as_i64() else {
        return badly_typed("timestamp", "an integer of 64 bits", timestamp);
    };
    let bytes_or_null = |name| fields.optional(name).map_or(Ok(None), |value| nullable_bytes(value, name));
    let record = Record {
        timestamp,
        key: bytes_or_null("key")?,
        value: bytes_or_null("value")?,
        headers: match fields.optional("headers") {
            None => Vec::new(),
            Some(value) => list(value, "headers", header)?,
        },
    };
    Ok(Step::Feed { channel, position, record })
}

fn header(value: &Value, field: &str) -> Result<Header, NotAScenario> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(name), value]) => {
            Ok(Header { name: name.clone(), value: nullable_bytes(value, field)? })
        }
        _ => badly_typed(field, "a list of [name, bytes or null]", value),
    }
}

fn row(value: &Value, field: &str) -> Result<(Bytes, Bytes), NotAScenario> {
    match value.as_array().map(Vec::as_slice) {
        Some([key, value]) => Ok((bytes(key, field)?, bytes(value, field)?)),
        _ => badly_typed(field, "a list of [key, value]", value),
    }
}

fn nullable_bytes(value: &Value, field: &str) -> Result<Option<Bytes>, NotAScenario> {
    if value.is_null() { Ok(None) } else { bytes(value, field).map(Some) }
}

fn bytes(value: &Value, field: &str) -> Result<Bytes, NotAScenario> {
    match value.as_str().and_then(hex::decode) {
        Some(bytes) => Ok(Bytes::from(bytes)),
        None => badly_typed(field, "bytes as an even number of lower-case hex digits", value),
    }
}

fn channel(value: &Value, field: &str) -> Result<ChannelId, NotAScenario> {
    match value.as_str() {
        Some(text) => channel_of(text, field),
        None => badly_typed(field, "a channel", value),
    }
}

fn channel_of(text: &str, field: &str) -> Result<ChannelId, NotAScenario> {
    text.parse().map_err(|error| NotAScenario(format!("{field:?}: {error}")))
}

fn object<'a>(value: &'a Value, field: &str) -> Result<&'a Map<String, Value>, NotAScenario> {
    value.as_object().map_or_else(|| badly_typed(field, "an object", value), Ok)
}

/// A list whose elements are all read by `element`.
fn list<T>(
    value: &Value,
    field: &str,
    element: impl Fn(&Value, &str) -> Result<T, NotAScenario>,
) -> Result<Vec<T>, NotAScenario> {
    match value.as_array() {
        Some(values) => values.iter().map(|value| element(value, field)).collect(),
        None => badly_typed(field, "a list", value),
    }
}

fn badly_typed<T>(field: &str, expected: &str, found: &Value) -> Result<T, NotAScenario> {
    wrong(format!("{field:?} takes {expected}, not {found}"))
}

/// The fields of a line.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn optional(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    fn required(&self, name: &str) -> Result<&'a Value, NotAScenario> {
        self.optional(name).map_or_else(|| wrong(format!("{name:?} is missing")), Ok)
    }

    fn text(&self, name: &str) -> Result<&'a str, NotAScenario> {
        let value = self.required(name)?;
        value.as_str().map_or_else(|| badly_typed(name, "a string", value), Ok)
    }
}
