//! The judge's own reading of the journal's rows, after their description in docs/drain.md.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// Namespace and id.
pub(super) type Key = (String, String);

/// A value and its encoding's bytes, `None` for absent.
pub(super) type Value = Option<Vec<u8>>;

/// Etag and time of a value; `None` if nothing is told of it.
pub(super) type Meta = Option<(Option<String>, Option<i64>)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) epoch: u64,
    pub(super) allocated: u64,
    pub(super) retired: u64,
    pub(super) confirmed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intent {
    pub(super) key: Key,
    pub(super) args: Vec<u8>,
    pub(super) retry_of: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Execution {
    pub(super) phase: String,
    pub(super) generation: u32,
    pub(super) attempt: u32,
    pub(super) last_attempt_at: Option<i64>,
    pub(super) failure: Option<u64>,
    pub(super) unknown: bool,
    pub(super) dismissed: bool,
}

impl Execution {
    pub(super) fn is(&self, phase: &str) -> bool {
        self.phase == phase
    }

    pub(super) fn is_settled(&self) -> bool {
        self.is("RETIRED") || (self.is("PARKED") && self.dismissed)
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.is("RETIRED") && !self.is("PARKED")
    }

    pub(super) fn is_post_ack(&self) -> bool {
        self.is("ACKED") || self.is("EFFECTS_PENDING")
    }

    pub(super) fn owns_lane(&self) -> bool {
        match self.phase.as_str() {
            "INFLIGHT" | "REFRESH_REQUIRED" | "ACKED" | "EFFECTS_PENDING" => true,
            "READY" => self.attempt > 0 || self.generation > 1,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) key: Key,
    pub(super) version: u32,
    pub(super) base: Value,
    pub(super) mine: Value,
    pub(super) precondition: Meta,
    pub(super) retired_through: u64,
    pub(super) idempotency_key: String,
    pub(super) conflict: Option<Meta>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    pub(super) value: Value,
    pub(super) etag: Option<String>,
    pub(super) target: Option<Key>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) sequence: u64,
    pub(super) generation: u32,
    pub(super) kind: String,
    pub(super) detail: String,
    pub(super) last_at: i64,
    pub(super) count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Namespace(String),
    Key(Key),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) target: Target,
    pub(super) disposition: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alias {
    pub(super) target: Key,
    pub(super) active: bool,
    pub(super) creator: u64,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) client: Option<Client>,
    pub(super) intents: BTreeMap<u64, Intent>,
    pub(super) executions: BTreeMap<u64, Execution>,
    pub(super) attempts: BTreeMap<(u64, u32), Attempt>,
    pub(super) acks: BTreeMap<(u64, u32), Ack>,
    pub(super) failures: BTreeMap<u64, Failure>,
    pub(super) effects: BTreeMap<(u64, u32), Effect>,
    pub(super) aliases: BTreeMap<Key, Alias>,
    pub(super) tombstones: BTreeMap<(Key, u64), String>,
    /// The indexes' keys.
    pub(super) index: BTreeSet<Vec<u8>>,
}

/// Takes fields off. What is not as it must be panics, and a panic is a finding.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self, width: usize) -> u64 {
        self.take(width).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn short(&mut self) -> u32 {
        u32::try_from(self.number(4)).expect("four bytes")
    }

    fn time(&mut self) -> i64 {
        self.number(8).cast_signed()
    }

    fn blob(&mut self) -> Vec<u8> {
        let length = usize::try_from(self.number(4)).expect("four bytes are no more than a machine counts");
        self.take(length).to_vec()
    }

    fn text(&mut self) -> String {
        String::from_utf8(self.blob()).expect("UTF-8")
    }

    fn key(&mut self) -> Key {
        (self.text(), self.text())
    }

    fn flag(&mut self) -> bool {
        self.number(1) == 1
    }

    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| read(self))
    }

    fn value(&mut self) -> Value {
        match self.text().as_str() {
            "PRESENT" => Some(self.blob()),
            "ABSENT" => None,
            other => panic!("no presence is called {other}"),
        }
    }

    fn meta(&mut self) -> (Option<String>, Option<i64>) {
        let written_at = self.optional(Self::time);
        (self.optional(Self::text), written_at)
    }

    /// A text of a key, ended by two zeros; the texts of these worlds have none inside.
    fn key_text(&mut self) -> String {
        let end = self.0.windows(2).position(|pair| pair == [0, 0]).expect("an end");
        let text = String::from_utf8(self.take(end).to_vec()).expect("UTF-8");
        self.take(2);
        text
    }
}

