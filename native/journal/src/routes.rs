//! Where identities lead: the aliases, and the route along those that are active.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::AliasState;
use crate::records::{Alias, Identity};
use crate::sabotage;

/// All aliases of a journal. They are never deleted, and few: one for each identity that the server has renamed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    aliases: BTreeMap<Identity, Alias>,
    /// The sources of active aliases, by target.
    sources: BTreeMap<Identity, BTreeSet<Identity>>,
}

impl Routes {
    /// The alias of a source.
    pub(crate) fn get(&self, source: &Identity) -> Option<&Alias> {
        self.aliases.get(source)
    }

    /// Every alias, by source.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Identity, &Alias)> {
        self.aliases.iter()
    }

    /// Adds an alias, or replaces it by its next state.
    pub(crate) fn put(&mut self, source: Identity, alias: Alias) {
        if alias.state == AliasState::Active {
            self.sources.entry(alias.target.clone()).or_default().insert(source.clone());
        }
        self.aliases.insert(source, alias);
    }

    /// The end of the route from `identity`.
    pub(crate) fn terminal<'a>(&'a self, identity: &'a Identity) -> &'a Identity {
        self.follow(identity, |alias| {
            alias.state == AliasState::Active || sabotage::is("route-a-pending-alias")
        })
    }

    /// The end of the route from `identity`, as it will be once mutation `sequence` has retired.
    pub(crate) fn terminal_after<'a>(&'a self, identity: &'a Identity, sequence: u64) -> &'a Identity {
        self.follow(identity, |alias| alias.state == AliasState::Active || alias.created_by == sequence)
    }

    /// Whether the route from `from`, pending aliases included, comes to `to`.
    pub(crate) fn leads_to(&self, from: &Identity, to: &Identity) -> bool {
        let mut at = from;
        loop {
            if at == to {
                return true;
            }
            match self.aliases.get(at) {
                Some(alias) => at = &alias.target,
                None => return false,
            }
        }
    }

    /// Every identity whose route ends at `terminal`, itself included.
    pub(crate) fn all_leading_to(&self, terminal: &Identity) -> Vec<Identity> {
        let mut found = vec![terminal.clone()];
        let mut next = 0;
        while let Some(at) = found.get(next) {
            if let Some(sources) = self.sources.get(at) {
                found.extend(sources.iter().cloned().collect::<Vec<_>>());
            }
            next += 1;
        }
        found
    }

    /// A source from which the route never ends, if there is one.
    pub(crate) fn cycle(&self) -> Option<&Identity> {
        // Each walk is no longer than the number of aliases; marks of earlier walks make all walks together as short.
        let mut ends: BTreeSet<&Identity> = BTreeSet::new();
        for start in self.aliases.keys() {
            let mut walk = BTreeSet::new();
            let mut at = start;
            while !ends.contains(at) {
                if !walk.insert(at) {
                    return Some(start);
                }
                match self.aliases.get(at) {
                    Some(alias) => at = &alias.target,
                    None => break,
                }
            }
            ends.extend(walk);
        }
        None
    }

    /// Aliases have no circle: checked at every admission and when a journal is opened.
    fn follow<'a>(&'a self, identity: &'a Identity, routes: impl Fn(&Alias) -> bool) -> &'a Identity {
        let mut at = identity;
        while let Some(alias) = self.aliases.get(at).filter(|alias| routes(alias)) {
            at = &alias.target;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> Identity {
        Identity::new("n", id)
    }

    fn alias(target: &str, state: AliasState, created_by: u64) -> Alias {
        let activated_at = (state == AliasState::Active).then_some(1);
        Alias { target: id(target), state, created_by, created_at: 1, activated_at }
    }

    fn routes(edges: &[(&str, &str, AliasState)]) -> Routes {
        let mut routes = Routes::default();
        for (number, (source, target, state)) in edges.iter().enumerate() {
            routes.put(id(source), alias(target, *state, number as u64 + 1));
        }
        routes
    }

    #[test]
    fn only_active_aliases_route() {
        let routes = routes(&[("a", "b", AliasState::Active), ("b", "c", AliasState::Pending)]);
        assert_eq!(routes.terminal(&id("a")), &id("b"));
        assert_eq!(routes.terminal_after(&id("a"), 2), &id("c"));
        assert_eq!(routes.terminal_after(&id("a"), 9), &id("b"));
        assert_eq!(routes.terminal(&id("z")), &id("z"));
    }

    #[test]
    fn a_pending_alias_counts_for_circles() {
        let routes = routes(&[("a", "b", AliasState::Active), ("b", "c", AliasState::Pending)]);
        assert!(routes.leads_to(&id("a"), &id("c")));
        assert!(!routes.leads_to(&id("c"), &id("a")));
    }

    #[test]
    fn all_sources_of_a_terminal_are_found() {
        let routes = routes(&[
            ("a", "c", AliasState::Active),
            ("b", "c", AliasState::Active),
            ("c", "d", AliasState::Active),
            ("x", "d", AliasState::Pending),
        ]);
        let mut all = routes.all_leading_to(&id("d"));
        all.sort();
        assert_eq!(all, [id("a"), id("b"), id("c"), id("d")]);
    }

    #[test]
    fn a_circle_is_found() {
        assert_eq!(routes(&[("a", "b", AliasState::Active), ("b", "c", AliasState::Active)]).cycle(), None);
        let circle = routes(&[("a", "b", AliasState::Active), ("b", "a", AliasState::Pending)]);
        assert_eq!(circle.cycle(), Some(&id("a")));
    }
}
