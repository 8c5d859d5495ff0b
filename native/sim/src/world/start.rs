//! The start of a process: its store is opened, restored and compared, then its engine.

use bytes::Bytes;
use parsley_core::{BUDGET_BYTES_DEFAULT, Received, TopicId};
use parsley_store::{Direction, KeyRange, MemoryBackend, OrderingStore, Task, TaskError};
use std::ops::ControlFlow;

use super::step::channel_id;
use super::{World, sound};
use crate::judge::{Judged, Rule, Subscription, Violation, demand};
use crate::log::Brokers;
use crate::process::{CHANGELOG, Running, Stopped};

type Store = OrderingStore<MemoryBackend>;

impl World {
    /// A process starts, unless it refuses or crashes on the way.
    pub(crate) fn start(&mut self, process: usize) -> Judged {
        self.operator_mends(process);
        // Starting fences what a dead predecessor left open.
        self.abort_transaction(process);
        let on_a_new_disk = !self.quiet && self.random.chance(60);
        self.trace.tell('I', [process, usize::from(on_a_new_disk)], || {
            let place = if on_a_new_disk { " on another machine" } else { "" };
            format!("P{process} starts{place}")
        });
        if on_a_new_disk {
            self.processes[process].lose_disk();
        }
        if self.random.chance(80) {
            self.glance_at_store(process)?;
        }
        let Some(store) = self.open_store(process)? else { return Ok(()) };
        self.open_engine(process, Task::new(store))
    }

    /// `KafkaStreams#start` opens each store it finds, on another thread, and closes it again.
    fn glance_at_store(&mut self, process: usize) -> Judged {
        let mut store = self.open_disk(process)?;
        let offset = sound(store.committed_offset(CHANGELOG))?;
        let offsets: Vec<_> = offset.map(|offset| (CHANGELOG.to_owned(), Some(offset))).into_iter().collect();
        sound(store.commit(&offsets))?;
        self.processes[process].durable = offset;
        sound(store.close())
    }

    fn open_disk(&self, process: usize) -> Judged<Store> {
        sound(MemoryBackend::open(&self.processes[process].disk).and_then(OrderingStore::open))
    }

    /// Opens the store and brings it up to the changelog. `None`: crashed on the way.
    fn open_store(&mut self, process: usize) -> Judged<Option<Store>> {
        let mut store = self.open_disk(process)?;
        let offset = sound(store.committed_offset(CHANGELOG))?;
        let mut missing: Vec<_> = self.processes[process].changelog.after(offset).collect();
        let crash_after =
            (!self.quiet && self.random.chance(25)).then(|| self.random.below(missing.len() + 1));
        let rows = missing.len();
        self.trace.say(|| format!("   its store is at {offset:?}, {rows} rows are restored"));
        let mut restored = 0;
        while !missing.is_empty() {
            let rest = missing.split_off(missing.len().min(1 + self.random.below(12)));
            restored += missing.len();
            sound(store.restore(std::mem::replace(&mut missing, rest)))?;
            if crash_after.is_some_and(|after| restored >= after) {
                self.trace
                    .tell('K', [process, restored], || "   and crashes before it is restored".to_owned());
                self.lose_memory(process);
                return Ok(None);
            }
        }
        self.compare(process, &store)?;
        let process = &mut self.processes[process];
        // With transactional stores the first commit comes with the first transaction, or here.
        if !process.transactional || self.random.chance(500) {
            let offsets = process.offsets();
            sound(store.commit(&offsets))?;
            process.offset_written(process.changelog.last());
        }
        Ok(Some(store))
    }

    /// What is restored is exactly what was committed.
    fn compare(&self, process: usize, store: &Store) -> Judged {
        let rows = rows_of(store)?;
        let committed = self.processes[process].changelog.rows();
        demand(rows.iter().map(|(key, value)| (key, value)).eq(committed), Rule::Rows, || {
            let differs = |row: &&(Bytes, Bytes)| committed.get(&row.0) != Some(&row.1);
            let stray = rows.iter().find(differs).map(|(key, _)| key.clone());
            let lost = committed.keys().find(|key| rows.iter().all(|(known, _)| known != *key));
            format!(
                "P{process}: the restored store is not what was committed: row {stray:02x?} is wrong, row {lost:02x?} is missing"
            )
        })
    }