impl Rows {
    /// Applies a transaction.
    pub(super) fn apply(&mut self, batch: &[(Vec<u8>, Option<Bytes>)]) {
        for (key, value) in batch {
            self.row(key, value.as_ref());
        }
    }

    fn row(&mut self, key: &[u8], value: Option<&Bytes>) {
        // The version before the fields, and the checksum behind them.
        let mut fields =
            value.map(|value| Fields(value.get(1..value.len().saturating_sub(4)).unwrap_or(&[])));
        let fields = fields.as_mut();
        let mut at = Fields(&key[1..]);
        match key[0] {
            b'v' => {}
            b'c' => self.client = fields.map(client),
            b'm' => {
                let sequence = at.number(8);
                self.part(sequence, &mut at, fields);
            }
            b'a' => {
                let source = (at.key_text(), at.key_text());
                put(&mut self.aliases, source, fields.map(alias));
            }
            b't' => {
                let tombstone = ((at.key_text(), at.key_text()), at.number(8));
                put(&mut self.tombstones, tombstone, fields.map(Fields::text));
            }
            b'p' | b'd' => match value {
                Some(_) => drop(self.index.insert(key.to_vec())),
                None => drop(self.index.remove(key)),
            },
            tag => panic!("no row has the tag {tag}"),
        }
    }

    fn part(&mut self, sequence: u64, at: &mut Fields<'_>, fields: Option<&mut Fields<'_>>) {
        match at.number(1) {
            2 => put(&mut self.intents, sequence, fields.map(intent)),
            3 => put(&mut self.executions, sequence, fields.map(execution)),
            4 => put(&mut self.attempts, (sequence, at.short()), fields.map(attempt)),
            5 => put(&mut self.acks, (sequence, at.short()), fields.map(ack)),
            6 => put(&mut self.failures, at.number(8), fields.map(|fields| failure(sequence, fields))),
            7 => put(&mut self.effects, (sequence, at.short()), fields.map(effect)),
            group => panic!("no row has the group {group}"),
        }
    }

    /// The end of the route from a key along active aliases, and along that of `creator`.
    pub(super) fn terminal_after(&self, key: &Key, creator: u64) -> Key {
        let mut at = key;
        let mut hops = 0;
        while let Some(alias) = self.aliases.get(at).filter(|alias| alias.active || alias.creator == creator)
        {
            at = &alias.target;
            hops += 1;
            assert!(hops <= self.aliases.len(), "the aliases from {key:?} go in a circle");
        }
        at.clone()
    }

    /// Whether a key lies on the route from another one: where it ended before another lane made it longer.
    pub(super) fn is_on_route(&self, from: &Key, creator: u64, key: &Key) -> bool {
        let routes = |alias: &&Alias| alias.active || alias.creator == creator;
        std::iter::successors(Some(from), |at| {
            self.aliases.get(*at).filter(routes).map(|alias| &alias.target)
        })
        .take(self.aliases.len() + 1)
        .any(|at| at == key)
    }

    /// The end of the route from a key.
    pub(super) fn terminal(&self, key: &Key) -> Key {
        self.terminal_after(key, 0)
    }

    /// Where a mutation lives now.
    pub(super) fn home(&self, sequence: u64) -> Key {
        self.terminal(&self.intents[&sequence].key)
    }

    pub(super) fn phase(&self, sequence: u64) -> &str {
        self.executions.get(&sequence).map_or("", |execution| &execution.phase)
    }

