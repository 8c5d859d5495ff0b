//! Staged rows: changes that lie over the committed rows until it is known how their transaction ended.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::iter::Peekable;

use bytes::Bytes;

use crate::backend::RowChange;
use crate::range::{Direction, KeyRange};

/// What a staged row takes beside its key and value: the handles of both and its place in the map.
const ROW_OVERHEAD_BYTES: usize = 96;

/// One layer of staged rows. `None` is a staged deletion.
#[derive(Default)]
pub(crate) struct Layer {
    rows: BTreeMap<Bytes, Option<Bytes>>,
    bytes: usize,
}

impl Layer {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// About how much memory the layer takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The staged change of a row, if there is one.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        self.rows.get(key)
    }

    pub(crate) fn put(&mut self, key: Bytes, value: Option<Bytes>) {
        let key_bytes = key.len() + ROW_OVERHEAD_BYTES;
        self.bytes += key_bytes + width(value.as_ref());
        if let Some(replaced) = self.rows.insert(key, value) {
            self.bytes -= key_bytes + width(replaced.as_ref());
        }
    }

    /// Moves the rows of `newer` into this layer, which they win over.
    pub(crate) fn absorb(&mut self, newer: &mut Layer) {
        if self.is_empty() {
            std::mem::swap(self, newer);
            return;
        }
        for (key, value) in std::mem::take(newer).rows {
            self.put(key, value);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RowChange<'_>> {
        self.rows.iter().map(|(key, value)| (key, value.as_ref()))
    }

    /// The changes of a range that is not empty.
    fn range(&self, range: &KeyRange, direction: Direction) -> Peekable<Directed<'_>> {
        Directed { rows: self.rows.range::<[u8], _>(range.bounds()), direction }.peekable()
    }
}

fn width(value: Option<&Bytes>) -> usize {
    value.map_or(0, Bytes::len)
}

/// A range of a map, from either end.
struct Directed<'a> {
    rows: Range<'a, Bytes, Option<Bytes>>,
    direction: Direction,
}

impl<'a> Iterator for Directed<'a> {
    type Item = RowChange<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = match self.direction {
            Direction::Forward => self.rows.next(),
            Direction::Reverse => self.rows.next_back(),
        }?;
        Some((key, value.as_ref()))
    }
}

/// The changes of two layers in one order, each key once: the newer layer's change where both have one.
pub(crate) struct Overlay<'a> {
    older: Peekable<Directed<'a>>,
    newer: Peekable<Directed<'a>>,
    direction: Direction,
}

impl<'a> Overlay<'a> {
    /// The changes of a range that is not empty.
    pub(crate) fn new(older: &'a Layer, newer: &'a Layer, range: &KeyRange, direction: Direction) -> Self {
        Self { older: older.range(range, direction), newer: newer.range(range, direction), direction }
    }

    fn next_key(&mut self) -> Option<&'a Bytes> {
        let older = self.older.peek().map(|(key, _)| *key);
        let newer = self.newer.peek().map(|(key, _)| *key);
        match (older, newer) {
            (Some(older), Some(newer)) if comes_before(older, newer, self.direction).is_lt() => Some(older),
            (older, newer) => newer.or(older),
        }
    }

    /// The next change whose key comes before `key`; with no key, the next change.
    pub(crate) fn next_before(&mut self, key: Option<&[u8]>) -> Option<RowChange<'a>> {
        let next = self.next_key()?;
        match key {
            Some(key) if comes_before(next, key, self.direction).is_ge() => None,
            _ => self.next(),
        }
    }

    /// The change of exactly `key`, where it is the next one.
    pub(crate) fn next_at(&mut self, key: &[u8]) -> Option<RowChange<'a>> {
        if self.next_key()? == key { self.next() } else { None }
    }
}

impl<'a> Iterator for Overlay<'a> {
    type Item = RowChange<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.next_key()?;
        let older = self.older.next_if(|(older, _)| *older == key);
        let newer = self.newer.next_if(|(newer, _)| *newer == key);
        newer.or(older)
    }
}

fn comes_before(a: &[u8], b: &[u8], direction: Direction) -> Ordering {
    match direction {
        Direction::Forward => a.cmp(b),
        Direction::Reverse => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(rows: &[(&'static str, Option<&'static str>)]) -> Layer {
        let mut layer = Layer::default();
        for (key, value) in rows {
            layer.put(
                Bytes::from_static(key.as_bytes()),
                value.map(|value| Bytes::from_static(value.as_bytes())),
            );
        }
        layer
    }

    fn shown(older: &Layer, newer: &Layer, direction: Direction) -> Vec<(Bytes, Option<Bytes>)> {
        Overlay::new(older, newer, &KeyRange::all(), direction)
            .map(|(key, value)| (key.clone(), value.cloned()))
            .collect()
    }

    #[test]
    fn the_newer_layer_wins_in_either_direction() {
        let older = layer(&[("a", Some("1")), ("b", Some("1")), ("d", Some("1"))]);
        let newer = layer(&[("b", None), ("c", Some("2"))]);
        let merged = layer(&[("a", Some("1")), ("b", None), ("c", Some("2")), ("d", Some("1"))]);
        let mut expected: Vec<_> = merged.rows.into_iter().collect();
        assert_eq!(shown(&older, &newer, Direction::Forward), expected);
        expected.reverse();
        assert_eq!(shown(&older, &newer, Direction::Reverse), expected);
    }

    #[test]
    fn replaced_rows_are_not_counted_twice() {
        let mut staged = layer(&[("a", Some("123"))]);
        let before = staged.bytes();
        staged.put(Bytes::from_static(b"a"), Some(Bytes::from_static(b"12345")));
        assert_eq!(staged.bytes(), before + 2);
        staged.put(Bytes::from_static(b"a"), None);
        assert_eq!(staged.bytes(), before - 3);
    }

    #[test]
    fn absorbed_rows_are_counted_once() {
        let mut older = layer(&[("a", Some("1")), ("b", Some("1"))]);
        let mut newer = layer(&[("b", Some("22")), ("c", None)]);
        older.absorb(&mut newer);
        assert!(newer.is_empty());
        assert_eq!(newer.bytes(), 0);
        assert_eq!(older.bytes(), layer(&[("a", Some("1")), ("b", Some("22")), ("c", None)]).bytes());
    }
}
