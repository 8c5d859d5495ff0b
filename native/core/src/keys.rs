//! Keys of the ordering store: one leading tag a class, integers big-endian.
//!
//! | key bytes | length | value |
//! |---|---|---|
//! | `76` (`v`) | 1 | store format version, one byte |
//! | `66` (`f`) channelId | 21 | fedUpTo, int64; 2^63-1 = the topic is confirmed deleted |
//! | `63` (`c`) channelId | 21 | frontier position, int64 |
//! | `70` (`p`) channelId | 21 | delivered past, int64 |
//! | `6e` (`n`) topic name in UTF-8 | 1+n | channelId, 20 bytes |
//! | `68` (`h`) channelId position | 29 | held message |

use crate::channel::{ChannelId, Position};

const VERSION: u8 = b'v';
const FED_UP_TO: u8 = b'f';
const FRONTIER: u8 = b'c';
const PAST: u8 = b'p';
const NAME: u8 = b'n';
const HOLD: u8 = b'h';

/// The key of the version row.
pub const VERSION_KEY: [u8; 1] = [VERSION];

/// Length of a key of one channel.
pub const CHANNEL_KEY_BYTES: usize = 1 + ChannelId::BYTES;
/// Length of a key of a held message.
pub const HOLD_KEY_BYTES: usize = CHANNEL_KEY_BYTES + 8;

/// A key, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKey<'a> {
    /// The store format version.
    Version,
    /// What has been fed of a channel.
    FedUpTo(ChannelId),
    /// What sends depend on.
    Frontier(ChannelId),
    /// What deliveries depended on.
    Past(ChannelId),
    /// The identity recorded for a topic name.
    Name(&'a str),
    /// One held message.
    Hold(ChannelId, Position),
}

/// Why bytes are no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The class is known, its length is not this one.
    #[error("the key has the wrong length for its class")]
    Length,
    /// A frontier or past key of a zero topic id.
    #[error("a frontier or past key has a zero topic id")]
    KnowledgeTopic,
    /// No class has this tag.
    #[error("the key is of no known class")]
    Class,
    /// A channel or position that no record can have.
    #[error("the key names an impossible channel or position")]
    Channel,
    /// A topic name that is empty or not UTF-8.
    #[error("the topic name is empty or not UTF-8")]
    Name,
}

impl<'a> RowKey<'a> {
    /// Reads a key.
    pub fn parse(key: &'a [u8]) -> Result<Self, KeyError> {
        let (tag, rest) = key.split_first().ok_or(KeyError::Class)?;
        match *tag {
            VERSION if rest.is_empty() => Ok(Self::Version),
            VERSION => Err(KeyError::Length),
            FED_UP_TO => channel(rest).map(Self::FedUpTo),
            FRONTIER => knowledge(rest).map(Self::Frontier),
            PAST => knowledge(rest).map(Self::Past),
            NAME => match std::str::from_utf8(rest) {
                Ok(name) if !name.is_empty() => Ok(Self::Name(name)),
                _ => Err(KeyError::Name),
            },
            HOLD => {
                let bytes: &[u8; HOLD_KEY_BYTES - 1] = rest.try_into().map_err(|_| KeyError::Length)?;
                let (id, position) = bytes.split_at(ChannelId::BYTES);
                let position = i64::from_be_bytes(position.try_into().map_err(|_| KeyError::Length)?);
                Ok(Self::Hold(channel(id)?, Position::new(position).ok_or(KeyError::Channel)?))
            }
            _ => Err(KeyError::Class),
        }
    }
}

fn channel(bytes: &[u8]) -> Result<ChannelId, KeyError> {
    let bytes = bytes.try_into().map_err(|_| KeyError::Length)?;
    ChannelId::from_bytes(bytes).ok_or(KeyError::Channel)
}

/// The topic id of a frontier or past row is judged before classes and channels are.
fn knowledge(bytes: &[u8]) -> Result<ChannelId, KeyError> {
    match channel(bytes) {
        Err(KeyError::Channel) if bytes.starts_with(&[0; 16]) => Err(KeyError::KnowledgeTopic),
        other => other,
    }
}

