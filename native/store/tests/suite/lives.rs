//! The life of a task as Kafka Streams leads it, on one side the store, on the other what Kafka keeps: the changelog,
//! the group's positions, and what was delivered in committed transactions. Everything is a function of the script.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

use bytes::Bytes;
use parsley_core::causes::{self, Cause};
use parsley_core::keys::{VERSION_KEY, fed_up_to_key, hold_key, name_key};
use parsley_core::{CausesHeader, ChannelId, Next, Position, Receipt, Received, held};
use parsley_store::{Backend, OrderingStore, StoreError, Task, TaskError};

use crate::faulty::{Cut, Faulty, Point};
use crate::support::{NAME, Random};

const BUDGET_BYTES: usize = 4096;
/// Records fed between two commits.
const STEP_RECORDS: usize = 4;
const CHANNELS: [(&str, &str); 3] = [
    ("orders", "11111111222233334444555555555555:0"),
    ("payments", "8f00000000004000800000000000000b:0"),
    ("refunds", "c1000000000040008000000000000001:0"),
];
/// What is held of refunds when a store is old or large waits for an order that does not come.
const NEVER: i64 = 1 << 40;

pub type Change = (Bytes, Option<Bytes>);

/// What a life begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing.
    Fresh,
    /// A committed store of format version 1 on disk.
    VersionOne,
    /// The same, and the disk is new, so that it is restored first.
    VersionOneElsewhere,
    /// Rows on disk that no offset vouches for.
    WithoutOffset,
    /// More rows in the changelog than are restored in one piece, and the first of them on disk.
    FarBehind,
}

/// One life: settings, beginning, and what is read.
pub struct Script {
    pub transactional: bool,
    pub start: Start,
    pub input: Vec<Record>,
    /// The step, counted from 0, whose transaction is aborted.
    abort: Option<usize>,
}

/// A record to be fed.
pub struct Record {
    channel: usize,
    position: Position,
    causes: Vec<u8>,
    part: Bytes,
}

/// What Kafka keeps, whatever happens to the disk.
#[derive(Clone, Default)]
pub struct Kafka {
    pub changelog: Vec<Change>,
    /// How much of the input is read.
    read: usize,
    steps: usize,
    /// Channel, position and content of each delivered record.
    pub delivered: Vec<(usize, i64, Bytes)>,
    /// Offsets that the store may show if the process dies now.
    pub may_show: Vec<Option<i64>>,
}

fn channel(index: usize) -> ChannelId {
    CHANNELS[index].1.parse().unwrap()
}

fn position(offset: i64) -> Position {
    Position::new(offset).unwrap()
}

/// A record part without key and headers.
fn record_part(value: &[u8]) -> Bytes {
    let mut part = 5_i64.to_be_bytes().to_vec();
    part.push(0b01);
    part.extend_from_slice(&i32::try_from(value.len()).unwrap().to_be_bytes());
    part.extend_from_slice(value);
    part.extend_from_slice(&0_i32.to_be_bytes());
    part.into()
}

impl Script {
    pub fn seeded(seed: u64, transactional: bool, start: Start) -> Self {
        let mut random = Random::seeded(seed);
        let mut next = [0_i64; 2];
        let mut input = Vec::new();
        for number in 0..24 {
            let of = usize::try_from(random.below(2)).unwrap();
            let other = 1 - of;
            let mut list = Vec::new();
            if random.below(3) > 0 {
                let ahead = i64::try_from(random.below(6)).unwrap();
                list.push(Cause {
                    channel: channel(other),
                    position: position((next[other] + ahead - 3).max(0)),
                });
            }
            input.push(Record {
                channel: of,
                position: position(next[of]),
                causes: causes::encode(&list),
                part: record_part(format!("record {number}").as_bytes()),
            });
            next[of] += 1 + i64::try_from(random.below(2)).unwrap();
        }
        // An abort closes the store and opens it again, on what the disk then holds.
        let abort = (random.below(2) == 0).then_some(2);
        Self { transactional, start, input, abort }
    }