    fn open_engine(&mut self, process: usize, mut task: Task<MemoryBackend>) -> Judged {
        let subscriptions = self.subscriptions(process);
        let is_damaged = !self.quiet && self.random.chance(40) && self.damage(process, &mut task)?;
        let budget = if !self.quiet && self.random.chance(60) {
            2 + self.random.below(180)
        } else {
            BUDGET_BYTES_DEFAULT
        };
        let mut received = Vec::new();
        for Subscription { name, channel, start } in &subscriptions {
            let channel = channel_id(&self.brokers.channels[*channel].id)?;
            received.push(Received { name: Brokers::topic_name(*name).to_owned(), channel, start: *start });
        }
        let brokers = &self.brokers;
        self.trace.say(|| {
            let shown: Vec<String> = subscriptions
                .iter()
                .map(|received| format!("{} from {}", brokers.show(received.channel), received.start))
                .collect();
            format!("   receives {}; budget {budget}", shown.join(", "))
        });
        let expected = self.judge.started(process, &subscriptions, budget, is_damaged);
        let opened = task.open_engine(&received, budget);
        let mut running = Running {
            positions: subscriptions.iter().map(|received| received.start).collect(),
            slow: (0..subscriptions.len()).nth(self.random.below(subscriptions.len() + 1)),
            subscriptions,
            task,
            spoiled: false,
        };
        if !self.went_as_expected(process, opened, expected)? {
            return self.close_dirty(process, running);
        }
        if !self.tell_of_topics(process, &mut running)? {
            return self.close_dirty(process, running);
        }
        let stamp = running.task.stamp().map(<[u8]>::to_vec);
        let stamp = stamp.map_err(|error| Violation::new(Rule::NoFailure, error.to_string()))?;
        self.judge.stamp(process, &stamp)?;
        self.judge.held_count(process, running.task.held_count().unwrap_or(usize::MAX))?;
        self.processes[process].running = Some(running);
        Ok(())
    }

    /// The channels of a process's topics as a directory of topics and the group's coordinator tell them.
    fn subscriptions(&mut self, process: usize) -> Vec<Subscription> {
        let mut subscriptions = Vec::new();
        for name in self.processes[process].names.clone() {
            let partition = self.processes[process].partition;
            let bound = self.judge.bound(process, name);
            let live = self.brokers.topics[name].channels.get(partition).copied();
            // A directory that has not seen the new topic yet names the old one, which is found out after.
            let believed = if self.random.chance(500) { live.or(bound) } else { bound.or(live) };
            let Some(channel) = believed else { continue };
            let start = self.first_position(process, channel);
            subscriptions.push(Subscription { name, channel, start });
        }
        subscriptions
    }

    /// The group's committed offset; where there is none, it is committed first.
    fn first_position(&mut self, process: usize, channel: usize) -> i64 {
        let facts = &self.brokers.channels[channel];
        let first = if self.random.chance(700) { facts.start } else { facts.stable_end(facts.start) };
        let start = self.processes[process].group[channel].get_or_insert(first);
        if !facts.deleted && *start < facts.start {
            // What was discarded unread is given up by the operator.
            *start = facts.start;
        }
        *start
    }

    /// Tells a starting process which topics are gone. False if it stops.
    fn tell_of_topics(&mut self, process: usize, running: &mut Running) -> Judged<bool> {
        let all = || 0..self.brokers.channels.len();
        let gone = |channel: &usize| self.brokers.channels[*channel].deleted;
        let replaced =
            |channel: &usize| !self.brokers.topics[self.brokers.channels[*channel].name].channels.is_empty();
        if self.random.chance(500) {
            let recreated: Vec<usize> = all().filter(gone).filter(replaced).collect();
            let dead: Vec<usize> = all().filter(gone).filter(|channel| !replaced(channel)).collect();
            let mut ids = [Vec::new(), Vec::new()];
            for (ids, channels) in ids.iter_mut().zip([&dead, &recreated]) {
                for channel in channels {
                    ids.push(channel_id(&self.brokers.channels[*channel].id)?);
                }
            }
            let expected = self.judge.told(process, &dead, &recreated);
            let told = running.task.identities(&ids[0], &ids[1]);
            return self.went_as_expected(process, told, expected);
        }
        // Only topics that the engine says it knows are looked up.
        let known = running.task.known_topics();
        let known = known.map_err(|error| Violation::new(Rule::NoFailure, error.to_string()))?;
        let topic = |channel: usize| {
            let id: [u8; 16] = std::array::from_fn(|at| self.brokers.channels[channel].id[at]);
            TopicId::from_bytes(id)
        };
        for channel in all().filter(|channel| self.judge.knows(process, *channel)) {
            demand(topic(channel).is_some_and(|topic| known.contains(&topic)), Rule::MissingRefusal, || {
                format!("channel {channel} is not among the known ones, so its deletion can't be seen")
            })?;
        }
        let mut dead: Vec<usize> = all().filter(gone).collect();
        dead.retain(|channel| topic(*channel).is_some_and(|topic| known.contains(&topic)));
        let topics: Vec<TopicId> = dead.iter().filter_map(|channel| topic(*channel)).collect();
        let expected = self.judge.told(process, &dead, &[]);
        let told = running.task.topics_gone(&topics);
        self.went_as_expected(process, told, expected)
    }