    /// The mutation that owns a lane.
    pub(super) fn owner(&self, namespace: &str) -> Option<u64> {
        let mut owners = self.executions.iter().filter(|(sequence, execution)| {
            execution.owns_lane() && self.intents.get(sequence).is_some_and(|it| it.key.0 == namespace)
        });
        owners.next().map(|(sequence, _)| *sequence)
    }

    /// Failures that hold a mutation back, with the time of the last one.
    pub(super) fn held_back(&self, sequence: u64) -> Option<(u32, i64)> {
        let execution = self.executions.get(&sequence)?;
        match execution.phase.as_str() {
            "READY" | "REFRESH_REQUIRED" => {
                execution.last_attempt_at.map(|last_attempt_at| (execution.attempt, last_attempt_at))
            }
            "ACKED" | "EFFECTS_PENDING" => self
                .failures
                .iter()
                .filter(|(_, it)| it.sequence == sequence && it.generation == execution.generation)
                .filter(|(_, it)| matches!(it.kind.as_str(), "ADOPTION" | "EFFECT" | "IDENTITY"))
                .max_by_key(|(id, it)| (it.last_at, **id))
                .map(|(_, it)| (it.count, it.last_at)),
            _ => None,
        }
    }

    /// Everything up to here is settled.
    pub(super) fn prefix(&self) -> u64 {
        let Some(client) = &self.client else { return 0 };
        let settled = |sequence: &u64| match self.executions.get(sequence) {
            Some(execution) => execution.is_settled(),
            None => *sequence <= client.confirmed,
        };
        (1..=client.allocated).take_while(settled).last().unwrap_or(0)
    }
}

fn put<K: Ord, V>(rows: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => rows.insert(key, value),
        None => rows.remove(&key),
    };
}

fn client(from: &mut Fields<'_>) -> Client {
    from.text();
    Client {
        epoch: from.number(8),
        allocated: from.number(8),
        retired: from.number(8),
        confirmed: from.number(8),
    }
}

fn intent(from: &mut Fields<'_>) -> Intent {
    let key = from.key();
    from.text();
    from.short();
    Intent { key, args: from.blob(), retry_of: from.optional(|from| from.number(8)) }
}

fn execution(from: &mut Fields<'_>) -> Execution {
    let phase = from.text();
    let (generation, attempt) = (from.short(), from.short());
    let last_attempt_at = from.optional(Fields::time);
    let failure = from.optional(|from| from.number(8));
    let unknown = from.flag();
    from.optional(Fields::time);
    let dismissed = from.flag();
    Execution { phase, generation, attempt, last_attempt_at, failure, unknown, dismissed }
}

fn attempt(from: &mut Fields<'_>) -> Attempt {
    let key = from.key();
    let version = from.short();
    let (base, mine) = (from.value(), from.value());
    let precondition = from.optional(Fields::meta);
    let retired_through = from.number(8);
    let idempotency_key = from.text();
    from.time();
    let conflict = from.optional(|from| from.optional(Fields::meta));
    Attempt { key, version, base, mine, precondition, retired_through, idempotency_key, conflict }
}

fn ack(from: &mut Fields<'_>) -> Ack {
    let value = from.value();
    from.short();
    Ack { value, etag: from.optional(Fields::text), target: from.optional(Fields::key) }
}

fn failure(sequence: u64, from: &mut Fields<'_>) -> Failure {
    let generation = from.short();
    let (kind, detail) = (from.text(), from.text());
    from.text();
    from.time();
    Failure { sequence, generation, kind, detail, last_at: from.time(), count: from.short() }
}

fn effect(from: &mut Fields<'_>) -> Effect {
    let target = match from.text().as_str() {
        "NAMESPACE" => Target::Namespace(from.text()),
        "KEY" => Target::Key(from.key()),
        other => panic!("no effect is called {other}"),
    };
    from.time();
    Effect { target, disposition: from.text() }
}

fn alias(from: &mut Fields<'_>) -> Alias {
    let target = from.key();
    let active = from.text() == "ACTIVE";
    Alias { target, active, creator: from.number(8) }
}
