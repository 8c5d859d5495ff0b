//! The value of a held message's row, byte by byte. All integers are big-endian.
//!
//! ```text
//! version 2 (written)   := 02 | int32 causesLength | causes | record | crc32
//! version 1 (read only) := 01 | record | int32 causeCount | per cause: channelId(20), int64 position
//! record                := int64 timestamp | flags (bit 0: key null, bit 1: value null)
//!                          | [int32 length, key] | [int32 length, value]
//!                          | int32 headerCount | per header: int32 length, UTF-8 name, int32 length or -1, value
//! ```
//! `causes` is the encoding of [`crate::causes`]. `crc32` (IEEE) is taken over the 29 bytes of the row's key and every
//! byte of the value before it, so a flipped bit, a cut and a row under another key are all caught.
//! The record part crosses to Java and back as it stands, all headers as received.

use bytes::Bytes;

use crate::causes::{self, Cause, CausesError};
use crate::channel::{ChannelId, Position};
use crate::keys::{HOLD_KEY_BYTES, KeyError, RowKey};
use crate::reader::Reader;
use crate::sabotage;

/// The version byte that rows of version 1 begin with.
pub const VERSION_1: u8 = 0x01;
/// The version byte of the rows that this build writes.
pub const VERSION_2: u8 = 0x02;

const KEY_NULL: u8 = 0b01;
const VALUE_NULL: u8 = 0b10;
const CRC_BYTES: usize = 4;

/// Why a row is no held message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeldError {
    /// The key is not that of a held message.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The key is one of another class.
    #[error("the key is not that of a held message")]
    KeyClass,
    /// The first byte.
    #[error("the version is unknown")]
    Version,
    /// The checksum of key and value.
    #[error("the checksum does not match key and value")]
    Checksum,
    /// A length that is negative or reaches past the end.
    #[error("a length is negative or reaches past the end")]
    Length,
    /// Bits of the flags byte that have no meaning.
    #[error("unknown flag bits are set")]
    Flags,
    /// A header's name.
    #[error("a header name is not UTF-8")]
    HeaderName,
    /// The causes of version 2.
    #[error("the causes are wrong: {0}")]
    Causes(#[from] CausesError),
    /// A cause of version 1 with an impossible channel or position.
    #[error("a cause has an impossible channel or position")]
    Cause,
    /// Causes of version 1 that are not strictly ascending.
    #[error("the causes do not ascend")]
    CauseOrder,
    /// More than the message.
    #[error("bytes follow the message")]
    Trailing,
}

/// A record header as received. A null value is not an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<Bytes>,
}

/// A record as received, without its place. Null, empty and absent are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Milliseconds since the epoch, or -1.
    pub timestamp: i64,
    /// The key, or null.
    pub key: Option<Bytes>,
    /// The value, or null.
    pub value: Option<Bytes>,
    /// All headers, in order, repeated names included.
    pub headers: Vec<Header>,
}

impl Record {
    /// Encodes the record part. `None` when a field is longer than 2^31-1 bytes.
    pub fn encode(&self) -> Option<Bytes> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.timestamp.to_be_bytes());
        let key_null = if self.key.is_none() { KEY_NULL } else { 0 };
        let value_null = if self.value.is_none() { VALUE_NULL } else { 0 };
        bytes.push(key_null | value_null);
        for field in [&self.key, &self.value].into_iter().flatten() {
            push_field(&mut bytes, field)?;
        }
        bytes.extend_from_slice(&i32::try_from(self.headers.len()).ok()?.to_be_bytes());
        for header in &self.headers {
            push_field(&mut bytes, header.name.as_bytes())?;
            match &header.value {
                Some(value) => push_field(&mut bytes, value)?,
                None => bytes.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
        Some(Bytes::from(bytes))
    }

    /// Decodes a record part; the fields share its memory.
    pub fn decode(bytes: &Bytes) -> Result<Self, HeldError> {
        let mut record = Self { timestamp: 0, key: None, value: None, headers: Vec::new() };
        let mut reader = Reader::new(bytes);
        walk(&mut reader, &mut |field| match field {
            Field::Timestamp(timestamp) => record.timestamp = timestamp,
            Field::Key(key) => record.key = Some(bytes.slice_ref(key)),
            Field::Value(value) => record.value = Some(bytes.slice_ref(value)),
            Field::Header(name, value) => {
                let value = value.map(|value| bytes.slice_ref(value));
                record.headers.push(Header { name: name.to_owned(), value });
            }
        })?;
        if reader.remaining() != 0 {
            return Err(HeldError::Trailing);
        }
        Ok(record)
    }
}

fn push_field(bytes: &mut Vec<u8>, field: &[u8]) -> Option<()> {
    bytes.extend_from_slice(&i32::try_from(field.len()).ok()?.to_be_bytes());
    bytes.extend_from_slice(field);
    Some(())
}

