//! Strict reading of a JSON object: every field has one meaning, and a field that has none is an error.

use std::sync::Arc;

use parsley_journal::records::Identity;
use serde_json::{Map, Value};

use crate::scenario::NotAScenario;

/// The result of reading a part of a line.
pub(crate) type Read<T> = Result<T, NotAScenario>;

pub(crate) fn wrong<T>(what: impl Into<String>) -> Read<T> {
    Err(NotAScenario(what.into()))
}

/// The fields of an object that are not read yet.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn of(value: Value, what: &str) -> Read<Self> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => wrong(format!("{what} is not a JSON object")),
        }
    }

    pub(crate) fn optional(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(crate) fn required(&mut self, name: &str) -> Read<Value> {
        self.optional(name).map_or_else(|| wrong(format!("{name} is missing")), Ok)
    }

    pub(crate) fn text(&mut self, name: &str) -> Read<String> {
        text(self.required(name)?, name)
    }

    pub(crate) fn key(&mut self, name: &str) -> Read<Identity> {
        key(self.required(name)?, name)
    }

    pub(crate) fn integer(&mut self, name: &str) -> Read<i64> {
        integer(&self.required(name)?, name)
    }

    /// A number from 1 on.
    pub(crate) fn counting(&mut self, name: &str) -> Read<u64> {
        let value = self.integer(name)?;
        match u64::try_from(value) {
            Ok(value) if value > 0 => Ok(value),
            _ => wrong(format!("{name} is {value}, it must be at least 1")),
        }
    }

    pub(crate) fn list(&mut self, name: &str) -> Read<Vec<Value>> {
        list(self.required(name)?, name)
    }

    /// Fails if a field is left: nobody would have read it.
    pub(crate) fn end(self) -> Read<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => wrong(format!("unknown field {name:?}")),
        }
    }
}

pub(crate) fn text(value: Value, what: &str) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        _ => wrong(format!("{what} is not a text")),
    }
}

/// A text or null.
pub(crate) fn nullable_text(value: Value, what: &str) -> Read<Option<Arc<str>>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.into())),
        _ => wrong(format!("{what} is neither a text nor null")),
    }
}

pub(crate) fn integer(value: &Value, what: &str) -> Read<i64> {
    value.as_i64().map_or_else(|| wrong(format!("{what} is not an integer of 64 bits")), Ok)
}

pub(crate) fn unsigned(value: &Value, what: &str) -> Read<u64> {
    match u64::try_from(integer(value, what)?) {
        Ok(value) => Ok(value),
        Err(_) => wrong(format!("{what} is negative")),
    }
}

pub(crate) fn list(value: Value, what: &str) -> Read<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        _ => wrong(format!("{what} is not a list")),
    }
}

pub(crate) fn key(value: Value, what: &str) -> Read<Identity> {
    let parts = list(value, what)?;
    match <[Value; 2]>::try_from(parts) {
        Ok([Value::String(namespace), Value::String(id)]) => Ok(Identity::new(namespace, id)),
        _ => wrong(format!("{what} is not a key: [\"namespace\",\"id\"]")),
    }
}
