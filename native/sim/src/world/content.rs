//! Records and who writes them: producers from outside, the processes, and those who write what can't be read.

use bytes::Bytes;

use super::{DONE, World};
use crate::judge::Written;
use crate::log::{Entry, State};
use crate::wire::{Content, decode_causes, encode_content};

const CAUSES: &str = "parsley.causes";

/// A causes header as it reaches a process.
#[derive(Clone, Debug)]
pub(crate) enum Causes {
    Absent,
    Once(Option<Vec<u8>>),
    Repeated,
}

impl Causes {
    /// Bytes that a budget is held against.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Causes::Once(Some(bytes)) => bytes.len(),
            Causes::Once(None) | Causes::Absent | Causes::Repeated => 0,
        }
    }

    pub(crate) fn of(content: &Content) -> Self {
        let mut found = content.headers.iter().filter(|(name, _)| name == CAUSES);
        match (found.next(), found.next()) {
            (None, _) => Causes::Absent,
            (Some((_, value)), None) => Causes::Once(value.clone()),
            (Some(_), Some(_)) => Causes::Repeated,
        }
    }
}

impl World {
    /// A producer that knows nothing of causes.
    pub(crate) fn produce(&mut self) {
        let channel = self.any_live_channel();
        let causes = if self.random.chance(100) { Causes::Once(Some(vec![1, 0])) } else { Causes::Absent };
        self.append_from_outside(channel, &causes, false);
        // Its transaction's marker takes an offset.
        if self.random.chance(300) {
            self.append_marker(channel);
        }
    }

    /// A producer whose transaction is aborted.
    pub(crate) fn produce_in_vain(&mut self) {
        let channel = self.any_live_channel();
        for _ in 0..=self.random.below(3) {
            if !self.judge.has_room() {
                return;
            }
            let offset = self.brokers.channels[channel].end();
            let content = self.content(&Causes::Absent);
            let written = written(channel, offset, &content, &Causes::Absent, false);
            let message = self.judge.written(written, false);
            self.contents.push(content);
            self.brokers.channels[channel].append(Entry::Message(message, State::Aborted));
        }
        self.append_marker(channel);
        let brokers = &self.brokers;
        self.trace.tell('V', [channel, 0], || format!("a producer aborts on {}", brokers.show(channel)));
    }

    /// A record that every reader has to refuse.
    pub(crate) fn produce_poison(&mut self) {
        let channel = self.any_live_channel();
        let causes = self.broken(&Causes::Absent);
        self.append_from_outside(channel, &causes, true);
    }

    fn append_from_outside(&mut self, channel: usize, causes: &Causes, poisoned: bool) {
        if !self.judge.has_room() {
            return;
        }
        let content = self.content(causes);
        let offset = self.brokers.channels[channel].end();
        let message = self.judge.written(written(channel, offset, &content, causes, poisoned), true);
        self.contents.push(content);
        self.brokers.channels[channel].append(Entry::Message(message, DONE));
        let shown = self.show(channel, offset);
        self.trace.tell('W', [message, channel], || {
            if poisoned {
                format!("a producer writes {shown} with causes that can't be read: {causes:02x?}")
            } else {
                format!("a producer writes {shown}")
            }
        });
    }

    /// A record of a process, under a stamp that was judged. Returns its number and offset.
    pub(crate) fn append_sent(
        &mut self,
        process: usize,
        channel: usize,
        stamp: Vec<u8>,
        read: Vec<(usize, i64)>,
    ) -> (usize, i64) {
        let causes = Causes::Once(Some(stamp));
        let content = self.content(&causes);
        let offset = self.brokers.channels[channel].end();
        let message = self.judge.sent(process, written(channel, offset, &content, &causes, false), read);
        self.contents.push(content);
        self.brokers.channels[channel].append(Entry::Message(message, State::Open));
        (message, offset)
    }

    /// Null, empty and absent in every mixture; timestamps that tell nothing.
    fn content(&mut self, causes: &Causes) -> Content {
        let timestamp = match self.random.below(4) {
            0 => -1,
            1 => 0,
            _ => self.random.between(0, 2_000_000_000_000),
        };
        let key = self.field();
        let mut value = self.field();
        if let Some(value) = &mut value
            && self.random.chance(900)
        {
            value.extend_from_slice(format!("message {}", self.contents.len()).as_bytes());
        }
        let mut headers = Vec::new();
        for _ in 0..self.random.below(4) {
            headers.push((self.random.pick(&["", "a", "a", "trace"]).to_owned(), self.field()));
        }
        match causes {
            Causes::Absent => {}
            Causes::Once(value) => {
                headers.insert(self.random.below(headers.len() + 1), (CAUSES.to_owned(), value.clone()));
            }
            Causes::Repeated => {
                for _ in 0..2 {
                    headers.push((CAUSES.to_owned(), Some(vec![1, 0])));
                }
            }
        }
        Content { timestamp, key, value, headers }
    }

    fn field(&mut self) -> Option<Vec<u8>> {
        let length = match self.random.below(4) {
            0 => return None,
            1 => 0,
            _ => self.random.below(8),
        };
        Some(self.random.bytes(length))
    }

    /// Causes that break a rule of the format, near those that were written.
    pub(crate) fn broken(&mut self, causes: &Causes) -> Causes {
        let mut bytes = match causes {
            Causes::Once(Some(bytes)) if bytes.len() >= 2 => bytes.clone(),
            _ => vec![1, 0],
        };
        let has_causes = decode_causes(&bytes).is_some_and(|causes| !causes.is_empty());
        let last = bytes.len().saturating_sub(8);
        match self.random.below(if has_causes { 10 } else { 7 }) {
            0 => return Causes::Repeated,
            1 => return Causes::Once(None),
            2 => bytes.clear(),
            // No encoding is the beginning of another one.
            3 => bytes.truncate(self.random.below(bytes.len())),
            4 => bytes.push(0),
            5 => bytes[0] = 2,
            6 => bytes = vec![1, 0x80, 0],
            7 => bytes[last] |= 0x80,
            8 => bytes[last..].copy_from_slice(&i64::MAX.to_be_bytes()),
            _ => bytes[2..18].fill(0),
        }
        Causes::Once(Some(bytes))
    }
}

fn written(channel: usize, position: i64, content: &Content, causes: &Causes, poisoned: bool) -> Written {
    let header_bytes = causes.bytes();
    Written { channel, position, content: Bytes::from(encode_content(content)), header_bytes, poisoned }
}