/// One field of a record part, as it is read.
enum Field<'a> {
    Timestamp(i64),
    Key(&'a [u8]),
    Value(&'a [u8]),
    Header(&'a str, Option<&'a [u8]>),
}

/// Reads one record part, field by field. The only reader of this layout; allocates nothing.
fn walk<'a>(reader: &mut Reader<'a>, visit: &mut dyn FnMut(Field<'a>)) -> Result<(), HeldError> {
    visit(Field::Timestamp(reader.i64().ok_or(HeldError::Length)?));
    let flags = reader.u8().ok_or(HeldError::Length)?;
    if flags & !(KEY_NULL | VALUE_NULL) != 0 {
        return Err(HeldError::Flags);
    }
    if flags & KEY_NULL == 0 {
        visit(Field::Key(field(reader)?));
    }
    if flags & VALUE_NULL == 0 {
        visit(Field::Value(field(reader)?));
    }
    for _ in 0..count(reader)? {
        let name = std::str::from_utf8(field(reader)?).map_err(|_| HeldError::HeaderName)?;
        let value = match reader.i32().ok_or(HeldError::Length)? {
            -1 => None,
            length => Some(sized(reader, length)?),
        };
        visit(Field::Header(name, value));
    }
    Ok(())
}

fn field<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], HeldError> {
    let length = reader.i32().ok_or(HeldError::Length)?;
    sized(reader, length)
}

fn sized<'a>(reader: &mut Reader<'a>, length: i32) -> Result<&'a [u8], HeldError> {
    let length = usize::try_from(length).map_err(|_| HeldError::Length)?;
    reader.take(length).ok_or(HeldError::Length)
}

fn count(reader: &mut Reader<'_>) -> Result<u32, HeldError> {
    let count = reader.i32().ok_or(HeldError::Length)?;
    u32::try_from(count).map_err(|_| HeldError::Length)
}

/// Refuses bytes that are not exactly one record part. Allocates nothing.
pub fn validate_record(bytes: &[u8]) -> Result<(), HeldError> {
    let mut reader = Reader::new(bytes);
    walk(&mut reader, &mut |_| ())?;
    if reader.remaining() == 0 { Ok(()) } else { Err(HeldError::Trailing) }
}

/// A row taken apart: the causes into a buffer of the caller's, the record part as a slice of the row.
pub(crate) struct Parts {
    pub(crate) version: u8,
    pub(crate) record: std::ops::Range<usize>,
}

/// Judges a row and decodes its causes into `causes`. Allocates at most what the causes take.
pub(crate) fn decode_into(key: &[u8], value: &[u8], causes: &mut Vec<Cause>) -> Result<Parts, HeldError> {
    let RowKey::Hold(..) = RowKey::parse(key)? else {
        return Err(HeldError::KeyClass);
    };
    match value.first() {
        Some(&VERSION_1) => decode_v1(value, causes),
        Some(&VERSION_2) => decode_v2(key, value, causes),
        Some(_) => Err(HeldError::Version),
        None => Err(HeldError::Length),
    }
}

fn decode_v1(value: &[u8], causes: &mut Vec<Cause>) -> Result<Parts, HeldError> {
    let mut reader = Reader::new(&value[1..]);
    walk(&mut reader, &mut |_| ())?;
    let record = 1..value.len() - reader.remaining();
    causes.clear();
    for _ in 0..count(&mut reader)? {
        let channel =
            ChannelId::from_bytes(&reader.array().ok_or(HeldError::Length)?).ok_or(HeldError::Cause)?;
        let position = Position::new(reader.i64().ok_or(HeldError::Length)?).ok_or(HeldError::Cause)?;
        if causes.last().is_some_and(|last| channel <= last.channel) {
            return Err(HeldError::CauseOrder);
        }
        causes.push(Cause { channel, position });
    }
    if reader.remaining() != 0 {
        return Err(HeldError::Trailing);
    }
    Ok(Parts { version: VERSION_1, record })
}

fn decode_v2(key: &[u8], value: &[u8], causes: &mut Vec<Cause>) -> Result<Parts, HeldError> {
    let (body, stored) = value.split_last_chunk::<CRC_BYTES>().ok_or(HeldError::Length)?;
    if checksum(key, body) != u32::from_be_bytes(*stored) && !sabotage::is("skip-checksum") {
        return Err(HeldError::Checksum);
    }
    let mut reader = Reader::new(body.get(1..).ok_or(HeldError::Length)?);
    causes::decode_into(field(&mut reader)?, causes)?;
    let record = body.len() - reader.remaining()..body.len();
    walk(&mut reader, &mut |_| ())?;
    if reader.remaining() != 0 {
        return Err(HeldError::Trailing);
    }
    Ok(Parts { version: VERSION_2, record })
}

fn checksum(key: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(body);
    hasher.finalize()
}

/// Encodes a row of version 2 from causes in their wire encoding and a valid record part.
pub fn encode(key: &[u8; HOLD_KEY_BYTES], causes: &[u8], record: &[u8]) -> Bytes {
    let causes_length = i32::try_from(causes.len()).expect("the budget keeps causes below 2^31 bytes");
    let mut value = Vec::with_capacity(1 + 4 + causes.len() + record.len() + CRC_BYTES);
    value.push(VERSION_2);
    value.extend_from_slice(&causes_length.to_be_bytes());
    value.extend_from_slice(causes);
    value.extend_from_slice(record);
    value.extend_from_slice(&checksum(key, &value).to_be_bytes());
    Bytes::from(value)
}

/// A held message, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMessage {
    /// The version of the row it was in.
    pub version: u8,
    /// The record as received.
    pub record: Record,
    /// Its decoded causes in channel order.
    pub causes: Vec<Cause>,
}

impl HeldMessage {
    /// Decodes a row of either version. Fields share the row's memory.
    pub fn decode(key: &[u8], value: &Bytes) -> Result<Self, HeldError> {
        let mut causes = Vec::new();
        let parts = decode_into(key, value, &mut causes)?;
        let record = Record::decode(&value.slice(parts.record))?;
        Ok(Self { version: parts.version, record, causes })
    }
}

#[cfg(test)]
mod tests;
