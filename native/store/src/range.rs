//! Ranges of keys and the direction in which they are read.

use std::ops::Bound;

/// Keys from a lower bound, included, to an upper bound, excluded. `None` leaves a side open.
///
/// The key that follows `k` at once is `k` and a zero byte, so every pair of bounds can be written in this one form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

/// The order in which rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// By ascending key.
    Forward,
    /// By descending key.
    Reverse,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> Self {
        Self::default()
    }

    /// The keys between two bounds.
    pub fn new(from: Bound<&[u8]>, to: Bound<&[u8]>) -> Self {
        Self {
            from: match from {
                Bound::Included(key) => Some(key.to_vec()),
                Bound::Excluded(key) => Some(successor(key)),
                Bound::Unbounded => None,
            },
            to: match to {
                Bound::Included(key) => Some(successor(key)),
                Bound::Excluded(key) => Some(key.to_vec()),
                Bound::Unbounded => None,
            },
        }
    }

    /// The lowest key that may belong to the range.
    pub fn from(&self) -> Option<&[u8]> {
        self.from.as_deref()
    }

    /// The lowest key that is above the range.
    pub fn to(&self) -> Option<&[u8]> {
        self.to.as_deref()
    }

    /// Whether no key can belong to the range.
    pub fn is_empty(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => from >= to,
            (_, Some(to)) => to.is_empty(),
            _ => false,
        }
    }

    /// The bounds in the form that ordered maps take. Not for an empty range, which those maps panic over.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (
            self.from().map_or(Bound::Unbounded, Bound::Included),
            self.to().map_or(Bound::Unbounded, Bound::Excluded),
        )
    }
}

fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excluded_bound_is_the_next_key_included() {
        let range = KeyRange::new(Bound::Excluded(b"a"), Bound::Included(b"b"));
        assert_eq!(range.from(), Some(&b"a\0"[..]));
        assert_eq!(range.to(), Some(&b"b\0"[..]));
        assert!(!range.is_empty());
    }

    #[test]
    fn crossed_bounds_are_an_empty_range() {
        assert!(KeyRange::new(Bound::Included(b"b"), Bound::Included(b"a")).is_empty());
        assert!(KeyRange::new(Bound::Included(b"a"), Bound::Excluded(b"a")).is_empty());
        assert!(!KeyRange::new(Bound::Included(b"a"), Bound::Included(b"a")).is_empty());
        assert!(!KeyRange::all().is_empty());
    }
}
