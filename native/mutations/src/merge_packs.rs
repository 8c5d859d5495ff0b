//! The usual ways to end a conflict.

use std::sync::Arc;

use crate::error::BoxError;
use crate::ports::{Merge, MergePolicy, StoreKey};

/// How both sides' values become one; `None` is "no value".
type Settle<V> = Arc<dyn Fn(Option<V>, Option<V>, Option<V>) -> Result<Merge<V>, BoxError> + Send + Sync>;

/// One of the usual policies. Values are compared by `==`.
#[derive(Clone)]
pub struct MergePack<V>(Settle<V>);

impl<V: Clone + PartialEq + Send + Sync + 'static> MergePack<V> {
    fn new(settle: impl Fn(Option<V>, Option<V>, Option<V>) -> Merge<V> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |base, mine, theirs| Ok(settle(base, mine, theirs))))
    }

    /// The server's value stands.
    pub fn server_wins() -> Self {
        Self::new(|_, _, _| Merge::ServerWins)
    }

    /// What the mutation wanted is pushed again, on the server's value.
    pub fn client_wins() -> Self {
        Self::new(|_, mine, _| Merge::Retry(mine))
    }

    /// The value that was written last stands, the server's where both were written at once. No value has no time and is
    /// older than any: a deletion gives way to a change on the other side. `written_at` is on a clock that both sides
    /// share.
    pub fn last_write_wins(written_at: impl Fn(&V) -> i64 + Send + Sync + 'static) -> Self {
        Self::new(move |_, mine, theirs| {
            if mine.as_ref().map(&written_at) > theirs.as_ref().map(&written_at) {
                Merge::Retry(mine)
            } else {
                Merge::ServerWins
            }
        })
    }

    /// A change on one side only stands, and so does the same change on both; what both have changed differently is
    /// settled by `conflict`, of base, mine and theirs.
    pub fn three_way(
        conflict: impl Fn(Option<V>, Option<V>, Option<V>) -> Result<Merge<V>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |base, mine, theirs| {
            if mine == theirs || mine == base {
                Ok(Merge::ServerWins)
            } else if theirs == base {
                Ok(Merge::Retry(mine))
            } else {
                conflict(base, mine, theirs)
            }
        }))
    }

    /// Merges field by field: a change on one side only stands, of two changes the server's. Where one side has no value
    /// at all the server's stands.
    pub fn per_field(fields: Vec<Field<V>>) -> Self {
        Self::new(move |base, mine, theirs| {
            let (Some(mine), Some(theirs)) = (mine, theirs) else { return Merge::ServerWins };
            let mut merged = theirs.clone();
            for field in &fields {
                (field.0)(base.as_ref(), &mine, &mut merged);
            }
            if merged == theirs { Merge::ServerWins } else { Merge::Retry(Some(merged)) }
        })
    }
}

type MergeField<V> = Box<dyn Fn(Option<&V>, &V, &mut V) + Send + Sync>;

/// One part of a value, for [`MergePack::per_field`].
pub struct Field<V>(MergeField<V>);

impl<V: 'static> Field<V> {
    /// A part that `get` reads and `set` writes.
    pub fn new<F: PartialEq + 'static>(
        get: impl Fn(&V) -> F + Send + Sync + 'static,
        set: impl Fn(&mut V, F) + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(move |base, mine, merged| {
            let wanted = get(mine);
            let before = base.map(&get);
            if before.as_ref() != Some(&wanted) && before.is_some_and(|before| before == get(merged)) {
                set(merged, wanted);
            }
        }))
    }
}

impl<K: StoreKey, V: Send + Sync + 'static> MergePolicy<K, V> for MergePack<V> {
    fn merge(
        &self,
        _: &K,
        base: Option<V>,
        mine: Option<V>,
        theirs: Option<V>,
    ) -> Result<Merge<V>, BoxError> {
        (self.0)(base, mine, theirs)
    }
}

#[cfg(test)]
mod tests {
    use parsley_journal::records::Identity;

    use super::*;

    fn merged<V: Send + Sync + 'static>(
        pack: &MergePack<V>,
        base: Option<V>,
        mine: Option<V>,
        theirs: Option<V>,
    ) -> Merge<V> {
        pack.merge(&Identity::new("n", "a"), base, mine, theirs).unwrap()
    }

    #[test]
    fn one_side_wins_always() {
        assert_eq!(merged(&MergePack::server_wins(), Some(1), Some(2), Some(3)), Merge::ServerWins);
        assert_eq!(merged(&MergePack::client_wins(), Some(1), Some(2), Some(3)), Merge::Retry(Some(2)));
        assert_eq!(merged(&MergePack::client_wins(), Some(1), None, Some(3)), Merge::Retry(None));
    }

    #[test]
    fn the_last_write_wins_and_the_server_a_tie() {
        let pack = MergePack::last_write_wins(|value: &i64| *value);
        assert_eq!(merged(&pack, None, Some(5), Some(4)), Merge::Retry(Some(5)));
        assert_eq!(merged(&pack, None, Some(5), Some(5)), Merge::ServerWins);
        assert_eq!(merged(&pack, None, Some(5), Some(6)), Merge::ServerWins);
        assert_eq!(merged(&pack, None, Some(5), None), Merge::Retry(Some(5)));
        assert_eq!(merged(&pack, None, None, Some(5)), Merge::ServerWins);
        assert_eq!(merged(&pack, Some(5), None, None), Merge::ServerWins);
    }

    #[test]
    fn only_what_both_have_changed_is_a_conflict() {
        let pack = MergePack::three_way(|_, _, _| Ok(Merge::Retry(Some(9))));
        assert_eq!(merged(&pack, Some(1), Some(2), Some(1)), Merge::Retry(Some(2)));
        assert_eq!(merged(&pack, Some(1), Some(1), Some(2)), Merge::ServerWins);
        assert_eq!(merged(&pack, Some(1), Some(2), Some(2)), Merge::ServerWins);
        assert_eq!(merged(&pack, Some(1), Some(2), Some(3)), Merge::Retry(Some(9)));
        assert_eq!(merged(&pack, Some(1), None, Some(1)), Merge::Retry(None));
    }

    #[test]
    fn fields_are_merged_one_by_one() {
        let pack = MergePack::per_field(vec![
            Field::new(|it: &(i32, i32)| it.0, |it, value| it.0 = value),
            Field::new(|it: &(i32, i32)| it.1, |it, value| it.1 = value),
        ]);
        assert_eq!(merged(&pack, Some((1, 1)), Some((2, 1)), Some((1, 3))), Merge::Retry(Some((2, 3))));
        assert_eq!(merged(&pack, Some((1, 1)), Some((2, 1)), Some((3, 3))), Merge::ServerWins);
        assert_eq!(merged(&pack, None, Some((2, 1)), Some((3, 3))), Merge::ServerWins);
        assert_eq!(merged(&pack, Some((1, 1)), None, Some((3, 3))), Merge::ServerWins);
    }
}
