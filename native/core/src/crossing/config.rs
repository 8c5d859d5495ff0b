//! The argument of `NativeEngine.open`: `int64 budgetBytes | int32 count | per received channel: int32 nameLength,
//! UTF-8 name, topicId (16 bytes), int32 partition, int64 start (0 = none)`.

use std::collections::HashSet;

use crate::channel::{ChannelId, Partition, TopicId};
use crate::crossing::packed::{Cursor, Malformed};
use crate::received::Received;
use bytes::Bytes;

/// What an engine is opened with.
#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    /// Most bytes of causes that a record may carry.
    pub budget_bytes: usize,
    /// The received channels, each once, in the order in which Java counts them.
    pub received: Vec<Received>,
}

impl Config {
    /// Reads the whole argument.
    pub fn read(bytes: Bytes) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let budget_bytes = usize::try_from(cursor.i64()?).ok().filter(|budget| *budget > 0);
        let budget_bytes = budget_bytes.ok_or_else(|| cursor.malformed("the budget is below 1"))?;
        let count = cursor.i32()?;
        let mut received = Vec::new();
        let mut channels = HashSet::new();
        for _ in 0..count {
            let one = channel(&mut cursor)?;
            if !channels.insert(one.channel) {
                return Err(cursor.malformed("a channel is given twice"));
            }
            received.push(one);
        }
        if count < 0 || !cursor.is_at_end() {
            return Err(cursor.malformed("the count of channels is not theirs"));
        }
        Ok(Self { budget_bytes, received })
    }
}

fn channel(cursor: &mut Cursor) -> Result<Received, Malformed> {
    let name = String::from_utf8(cursor.sized()?.into()).ok().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| cursor.malformed("a topic name is empty or not UTF-8"))?;
    let topic = TopicId::from_bytes(cursor.array()?);
    let topic = topic.ok_or_else(|| cursor.malformed("a topic id is all zero"))?;
    let partition = Partition::new(cursor.i32()?);
    let partition = partition.ok_or_else(|| cursor.malformed("a partition is negative"))?;
    Ok(Received { name, channel: ChannelId { topic, partition }, start: cursor.i64()? })
}

/// Reads topic ids, 16 bytes each.
pub fn read_topics(ids: &[u8]) -> Result<Vec<TopicId>, Malformed> {
    let (topics, rest) = ids.as_chunks();
    if !rest.is_empty() {
        return Err(Malformed { at: ids.len() - rest.len(), what: "a topic id has 16 bytes" });
    }
    let read = |(index, id): (usize, &[u8; 16])| {
        TopicId::from_bytes(*id).ok_or(Malformed { at: index * 16, what: "a topic id is all zero" })
    };
    topics.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(budget: i64, count: i32, channels: &[(&[u8], [u8; 16], i32, i64)]) -> Vec<u8> {
        let mut bytes = [&budget.to_be_bytes()[..], &count.to_be_bytes()].concat();
        for (name, topic, partition, start) in channels {
            bytes.extend_from_slice(&i32::try_from(name.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(topic);
            bytes.extend_from_slice(&partition.to_be_bytes());
            bytes.extend_from_slice(&start.to_be_bytes());
        }
        bytes
    }

    fn is_malformed(bytes: &[u8]) -> bool {
        Config::read(Bytes::copy_from_slice(bytes)).is_err()
    }

    #[test]
    fn every_field_is_read() {
        let config =
            Config::read(bytes(9, 2, &[(b"a", [1; 16], 3, 7), (b"b", [2; 16], 0, 0)]).into()).unwrap();
        assert_eq!(config.budget_bytes, 9);
        assert_eq!(config.received.len(), 2);
        assert_eq!(config.received[0].name, "a");
        assert_eq!(config.received[0].channel.to_string(), "01010101010101010101010101010101:3");
        assert_eq!(config.received[0].start, 7);
        assert_eq!(config.received[1].name, "b");
    }

    #[test]
    fn every_cut_is_malformed() {
        let whole = bytes(9, 2, &[(b"a", [1; 16], 3, 7), (b"b", [2; 16], 0, 0)]);
        for cut in 0..whole.len() {
            assert!(is_malformed(&whole[..cut]), "cut at {cut}");
        }
        assert!(is_malformed(&[&whole[..], &[0]].concat()));
    }

    #[test]
    fn impossible_fields_are_malformed() {
        let good: (&[u8], _, _, _) = (b"a", [1; 16], 3, 7);
        assert!(!is_malformed(&bytes(1, 1, &[good])));
        assert!(!is_malformed(&bytes(1, 0, &[])));
        assert!(is_malformed(&bytes(0, 1, &[good])));
        assert!(is_malformed(&bytes(-1, 1, &[good])));
        assert!(is_malformed(&bytes(1, -1, &[])));
        assert!(is_malformed(&bytes(1, i32::MAX, &[good])));
        assert!(is_malformed(&bytes(1, 2, &[good, good])));
        assert!(is_malformed(&bytes(1, 1, &[(b"", [1; 16], 3, 7)])));
        assert!(is_malformed(&bytes(1, 1, &[(b"\xff", [1; 16], 3, 7)])));
        assert!(is_malformed(&bytes(1, 1, &[(b"a", [0; 16], 3, 7)])));
        assert!(is_malformed(&bytes(1, 1, &[(b"a", [1; 16], -1, 7)])));
    }

    #[test]
    fn topic_ids_come_in_sixteens_and_are_not_zero() {
        assert_eq!(read_topics(&[]), Ok(Vec::new()));
        assert_eq!(read_topics(&[[1; 16], [2; 16]].concat()).map(|topics| topics.len()), Ok(2));
        assert_eq!(read_topics(&[1; 17]).map_err(|error| error.at), Err(16));
        assert_eq!(read_topics(&[0; 16]).map_err(|error| error.at), Err(0));
    }
}