    /// Sets up what the life begins with.
    pub fn prepare<B: Backend>(&self, backend: B, kafka: &mut Kafka) {
        let mut store = OrderingStore::open(backend).unwrap();
        match self.start {
            Start::Fresh => {}
            Start::VersionOne => {
                kafka.changelog = version_one();
                put_all(&mut store, &kafka.changelog);
                commit_all(&mut store, kafka).unwrap();
            }
            Start::VersionOneElsewhere => kafka.changelog = version_one(),
            Start::WithoutOffset => {
                kafka.changelog = old_rows(held::VERSION_2, 4, 10);
                put_all(&mut store, &kafka.changelog);
                store.commit(&[]).unwrap();
            }
            Start::FarBehind => {
                // Each run takes the same ones, since there is much of them.
                static ROWS: OnceLock<Vec<Change>> = OnceLock::new();
                kafka.changelog.clone_from(ROWS.get_or_init(|| old_rows(held::VERSION_2, 9, 800 * 1024)));
                put_all(&mut store, &kafka.changelog[..6]);
                store.commit(&[(NAME.to_owned(), Some(6))]).unwrap();
            }
        }
        let shown = store.committed_offset(NAME).unwrap();
        store.close().unwrap();
        kafka.may_show = vec![shown];
    }

    /// Lives from the opening of the store to its close, until the input is read or the run is cut.
    pub fn live<B: Backend>(
        &self,
        open: &dyn Fn() -> Result<B, StoreError>,
        kafka: &mut Kafka,
        cut: &Rc<Cut>,
    ) -> Result<(), TaskError> {
        while !self.execute(open()?, kafka, cut)? {}
        Ok(())
    }

    /// One execution; whether it came to the end.
    fn execute<B: Backend>(&self, backend: B, kafka: &mut Kafka, cut: &Rc<Cut>) -> Result<bool, TaskError> {
        let mut task = Task::new(OrderingStore::open(Faulty::over(backend, cut))?);
        restore(task.store_mut(), kafka, cut)?;
        task.open_engine(&self.received(kafka), BUDGET_BYTES)?;
        while kafka.read < self.input.len() {
            let end = (kafka.read + STEP_RECORDS).min(self.input.len());
            let mut delivered = Vec::new();
            for record in &self.input[kafka.read..end] {
                feed(&mut task, record, &mut delivered)?;
            }
            if !self.transactional {
                telling(task.store_mut(), kafka, OrderingStore::settle)?;
            }
            let mut rows = Vec::new();
            task.flush(usize::MAX, &mut |key, value| {
                rows.push((Bytes::copy_from_slice(key), value.map(Bytes::copy_from_slice)));
            })?;
            cut.pass(Point::Staged)?;
            kafka.steps += 1;
            if self.abort.is_some_and(|abort| abort + 1 == kafka.steps) {
                task.close()?;
                return Ok(false);
            }
            kafka.changelog.extend(rows);
            kafka.read = end;
            kafka.delivered.extend(delivered);
            cut.pass(Point::Transaction)?;
            if self.transactional {
                commit_all(task.store_mut(), kafka)?;
            }
        }
        commit_all(task.store_mut(), kafka)?;
        task.close()?;
        kafka.may_show.drain(..kafka.may_show.len() - 1);
        Ok(true)
    }

    /// The channels, each from the group's position on.
    fn received(&self, kafka: &Kafka) -> Vec<Received> {
        let read = &self.input[..kafka.read];
        let start = |index| read.iter().rev().find(|record| record.channel == index);
        let received = CHANNELS.iter().enumerate().map(|(index, (name, _))| Received {
            name: (*name).to_owned(),
            channel: channel(index),
            start: start(index).map_or(0, |record| record.position.get() + 1),
        });
        received.collect()
    }
}

/// Reads back what the store misses, in batches, of which some are followed by a commit of what has been reached.
fn restore<B: Backend>(
    store: &mut OrderingStore<Faulty<B>>,
    kafka: &mut Kafka,
    cut: &Cut,
) -> Result<(), StoreError> {
    const BATCH_ROWS: usize = 3;
    let found = store.committed_offset(NAME)?;
    kafka.may_show = vec![found];
    let mut reached = usize::try_from(found.unwrap_or(0)).unwrap();
    let mut batches = 0;
    while reached < kafka.changelog.len() {
        let end = (reached + BATCH_ROWS).min(kafka.changelog.len());
        let batch = kafka.changelog[reached..end].to_vec();
        telling(store, kafka, |store| store.restore(batch))?;
        cut.pass(Point::Restored)?;
        reached = end;
        batches += 1;
        if batches % 4 == 0 {
            commit(store, kafka, reached)?;
        }
    }
    commit(store, kafka, reached)
}