fn channel_key(tag: u8, channel: ChannelId) -> [u8; CHANNEL_KEY_BYTES] {
    let mut key = [tag; CHANNEL_KEY_BYTES];
    key[1..].copy_from_slice(&channel.to_bytes());
    key
}

/// The key of a channel's fedUpTo.
pub fn fed_up_to_key(channel: ChannelId) -> [u8; CHANNEL_KEY_BYTES] {
    channel_key(FED_UP_TO, channel)
}

/// The key of a channel's frontier position.
pub fn frontier_key(channel: ChannelId) -> [u8; CHANNEL_KEY_BYTES] {
    channel_key(FRONTIER, channel)
}

/// The key of a channel's delivered past.
pub fn past_key(channel: ChannelId) -> [u8; CHANNEL_KEY_BYTES] {
    channel_key(PAST, channel)
}

/// The key of the identity recorded for a topic name.
pub fn name_key(topic: &str) -> Vec<u8> {
    [&[NAME], topic.as_bytes()].concat()
}

/// The key of a held message.
pub fn hold_key(channel: ChannelId, position: Position) -> [u8; HOLD_KEY_BYTES] {
    let mut key = [HOLD; HOLD_KEY_BYTES];
    key[1..CHANNEL_KEY_BYTES].copy_from_slice(&channel.to_bytes());
    key[CHANNEL_KEY_BYTES..].copy_from_slice(&position.get().to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel_id() -> ChannelId {
        "8f00000000004000800000000000000b:2".parse().unwrap()
    }

    #[test]
    fn every_class_reads_back() {
        let position = Position::new(9).unwrap();
        assert_eq!(RowKey::parse(b"v"), Ok(RowKey::Version));
        assert_eq!(RowKey::parse(&fed_up_to_key(channel_id())), Ok(RowKey::FedUpTo(channel_id())));
        assert_eq!(RowKey::parse(&frontier_key(channel_id())), Ok(RowKey::Frontier(channel_id())));
        assert_eq!(RowKey::parse(&past_key(channel_id())), Ok(RowKey::Past(channel_id())));
        assert_eq!(RowKey::parse(&name_key("orders")), Ok(RowKey::Name("orders")));
        assert_eq!(
            RowKey::parse(&hold_key(channel_id(), position)),
            Ok(RowKey::Hold(channel_id(), position))
        );
    }

    #[test]
    fn golden_hold_key() {
        let key = hold_key(channel_id(), Position::new(0x0102).unwrap());
        let expected = b"h\x8f\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\x0b\0\0\0\x02\0\0\0\0\0\0\x01\x02";
        assert_eq!(&key, expected);
    }

    #[test]
    fn wrong_keys_name_their_rule() {
        assert_eq!(RowKey::parse(b""), Err(KeyError::Class));
        assert_eq!(RowKey::parse(b"x"), Err(KeyError::Class));
        assert_eq!(RowKey::parse(b"v1"), Err(KeyError::Length));
        assert_eq!(RowKey::parse(b"n"), Err(KeyError::Name));
        assert_eq!(RowKey::parse(b"n\xff"), Err(KeyError::Name));
        for key in [fed_up_to_key(channel_id()), frontier_key(channel_id()), past_key(channel_id())] {
            assert_eq!(RowKey::parse(&key[..20]), Err(KeyError::Length));
        }
        assert_eq!(RowKey::parse(&hold_key(channel_id(), Position::MAX)[..28]), Err(KeyError::Length));
        let mut reserved = hold_key(channel_id(), Position::MAX);
        reserved[28] = 0xff;
        assert_eq!(RowKey::parse(&reserved), Err(KeyError::Channel));
        let mut negative = frontier_key(channel_id());
        negative[17] = 0x80;
        assert_eq!(RowKey::parse(&negative), Err(KeyError::Channel));
        let mut zero = past_key(channel_id());
        zero[1..17].fill(0);
        assert_eq!(RowKey::parse(&zero), Err(KeyError::KnowledgeTopic));
        zero[0] = b'f';
        assert_eq!(RowKey::parse(&zero), Err(KeyError::Channel));
    }
}
