//! Sets of messages, by their number in the world.

/// Most messages of one world.
pub(crate) const MESSAGES_MAX: usize = 768;

const WORDS: usize = MESSAGES_MAX / 64;

/// A set of message numbers below [`MESSAGES_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; WORDS]);

impl Set {
    pub(crate) fn insert(&mut self, message: usize) {
        self.0[message / 64] |= 1 << (message % 64);
    }

    pub(crate) fn has(&self, message: usize) -> bool {
        self.0[message / 64] >> (message % 64) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn with(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & !other.0[at]))
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
}