/// A call that may forget the stored offset: both offsets may be found while it runs, only the new one afterwards.
fn telling<B: Backend>(
    store: &mut OrderingStore<B>,
    kafka: &mut Kafka,
    call: impl FnOnce(&mut OrderingStore<B>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let before = store.committed_offset(NAME)?;
    kafka.may_show.push(None);
    call(store)?;
    kafka.may_show.pop();
    if store.committed_offset(NAME)? != before {
        kafka.may_show = vec![None];
    }
    Ok(())
}

fn commit<B: Backend>(
    store: &mut OrderingStore<B>,
    kafka: &mut Kafka,
    reached: usize,
) -> Result<(), StoreError> {
    let offset = Some(i64::try_from(reached).unwrap());
    kafka.may_show.push(offset);
    store.commit(&[(NAME.to_owned(), offset)])
}

fn commit_all<B: Backend>(store: &mut OrderingStore<B>, kafka: &mut Kafka) -> Result<(), StoreError> {
    commit(store, kafka, kafka.changelog.len())
}

fn put_all<B: Backend>(store: &mut OrderingStore<B>, rows: &[Change]) {
    for (key, value) in rows {
        store.put(key.clone(), value.clone()).unwrap();
    }
}

fn feed<B: Backend>(
    task: &mut Task<B>,
    record: &Record,
    delivered: &mut Vec<(usize, i64, Bytes)>,
) -> Result<(), TaskError> {
    let Record { channel, position, causes, part } = record;
    let mut pending = false;
    match task.receive(*channel, *position, CausesHeader::Once(Some(causes)))? {
        Receipt::Duplicate => {
            panic!("the group's position is committed with the rows, so nothing comes twice")
        }
        Receipt::Delivered => delivered.push((*channel, position.get(), part.clone())),
        Receipt::Pending => pending = true,
    }
    loop {
        match task.next_delivery()? {
            Next::None => break,
            Next::Current => {
                pending = false;
                delivered.push((*channel, position.get(), part.clone()));
            }
            Next::Held(held) => delivered.push((held.channel, held.position.get(), held.record)),
        }
    }
    if pending { task.hold(part) } else { Ok(()) }
}

fn version_one() -> Vec<Change> {
    old_rows(held::VERSION_1, 5, 10)
}

/// Rows of an earlier life: refunds that are held, all of one format version.
fn old_rows(version: u8, holds: i64, value_bytes: usize) -> Vec<Change> {
    let refunds = channel(2);
    let mut rows = vec![
        (Bytes::copy_from_slice(&VERSION_KEY), Some(Bytes::copy_from_slice(&[version]))),
        (name_key(CHANNELS[2].0).into(), Some(Bytes::copy_from_slice(&refunds.to_bytes()))),
        (
            Bytes::copy_from_slice(&fed_up_to_key(refunds)),
            Some(Bytes::copy_from_slice(&(holds - 1).to_be_bytes())),
        ),
    ];
    for offset in 0..holds {
        let key = hold_key(refunds, position(offset));
        let part = record_part(&vec![u8::try_from(offset).unwrap(); value_bytes]);
        let value = if version == held::VERSION_1 {
            let mut value = [&[version][..], &part, &1_i32.to_be_bytes()].concat();
            value.extend_from_slice(&channel(0).to_bytes());
            value.extend_from_slice(&NEVER.to_be_bytes());
            value.into()
        } else {
            let waits_for = [Cause { channel: channel(0), position: position(NEVER) }];
            held::encode(&key, &causes::encode(&waits_for), &part)
        };
        rows.push((Bytes::copy_from_slice(&key), Some(value)));
    }
    rows
}

/// The rows that a changelog amounts to.
pub fn amount_to(changelog: &[Change]) -> Vec<(Bytes, Bytes)> {
    let mut rows = BTreeMap::new();
    for (key, value) in changelog {
        match value {
            Some(value) => rows.insert(key.clone(), value.clone()),
            None => rows.remove(key),
        };
    }
    rows.into_iter().collect()
}
