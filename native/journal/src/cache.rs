//! What the engine keeps of the journal in memory: only what bounds the work, never the rows themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::records::{Alias, Client, Execution, Identity};
use crate::routes::Routes;

/// Derived from the rows when a journal is opened, and moved with each committed transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache {
    /// `None` before the first mutation.
    pub(crate) client: Option<Client>,
    /// The id of the next failure.
    pub(crate) next_failure: u64,
    /// The owner of each lane that has one.
    pub(crate) owners: BTreeMap<Arc<str>, u64>,
    /// The aliases.
    pub(crate) routes: Routes,
    /// Superseded tombstones that are not pruned: identity, creator, successor.
    pub(crate) superseded: BTreeSet<(Identity, u64, u64)>,
    /// No mutation up to here has rows left.
    pub(crate) pruned_through: u64,
}

/// What a committed transaction changes in the cache.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) client: Option<Client>,
    pub(crate) next_failure: Option<u64>,
    pub(crate) owner: Option<(Arc<str>, Option<u64>)>,
    pub(crate) aliases: Vec<(Identity, Alias)>,
    pub(crate) superseded: Vec<(Identity, u64, u64)>,
    pub(crate) unsuperseded: Vec<(Identity, u64, u64)>,
    pub(crate) pruned_through: Option<u64>,
}

impl Cache {
    pub(crate) fn apply(&mut self, change: Change) {
        if change.client.is_some() {
            self.client = change.client;
        }
        if let Some(next) = change.next_failure {
            self.next_failure = next;
        }
        if let Some((namespace, owner)) = change.owner {
            match owner {
                Some(sequence) => self.owners.insert(namespace, sequence),
                None => self.owners.remove(&namespace),
            };
        }
        for (source, alias) in change.aliases {
            self.routes.put(source, alias);
        }
        self.superseded.extend(change.superseded);
        for pruned in change.unsuperseded {
            self.superseded.remove(&pruned);
        }
        if let Some(through) = change.pruned_through {
            self.pruned_through = through;
        }
    }

    /// The last sequence given.
    pub(crate) fn allocated(&self) -> u64 {
        self.client.as_ref().map_or(0, |client| client.allocated)
    }

    /// The settled prefix.
    pub(crate) fn retired_through(&self) -> u64 {
        self.client.as_ref().map_or(0, |client| client.retired_through)
    }

    /// The prefix that the server confirmed.
    pub(crate) fn confirmed_through(&self) -> u64 {
        self.client.as_ref().map_or(0, |client| client.confirmed_through)
    }
}

/// The lane of an execution that owns one: its namespace never changes, aliases stay inside it.
pub(crate) fn lane_change(namespace: &Arc<str>, sequence: u64, new: &Execution) -> (Arc<str>, Option<u64>) {
    (namespace.clone(), new.owns_lane().then_some(sequence))
}
