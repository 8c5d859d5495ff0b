//! The brokers' side: topics that come and go, and their partitions' logs as a `read_committed` reader sees them.

use crate::random::Random;
use crate::wire::ChannelBytes;

/// How an entry's transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Committed,
    Aborted,
}

/// What lies at one offset.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Message(usize, State),
    Marker,
}

/// One partition of one incarnation of a topic.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Index of the topic's name.
    pub(crate) name: usize,
    /// How many topics had this name before.
    pub(crate) incarnation: usize,
    pub(crate) partition: usize,
    pub(crate) id: ChannelBytes,
    pub(crate) deleted: bool,
    /// Offset of the first entry that was ever written.
    base: i64,
    /// The first offset that can still be read.
    pub(crate) start: i64,
    entries: Vec<Entry>,
}

impl Channel {
    pub(crate) fn end(&self) -> i64 {
        self.base + i64::try_from(self.entries.len()).expect("short logs")
    }

    pub(crate) fn append(&mut self, entry: Entry) -> i64 {
        self.entries.push(entry);
        self.end() - 1
    }

    pub(crate) fn settle(&mut self, offset: i64, state: State) {
        let at = usize::try_from(offset - self.base).expect("offsets begin at the base");
        if let Entry::Message(_, known) = &mut self.entries[at] {
            *known = state;
        }
    }

    fn from(&self, offset: i64) -> impl Iterator<Item = (i64, Entry)> + '_ {
        let skipped = usize::try_from(offset - self.base).unwrap_or(0);
        (self.base.max(offset)..).zip(self.entries.iter().skip(skipped).copied())
    }

    /// Nothing at or above it may be read yet: the first entry of an open transaction, or the end.
    pub(crate) fn stable_end(&self, from: i64) -> i64 {
        let open = self.from(from).find(|(_, entry)| matches!(entry, Entry::Message(_, State::Open)));
        open.map_or(self.end(), |(offset, _)| offset)
    }

    /// The first record at or above an offset that a reader is given now.
    pub(crate) fn read(&self, from: i64) -> Option<(i64, usize)> {
        for (offset, entry) in self.from(from) {
            match entry {
                Entry::Message(message, State::Committed) => return Some((offset, message)),
                Entry::Message(_, State::Open) => return None,
                Entry::Message(_, State::Aborted) | Entry::Marker => {}
            }
        }
        None
    }

    /// Where a reader that stands at an offset may say that it stands: the next record, or past what is skipped.
    pub(crate) fn advanced(&self, from: i64) -> i64 {
        self.read(from).map_or_else(|| self.stable_end(from), |(offset, _)| offset)
    }
}

/// One topic name.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) partitions: usize,
    /// Channels of the topic that has the name now; empty while there is none.
    pub(crate) channels: Vec<usize>,
    pub(crate) incarnations: usize,
}

/// Most channels of one world; each incarnation of a topic has its own.
pub(crate) const CHANNELS_MAX: usize = 32;

/// All topics.
#[derive(Debug, Default)]
pub(crate) struct Brokers {
    pub(crate) topics: Vec<Topic>,
    pub(crate) channels: Vec<Channel>,
}

impl Brokers {
    /// Creates a topic under a name. Returns its channels.
    pub(crate) fn create(&mut self, name: usize, random: &mut Random) -> Vec<usize> {
        let topic = &mut self.topics[name];
        let mut id = [0; 20];
        id[..16].copy_from_slice(&random.bytes(16));
        for partition in 0..topic.partitions {
            id[16..].copy_from_slice(&u32::try_from(partition).expect("few partitions").to_be_bytes());
            // Retention may have taken everything before; the highest positions are as good as the lowest.
            let base = random.pick(&[0, 0, 0, 0, 7, 1 << 40, i64::MAX - 100_000]);
            topic.channels.push(self.channels.len());
            self.channels.push(Channel {
                name,
                incarnation: topic.incarnations,
                partition,
                id,
                deleted: false,
                base,
                start: base,
                entries: Vec::new(),
            });
        }
        topic.incarnations += 1;
        topic.channels.clone()
    }

    pub(crate) fn delete(&mut self, name: usize) -> Vec<usize> {
        let channels = std::mem::take(&mut self.topics[name].channels);
        for channel in &channels {
            self.channels[*channel].deleted = true;
        }
        channels
    }

    pub(crate) fn has_room(&self) -> bool {
        self.channels.len() + 2 <= CHANNELS_MAX
    }

    /// Names whose topic exists.
    pub(crate) fn live(&self) -> Vec<usize> {
        (0..self.topics.len()).filter(|name| !self.topics[*name].channels.is_empty()).collect()
    }

    pub(crate) fn topic_name(name: usize) -> &'static str {
        ["orders", "payments", "shipments", "refunds", "stock"][name]
    }

    /// A channel for people: `orders/0`, and `orders'2/0` for the second topic of that name.
    pub(crate) fn show(&self, channel: usize) -> String {
        let channel = &self.channels[channel];
        let name = Self::topic_name(channel.name);
        match channel.incarnation {
            0 => format!("{name}/{}", channel.partition),
            again => format!("{name}'{}/{}", again + 1, channel.partition),
        }
    }
}
