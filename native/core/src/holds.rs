//! The hold-back buffer of one channel.
//!
//! The head is decoded. Behind it a hold costs its position, 8 to 16 bytes; its row is in memory only from its
//! receipt to the next flush, and again once it is the head.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::causes::Cause;
use crate::channel::Position;
use crate::sabotage;

/// The lowest held message of a channel, decoded.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) position: Position,
    /// All its causes, in channel order.
    pub(crate) causes: Vec<Cause>,
    /// Causes on received channels that were not met when last looked at: index of the channel, required position.
    /// What is met stays met, so the list only shrinks from its end.
    pub(crate) unmet: Vec<(usize, Position)>,
    /// The record part; `None` while the record is still with the caller.
    pub(crate) record: Option<Bytes>,
}

/// Positions held on one channel, ascending, and the rows that are not in the store yet.
#[derive(Debug, Default)]
pub(crate) struct HoldQueue {
    positions: VecDeque<Position>,
    /// Decoded when it is known; `None` with positions in the queue means that it has to be read back.
    pub(crate) head: Option<Head>,
    /// Rows of a suffix of `positions`, taken in since the last flush.
    unflushed: VecDeque<(Position, Bytes)>,
    /// The highest position that has a row in the store.
    stored_up_to: Option<Position>,
    /// Positions delivered since the last flush whose rows are in the store.
    delivered: Vec<Position>,
    /// Bytes of `unflushed`.
    unflushed_bytes: usize,
}

impl HoldQueue {
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(crate) fn front(&self) -> Option<Position> {
        self.positions.front().copied()
    }

    pub(crate) fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.positions.iter().copied()
    }

    pub(crate) fn back(&self) -> Option<Position> {
        self.positions.back().copied()
    }

    pub(crate) fn unflushed_bytes(&self) -> usize {
        self.unflushed_bytes
    }

    /// Takes in a position whose row is in the store.
    pub(crate) fn push_stored(&mut self, position: Position) {
        self.push(position);
        self.stored_up_to = Some(position);
    }

    /// Takes in a position whose row comes by [`Self::put_row`].
    pub(crate) fn push(&mut self, position: Position) {
        assert!(self.back() < Some(position), "holds of a channel ascend");
        self.positions.push_back(position);
    }

    /// The row of a position that is held, to be written by the next flush.
    pub(crate) fn put_row(&mut self, position: Position, row: Bytes) {
        self.unflushed_bytes += row.len();
        self.unflushed.push_back((position, row));
    }

    /// The row of the first position, if it is not only in the store.
    pub(crate) fn unflushed_front_row(&self) -> Option<&Bytes> {
        let (position, row) = self.unflushed.front()?;
        (Some(*position) == self.front()).then_some(row)
    }

    /// Takes the first position out as delivered, with its head if that was decoded.
    pub(crate) fn pop(&mut self) -> Option<Head> {
        let position = self.positions.pop_front()?;
        if self.unflushed.front().is_some_and(|(first, _)| *first == position) {
            let row = self.unflushed.pop_front();
            self.unflushed_bytes -= row.map_or(0, |(_, row)| row.len());
        }
        if self.stored_up_to >= Some(position) {
            self.delivered.push(position);
        }
        // A buffer that was deep once gives its memory back; halving keeps that cheap on the average.
        let capacity = self.positions.capacity();
        if capacity > ENTRIES_KEPT && self.positions.len() < capacity / 4 {
            self.positions.shrink_to(capacity / 2);
        }
        self.head.take()
    }

    /// Hands out every row to delete (`None`) or to write, and counts them as stored.
    /// Costs nothing that grows with the buffer.
    pub(crate) fn flush(&mut self, sink: &mut dyn FnMut(Position, Option<Bytes>)) {
        if sabotage::is("forget-delete-of-delivered-hold") {
            self.delivered.clear();
        }
        if sabotage::is("forget-hold-at-flush") {
            self.unflushed.pop_back();
        }
        for position in self.delivered.drain(..) {
            sink(position, None);
        }
        for (position, row) in self.unflushed.drain(..) {
            self.stored_up_to = self.stored_up_to.max(Some(position));
            sink(position, Some(row));
        }
        self.unflushed_bytes = 0;
        self.delivered.shrink_to(ENTRIES_KEPT);
        self.unflushed.shrink_to(ENTRIES_KEPT);
    }
}

/// Entries that an emptied list keeps room for; what a burst took beyond that is given back.
const ENTRIES_KEPT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn position(number: i64) -> Position {
        Position::new(number).unwrap()
    }

    fn flush(queue: &mut HoldQueue) -> Vec<(i64, bool)> {
        let mut rows = Vec::new();
        queue.flush(&mut |position, row| rows.push((position.get(), row.is_some())));
        rows
    }

    #[test]
    fn a_hold_delivered_before_the_flush_never_reaches_the_store() {
        let mut queue = HoldQueue::default();
        for number in [3, 5] {
            queue.push(position(number));
            queue.put_row(position(number), Bytes::from_static(b"row"));
        }
        queue.pop();
        assert_eq!(queue.unflushed_bytes(), 3);
        assert_eq!(flush(&mut queue), [(5, true)]);
        assert_eq!(flush(&mut queue), []);
    }

    #[test]
    fn a_stored_hold_is_deleted_once_after_its_delivery() {
        let mut queue = HoldQueue::default();
        queue.push_stored(position(3));
        queue.push_stored(position(4));
        queue.pop();
        assert_eq!(flush(&mut queue), [(3, false)]);
        assert_eq!(flush(&mut queue), []);
    }

    #[test]
    fn a_flushed_hold_is_deleted_after_its_delivery() {
        let mut queue = HoldQueue::default();
        queue.push(position(3));
        queue.put_row(position(3), Bytes::from_static(b"row"));
        assert_eq!(flush(&mut queue), [(3, true)]);
        queue.pop();
        assert_eq!(flush(&mut queue), [(3, false)]);
    }

    #[test]
    fn a_rewritten_hold_is_deleted_even_if_its_new_row_was_never_flushed() {
        // The upgrade of a version 1 store: the row is stored, and a new one waits for the flush.
        let mut queue = HoldQueue::default();
        queue.push_stored(position(3));
        queue.put_row(position(3), Bytes::from_static(b"new"));
        queue.pop();
        assert_eq!(flush(&mut queue), [(3, false)]);
    }

    #[test]
    fn behind_the_head_a_hold_costs_at_most_16_bytes_and_a_drained_buffer_gives_them_back() {
        let mut queue = HoldQueue::default();
        for number in 0..100_000 {
            queue.push_stored(position(number));
        }
        assert!(queue.positions.capacity() * size_of::<Position>() <= 16 * 131_072);
        assert_eq!(size_of::<Position>(), 8);
        for _ in 0..99_990 {
            queue.pop();
        }
        assert!(queue.positions.capacity() <= ENTRIES_KEPT);
    }
}
