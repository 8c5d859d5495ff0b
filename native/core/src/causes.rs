//! The causes of a record: the value of its `parsley.causes` header.
//!
//! ```text
//! value := 01 topicCount group*     group := topicId(16) partitionCount pair*     pair := partition position
//! topicCount, partitionCount, partition: minimal unsigned LEB128, 0..2^31-1       position: int64 big-endian
//! ```
//! A set of causes has exactly one encoding, so equal sets are equal bytes. Every rule is judged in the order in
//! which the bytes are read, and no length is believed before it is checked against the bytes left.

use crate::channel::{ChannelId, Partition, Position, TopicId};
use crate::reader::Reader;

/// Name of the record header that carries the causes.
pub const CAUSES_HEADER: &str = "parsley.causes";

/// Header names that begin with this belong to Parsley; an application may not write them.
pub const RESERVED_HEADER_PREFIX: &str = "parsley.";

const FORMAT: u8 = 0x01;

/// One record that something depends on: everything on `channel` up to `position`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Where it lies.
    pub channel: ChannelId,
    /// The highest position depended on.
    pub position: Position,
}

/// Why bytes are no encoded causes, in the words of the rule that they break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CausesError {
    /// Rule (a).
    #[error("the bytes end too early")]
    Cut,
    /// Rule (b).
    #[error("the first byte is not 01")]
    Format,
    /// Rule (c).
    #[error("a count or partition is not a minimal LEB128 number of 0 to 2147483647")]
    Varint,
    /// Rule (d).
    #[error("a topic id is all zero")]
    ZeroTopic,
    /// Rule (d).
    #[error("topic ids do not ascend as unsigned bytes")]
    TopicOrder,
    /// Rule (e).
    #[error("a topic has no partitions")]
    EmptyGroup,
    /// Rule (e).
    #[error("partitions do not ascend")]
    PartitionOrder,
    /// Rule (f).
    #[error("a position is negative or reserved")]
    Position,
    /// Rule (g).
    #[error("bytes follow the last topic")]
    Trailing,
}

/// Decodes into `causes`, in channel order; what it held before is dropped.
///
/// On an error `causes` holds an undefined prefix. Allocates at most one [`Cause`] per nine bytes of input.
pub fn decode_into(bytes: &[u8], causes: &mut Vec<Cause>) -> Result<(), CausesError> {
    decode_placed(bytes, causes, |_| ())
}

/// As [`decode_into`]; `placed` gets the index of each position's first byte, in order.
pub(crate) fn decode_placed(
    bytes: &[u8],
    causes: &mut Vec<Cause>,
    mut placed: impl FnMut(usize),
) -> Result<(), CausesError> {
    causes.clear();
    let mut reader = Reader::new(bytes);
    if reader.u8().ok_or(CausesError::Cut)? != FORMAT {
        return Err(CausesError::Format);
    }
    let topic_count = varint(&mut reader)?;
    let mut previous_topic = None;
    for _ in 0..topic_count {
        let topic = reader.array().ok_or(CausesError::Cut)?;
        let topic = TopicId::from_bytes(topic).ok_or(CausesError::ZeroTopic)?;
        if previous_topic.is_some_and(|previous| topic <= previous) {
            return Err(CausesError::TopicOrder);
        }
        previous_topic = Some(topic);
        decode_group(&mut reader, topic, |cause, remaining| {
            placed(bytes.len() - remaining - 8);
            causes.push(cause);
        })?;
    }
    if reader.remaining() != 0 {
        return Err(CausesError::Trailing);
    }
    Ok(())
}

fn decode_group(
    reader: &mut Reader<'_>,
    topic: TopicId,
    mut take: impl FnMut(Cause, usize),
) -> Result<(), CausesError> {
    let partition_count = varint(reader)?;
    if partition_count == 0 {
        return Err(CausesError::EmptyGroup);
    }
    let mut previous_partition = None;
    for _ in 0..partition_count {
        let partition = Partition::from_u32(varint(reader)?).ok_or(CausesError::Varint)?;
        if previous_partition.is_some_and(|previous| partition <= previous) {
            return Err(CausesError::PartitionOrder);
        }
        previous_partition = Some(partition);
        let position = reader.i64().ok_or(CausesError::Cut)?;
        let position = Position::new(position).ok_or(CausesError::Position)?;
        take(Cause { channel: ChannelId { topic, partition }, position }, reader.remaining());
    }
    Ok(())
}

/// Decodes to a list in channel order.
pub fn decode(bytes: &[u8]) -> Result<Vec<Cause>, CausesError> {
    let mut causes = Vec::new();
    decode_into(bytes, &mut causes)?;
    Ok(causes)
}

/// Encodes causes that strictly ascend by channel.
pub fn encode(causes: &[Cause]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.encode(causes.iter().copied(), |_| ());
    encoder.into_bytes()
}

/// Writes the encoding into a buffer that is kept, and tells where each position went.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Encodes anew. `placed` gets the index of each position's first byte, in order, for [`Self::patch`].
    pub(crate) fn encode(
        &mut self,
        causes: impl Iterator<Item = Cause> + Clone,
        mut placed: impl FnMut(usize),
    ) {
        self.bytes.clear();
        self.bytes.push(FORMAT);
        push_varint(&mut self.bytes, count_topics(causes.clone()));
        let mut rest = causes.peekable();
        while let Some(first) = rest.peek().copied() {
            let topic = first.channel.topic;
            self.bytes.extend_from_slice(&topic.to_bytes());
            let partitions = rest.clone().take_while(|cause| cause.channel.topic == topic).count();
            push_varint(&mut self.bytes, bounded(partitions));
            for cause in rest.by_ref().take(partitions) {
                push_varint(&mut self.bytes, cause.channel.partition.get());
                placed(self.bytes.len());
                self.bytes.extend_from_slice(&cause.position.get().to_be_bytes());
            }
        }
    }

    /// Overwrites one position in place: positions have a fixed width, so nothing else moves.
    pub(crate) fn patch(&mut self, index: usize, position: Position) {
        self.bytes[index..index + 8].copy_from_slice(&position.get().to_be_bytes());
    }
}

fn count_topics(causes: impl Iterator<Item = Cause>) -> u32 {
    let mut count = 0;
    let mut previous = None;
    for cause in causes {
        if previous.replace(cause.channel.topic) != Some(cause.channel.topic) {
            count += 1;
        }
    }
    bounded(count)
}

/// A count of things that are in memory: 2^31 causes would take 64 GiB.
fn bounded(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^31 causes fit in memory")
}

/// Most bytes of a number up to 2^31-1 in LEB128.
const VARINT_BYTES_MAX: usize = 5;

fn varint(reader: &mut Reader<'_>) -> Result<u32, CausesError> {
    let mut value = 0;
    for index in 0..VARINT_BYTES_MAX {
        let byte = reader.u8().ok_or(CausesError::Cut)?;
        if index == VARINT_BYTES_MAX - 1 && byte > 0x07 {
            return Err(CausesError::Varint);
        }
        value |= u32::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let padded = byte == 0 && index > 0;
            return if padded { Err(CausesError::Varint) } else { Ok(value) };
        }
    }
    // The fifth byte was at most 07, so it had no continuation bit and the loop returned.
    Err(CausesError::Varint)
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests;
