//! Read-ahead for the engine: held messages of one channel are read one by one, each when it becomes the head, in
//! ascending order. A long run of releases reads the next few at once, which costs a fraction of as many point reads.
//!
//! What was read ahead are committed rows as of the last write; the store asks for them only where nothing is staged,
//! and forgets them with every write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use parsley_core::keys::{RowKey, hold_key};
use parsley_core::{ChannelId, Position};

use crate::backend::Backend;
use crate::error::StoreError;
use crate::range::{Direction, KeyRange};

/// Rows read at once: a few when a second row of a channel is asked for, twice as many each time they are used up.
const ROWS_AT_FIRST: usize = 8;
const ROWS_MAX: usize = 64;
/// No row is added to those read at once when they take this much together.
const BYTES_MAX: usize = 32 * 1024;
/// Channels with rows read ahead; one more makes all of them start again.
const CHANNELS_MAX: usize = 32;

/// Rows read ahead, by channel.
#[derive(Default)]
pub(crate) struct ReadAhead {
    channels: BTreeMap<ChannelId, Run>,
}

/// Reads of one channel.
struct Run {
    rows: VecDeque<(Position, Bytes)>,
    /// The last position asked for.
    last: Position,
    /// How many rows to read when the next one is not among `rows`.
    rows_wanted: usize,
}

impl ReadAhead {
    pub(crate) fn clear(&mut self) {
        self.channels.clear();
    }

    /// The committed value of a row.
    pub(crate) fn get(&mut self, key: &[u8], backend: &impl Backend) -> Result<Option<Bytes>, StoreError> {
        let Ok(RowKey::Hold(channel, position)) = RowKey::parse(key) else {
            return backend.get(key);
        };
        let Some(run) = self.channels.get_mut(&channel).filter(|run| run.last < position) else {
            self.begin(channel, position);
            return backend.get(key);
        };
        run.last = position;
        if let Some(value) = run.take(position) {
            return Ok(Some(value));
        }
        run.read(channel, position, backend)?;
        Ok(run.take(position))
    }

    fn begin(&mut self, channel: ChannelId, position: Position) {
        if self.channels.len() >= CHANNELS_MAX {
            self.clear();
        }
        let run = Run { rows: VecDeque::new(), last: position, rows_wanted: ROWS_AT_FIRST };
        self.channels.insert(channel, run);
    }
}

impl Run {
    /// The row at a position, and nothing before it any more.
    fn take(&mut self, position: Position) -> Option<Bytes> {
        while let Some((ahead, _)) = self.rows.front()
            && *ahead <= position
        {
            let (ahead, value) = self.rows.pop_front()?;
            if ahead == position {
                return Some(value);
            }
        }
        None
    }

    /// Reads the rows at and above a position.
    fn read(&mut self, channel: ChannelId, from: Position, backend: &impl Backend) -> Result<(), StoreError> {
        self.rows.clear();
        let (from, to) = (hold_key(channel, from), hold_key(channel, Position::MAX));
        let range = KeyRange::new(Bound::Included(&from), Bound::Included(&to));
        let mut bytes = 0;
        backend.scan(&range, Direction::Forward, &mut |key, value| {
            let Ok(RowKey::Hold(_, position)) = RowKey::parse(key) else {
                return ControlFlow::Break(());
            };
            self.rows.push_back((position, Bytes::copy_from_slice(value)));
            bytes += value.len();
            if self.rows.len() < self.rows_wanted && bytes < BYTES_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        self.rows_wanted = (self.rows_wanted * 2).min(ROWS_MAX);
        Ok(())
    }
}
