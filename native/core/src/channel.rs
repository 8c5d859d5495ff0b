//! The identities that everything else is built on: topics, partitions, channels, positions.

use std::fmt;
use std::str::FromStr;

/// A topic's identity as the broker gave it, never all zero.
///
/// The derived order is the order of the 16 bytes taken as unsigned, because the halves are their big-endian values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId {
    // Two halves, because a u128 would widen everything that holds an id to its alignment of 16.
    high: u64,
    low: u64,
}

impl TopicId {
    /// Width on the wire and in keys.
    pub const BYTES: usize = 16;

    /// `None` for the all-zero id, which Kafka uses for "no id".
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        Self::from_u128(u128::from_be_bytes(bytes))
    }

    fn from_u128(number: u128) -> Option<Self> {
        let [high, low] = [number >> 64, number & u128::from(u64::MAX)].map(|half| u64::try_from(half).ok());
        (number != 0).then_some(Self { high: high?, low: low? })
    }

    /// The 16 bytes as the broker gave them.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.high.to_be_bytes());
        bytes[8..].copy_from_slice(&self.low.to_be_bytes());
        bytes
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

/// A partition number, 0 to 2^31-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(u32);

impl Partition {
    /// The largest partition number.
    pub const MAX: Partition = Partition(i32::MAX.unsigned_abs());

    /// `None` for a negative number.
    pub fn new(partition: i32) -> Option<Self> {
        u32::try_from(partition).ok().map(Self)
    }

    /// `None` above 2^31-1.
    pub fn from_u32(partition: u32) -> Option<Self> {
        (partition <= Self::MAX.0).then_some(Self(partition))
    }

    /// The number, never above 2^31-1.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Offset of a record on its channel, 0 to 2^63-2. The largest i64 is reserved and is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(i64);

impl Position {
    /// The largest position.
    pub const MAX: Position = Position(i64::MAX - 1);

    /// `None` for a negative or the reserved number.
    pub fn new(position: i64) -> Option<Self> {
        (0..i64::MAX).contains(&position).then_some(Self(position))
    }

    /// The offset.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One ordered source of records: a topic's identity and a partition of it.
///
/// The derived order is the order of the encoded 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId {
    /// The topic's identity.
    pub topic: TopicId,
    /// The partition of that topic.
    pub partition: Partition,
}

impl ChannelId {
    /// Width in keys: topic id and partition.
    pub const BYTES: usize = TopicId::BYTES + 4;

    /// Topic id, then the partition as a big-endian int32.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..TopicId::BYTES].copy_from_slice(&self.topic.to_bytes());
        bytes[TopicId::BYTES..].copy_from_slice(&self.partition.get().to_be_bytes());
        bytes
    }

    /// `None` for a zero topic id or a negative partition.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (topic, partition) = bytes.split_first_chunk()?;
        Some(Self {
            topic: TopicId::from_bytes(*topic)?,
            partition: Partition::new(i32::from_be_bytes(partition.try_into().ok()?))?,
        })
    }
}

/// `<topic id in 32 lower-case hex digits>:<partition>`, the form that [`FromStr`] reads.
impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.topic, self.partition.get())
    }
}

/// A text that is no channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a channel: write <32 lower-case hex digits, not all zero>:<partition 0 to 2147483647>")]
pub struct ChannelFormError(String);

impl FromStr for ChannelId {
    type Err = ChannelFormError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_channel(text).ok_or_else(|| ChannelFormError(text.to_owned()))
    }
}

fn parse_channel(text: &str) -> Option<ChannelId> {
    let (topic, partition) = text.split_once(':')?;
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if topic.len() != 2 * TopicId::BYTES || !topic.bytes().all(hex) {
        return None;
    }
    // One text a channel: no sign, no leading zero.
    let canonical = partition == "0" || !partition.starts_with(['0', '+', '-']);
    if !canonical {
        return None;
    }
    Some(ChannelId {
        topic: TopicId::from_u128(u128::from_str_radix(topic, 16).ok()?)?,
        partition: Partition::from_u32(partition.parse().ok()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<ChannelId> {
        text.parse().ok()
    }

    #[test]
    fn channel_order_is_the_unsigned_order_of_its_bytes() {
        let low = parse("11111111222233334444555555555555:7").unwrap();
        let high = parse("8f00000000004000800000000000000b:0").unwrap();
        assert!(low < high);
        assert!(low.to_bytes() < high.to_bytes());
    }

    #[test]
    fn a_channel_has_one_text() {
        let text = "11111111222233334444555555555555:2147483647";
        assert_eq!(parse(text).unwrap().to_string(), text);
        for wrong in [
            "11111111222233334444555555555555",
            "11111111222233334444555555555555:",
            "11111111222233334444555555555555:00",
            "11111111222233334444555555555555:+1",
            "11111111222233334444555555555555:-1",
            "11111111222233334444555555555555:2147483648",
            "1111111122223333444455555555555:0",
            "8F00000000004000800000000000000b:0",
            "+1111111222233334444555555555555:0",
            "00000000000000000000000000000000:0",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn zero_topic_and_negative_partition_are_no_channel() {
        let good = parse("11111111222233334444555555555555:3").unwrap();
        let mut bytes = good.to_bytes();
        assert_eq!(ChannelId::from_bytes(&bytes), Some(good));
        bytes[16] = 0x80;
        assert_eq!(ChannelId::from_bytes(&bytes), None);
        assert_eq!(ChannelId::from_bytes(&[0; ChannelId::BYTES]), None);
    }

    #[test]
    fn the_largest_i64_is_no_position() {
        assert_eq!(Position::new(i64::MAX), None);
        assert_eq!(Position::new(-1), None);
        assert_eq!(Position::new(i64::MAX - 1), Some(Position::MAX));
    }
}