    /// Judges whether a start refused as it had to. False if it did.
    fn went_as_expected(
        &mut self,
        process: usize,
        result: Result<(), TaskError>,
        expected: Option<&'static str>,
    ) -> Judged<bool> {
        match (result, expected) {
            (Ok(()), None) => Ok(true),
            (Ok(()), Some(reason)) => Err(Violation::new(
                Rule::MissingRefusal,
                format!("P{process} had to refuse its start as {reason}"),
            )),
            (Err(TaskError::Refused(refusal)), expected) => {
                self.tell_refusal(process, &refusal);
                let name = refusal.reason.name();
                demand(expected == Some(name), Rule::NeedlessRefusal, || {
                    format!("P{process} refused its start as {name}, expected was {expected:?}")
                })?;
                self.processes[process].stopped = Some(Stopped { reason: name, message: None });
                Ok(false)
            }
            (Err(error), _) => Err(Violation::new(Rule::NoFailure, error.to_string())),
        }
    }

    /// Damages one stored row in a way that can't go unseen. False if there is none.
    fn damage(&mut self, process: usize, task: &mut Task<MemoryBackend>) -> Judged<bool> {
        let rows = rows_of(task.store())?;
        if rows.len() < 2 {
            return Ok(false);
        }
        let held: Vec<_> = rows.iter().filter(|(key, _)| key[0] == b'h').collect();
        let (key, value) = if !held.is_empty() && self.random.chance(600) {
            self.random.pick(&held)
        } else {
            &rows[self.random.below(rows.len())]
        };
        let mut changed_key = key.to_vec();
        let mut changed = value.to_vec();
        match key[0] {
            // Version 1 has no checksum: only what is no row at all is seen.
            b'h' if value[0] == 1 => changed.truncate(self.random.below(value.len())),
            // Any bit of a held message, in its key or in its value.
            b'h' => {
                let at = self.random.below(key.len() + value.len());
                let bit = 1 << self.random.below(8);
                match at.checked_sub(key.len()) {
                    None => changed_key[at] ^= bit,
                    Some(at) => changed[at] ^= bit,
                }
            }
            b'v' => changed[0] ^= 1 << self.random.below(8),
            b'n' => changed.truncate(self.random.below(value.len())),
            _ if self.random.chance(500) => changed[0] |= 0x80,
            _ => changed.truncate(self.random.below(value.len())),
        }
        let shown = key.clone();
        self.trace
            .tell('F', [process, usize::from(key[0])], || format!("   damage in row {:02x?}", &shown[..]));
        if changed_key[..] != key[..] {
            sound(task.store_mut().put(key.clone(), None))?;
        }
        // The version row may also be lost.
        let lost = key[0] == b'v' && self.random.chance(300);
        let changed = (!lost).then(|| Bytes::from(changed));
        sound(task.store_mut().put(Bytes::from(changed_key), changed))?;
        Ok(true)
    }
}

/// Every row of a store.
pub(crate) fn rows_of(store: &Store) -> Judged<Vec<(Bytes, Bytes)>> {
    let mut rows = Vec::new();
    sound(store.scan(&KeyRange::all(), Direction::Forward, &mut |key, value| {
        rows.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
        ControlFlow::Continue(())
    }))?;
    Ok(rows)
}
