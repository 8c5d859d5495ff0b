//! The engine against a model that follows the rules of docs/ordering.md literally: it stores every record before it
//! delivers it, decodes every header, and encodes every stamp from nothing.

use std::collections::BTreeMap;

use super::*;
use crate::held::Record;
use crate::rows::{RowVisitor, RowsError};

/// Committed rows and those flushed since.
#[derive(Clone, Default)]
struct MapRows(BTreeMap<Bytes, Bytes>);

impl Rows for MapRows {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, RowsError> {
        Ok(self.0.get(key).cloned())
    }

    fn visit(&self, visitor: &mut RowVisitor<'_>) -> Result<(), RowsError> {
        for (key, value) in &self.0 {
            if visitor(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl MapRows {
    fn flush(&mut self, engine: &mut Engine) -> usize {
        let mut count = 0;
        engine.flush(&mut |key, value| {
            count += 1;
            match value {
                Some(value) => self.0.insert(key, value),
                None => self.0.remove(&key),
            };
        });
        count
    }
}

/// Rows that tell how often they were read.
#[derive(Default)]
struct CountingRows {
    rows: MapRows,
    gets: std::cell::Cell<usize>,
}

impl Rows for CountingRows {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, RowsError> {
        self.gets.set(self.gets.get() + 1);
        self.rows.get(key)
    }

    fn visit(&self, visitor: &mut RowVisitor<'_>) -> Result<(), RowsError> {
        self.rows.visit(visitor)
    }
}

fn channel(number: u8) -> ChannelId {
    format!("{number:032x}:0").parse().unwrap()
}

fn position(number: i64) -> Position {
    Position::new(number).unwrap()
}

fn cause(channel_number: u8, number: i64) -> Cause {
    Cause { channel: channel(channel_number), position: position(number) }
}

fn received(numbers: &[u8]) -> Vec<Received> {
    let received = |number: &u8| Received { name: format!("t{number}"), channel: channel(*number), start: 0 };
    numbers.iter().map(received).collect()
}

fn record(timestamp: i64) -> Bytes {
    let value = Some(Bytes::from(format!("value {timestamp}")));
    Record { timestamp, key: None, value, headers: Vec::new() }.encode().unwrap()
}

/// A whole step: feed, drain, hold. Gives what was delivered, as (index of the channel, position).
fn step(
    engine: &mut Engine,
    rows: &dyn Rows,
    channel: usize,
    number: i64,
    causes: &[Cause],
) -> Result<Vec<(usize, i64)>, Fault> {
    let encoded = causes::encode(causes);
    let header = if causes.is_empty() { CausesHeader::Absent } else { CausesHeader::Once(Some(&encoded)) };
    let receipt = engine.receive(channel, position(number), header)?;
    let mut delivered = Vec::new();
    if receipt == Receipt::Delivered {
        delivered.push((channel, number));
    }
    while engine.may_release() {
        match engine.next(rows)? {
            Next::None => break,
            Next::Current => delivered.push((channel, number)),
            Next::Held(released) => {
                assert_eq!(
                    released.record,
                    record(released.position.get()),
                    "the content is the record's own"
                );
                delivered.push((released.channel, released.position.get()));
            }
        }
    }
    if receipt == Receipt::Pending && !delivered.contains(&(channel, number)) {
        engine.hold(&record(number)).unwrap();
    }
    Ok(delivered)
}

/// Section 3, word by word.
#[derive(Default)]
struct Model {
    received: Vec<u8>,
    fed_up_to: BTreeMap<u8, i64>,
    held: BTreeMap<u8, BTreeMap<i64, Vec<Cause>>>,
    frontier: BTreeMap<ChannelId, i64>,
    past: BTreeMap<ChannelId, i64>,
}

impl Model {
    fn settled(&self, number: u8) -> Option<i64> {
        match self.held.get(&number).and_then(|held| held.keys().next()) {
            Some(head) => Some(head - 1),
            None => self.fed_up_to.get(&number).copied(),
        }
    }

    fn receive(&mut self, number: u8, at: i64, causes: &[Cause]) -> Vec<(usize, i64)> {
        for cause in causes {
            raise(&mut self.frontier, cause.channel, cause.position.get());
        }
        if self.fed_up_to.get(&number).is_none_or(|fed| at > *fed) {
            self.fed_up_to.insert(number, at);
            self.held.entry(number).or_default().insert(at, causes.to_vec());
        }
        let mut delivered = Vec::new();
        while let Some(number) = self.next() {
            let (at, causes) = self.held.get_mut(&number).unwrap().pop_first().unwrap();
            raise(&mut self.frontier, channel(number), at);
            for cause in causes {
                raise(&mut self.past, cause.channel, cause.position.get());
            }
            let index = self.received.iter().position(|known| *known == number).unwrap();
            delivered.push((index, at));
        }
        delivered
    }

    fn next(&self) -> Option<u8> {
        let mut numbers = self.received.clone();
        numbers.sort_unstable();
        numbers.into_iter().find(|number| {
            let head = self.held.get(number).and_then(|held| held.values().next());
            head.is_some_and(|causes| causes.iter().all(|cause| self.met(*cause)))
        })
    }

    fn met(&self, cause: Cause) -> bool {
        let number = self.received.iter().find(|number| channel(**number) == cause.channel);
        number
            .is_none_or(|number| self.settled(*number).is_some_and(|settled| settled >= cause.position.get()))
    }

    fn stamp(&self) -> Vec<u8> {
        let causes =
            self.frontier.iter().map(|(channel, at)| Cause { channel: *channel, position: position(*at) });
        causes::encode(&causes.collect::<Vec<_>>())
    }

    fn rows(&self) -> BTreeMap<Bytes, Bytes> {
        let number = |value: i64| Bytes::copy_from_slice(&value.to_be_bytes());
        let mut rows = BTreeMap::from([(Bytes::from_static(b"v"), Bytes::from_static(b"\x02"))]);
        for received in &self.received {
            let id = Bytes::copy_from_slice(&channel(*received).to_bytes());
            rows.insert(Bytes::from(name_key(&format!("t{received}"))), id);
        }
        for (received, fed) in &self.fed_up_to {
            rows.insert(Bytes::copy_from_slice(&fed_up_to_key(channel(*received))), number(*fed));
        }
        for (id, at) in &self.frontier {
            rows.insert(Bytes::copy_from_slice(&crate::keys::frontier_key(*id)), number(*at));
        }
        for (id, at) in &self.past {
            rows.insert(Bytes::copy_from_slice(&crate::keys::past_key(*id)), number(*at));
        }
        for (received, held) in &self.held {
            for (at, causes) in held {
                let key = hold_key(channel(*received), position(*at));
                let row = held::encode(&key, &causes::encode(causes), &record(*at));
                rows.insert(Bytes::copy_from_slice(&key), row);
            }
        }
        rows
    }
}

fn raise(positions: &mut BTreeMap<ChannelId, i64>, channel: ChannelId, at: i64) {
    let known = positions.entry(channel).or_insert(at);
    *known = (*known).max(at);
}

/// A small generator, so that a seed is one run everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn below_i64(&mut self, bound: u64) -> i64 {
        i64::try_from(self.below(bound)).unwrap()
    }

    /// The same channels, some at the next position.
    fn move_some(&mut self, causes: &mut [Cause]) {
        for cause in causes {
            if self.below(2) == 0 {
                cause.position = position(cause.position.get() + 1);
            }
        }
    }

    fn causes(&mut self, next_positions: &[i64]) -> Vec<Cause> {
        let mut causes = Vec::new();
        for number in 1..=6_u8 {
            if self.below(3) == 0 {
                let near = next_positions.get(usize::from(number) - 1).copied().unwrap_or(20);
                causes.push(cause(number, (near + self.below_i64(5) - 3).max(0)));
            }
        }
        causes
    }
}

/// Feeds random records, with flushes, clean restarts and replays, and compares every step with the model.
fn compare_with_model(seed: u64) {
    let mut random = Random(seed);
    // In an order that is not that of the channels.
    let order = [3, 1, 4, 2];
    let mut rows = MapRows::default();
    let mut engine = Engine::open(&received(&order), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    let mut model = Model { received: order.to_vec(), ..Model::default() };
    // Next position by channel number - 1.
    let mut next_positions = [0_i64; 4];
    let mut last_causes: Vec<Cause> = Vec::new();
    for _ in 0..120 {
        let index = usize::try_from(random.below(4)).unwrap();
        let number = order[index];
        let at = next_positions[usize::from(number) - 1] + random.below_i64(2) * random.below_i64(3);
        next_positions[usize::from(number) - 1] = at + 1;
        match random.below(4) {
            0 => {} // The same header again.
            1 => last_causes = random.causes(&next_positions),
            _ => random.move_some(&mut last_causes),
        }
        let delivered = step(&mut engine, &rows, index, at, &last_causes).unwrap();
        assert_eq!(delivered, model.receive(number, at, &last_causes), "seed {seed}");
        assert_eq!(engine.stamp(), model.stamp(), "seed {seed}");
        if random.below(4) == 0 {
            rows.flush(&mut engine);
            assert_eq!(rows.0, model.rows(), "seed {seed}");
        }
        if random.below(12) == 0 {
            rows.flush(&mut engine);
            engine = Engine::open(&received(&order), BUDGET_BYTES_DEFAULT, &rows).unwrap();
            if let Some(fed) = model.fed_up_to.get(&number).copied() {
                let delivered = step(&mut engine, &rows, index, fed, &last_causes).unwrap();
                assert_eq!(delivered, model.receive(number, fed, &last_causes), "seed {seed}: a replay");
            }
        }
    }
}

#[test]
fn every_step_equals_the_literal_rules() {
    for seed in 0..1_000 {
        compare_with_model(seed);
    }
}

#[test]
fn a_record_deliverable_at_once_costs_no_store_access() {
    let rows = CountingRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    let at_open = rows.gets.get();
    for number in 0..50 {
        let channel = usize::try_from(number % 2).unwrap();
        step(&mut engine, &rows, channel, number, &[cause(9, number)]).unwrap();
        assert!(!engine.may_release());
    }
    assert_eq!(rows.gets.get(), at_open);
    let mut holds = 0;
    engine.flush(&mut |key, _| holds += usize::from(key[0] == b'h'));
    assert_eq!(holds, 0);
}

#[test]
fn a_flush_with_nothing_new_writes_nothing() {
    let mut rows = MapRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    for number in 0..1_000 {
        step(&mut engine, &rows, 0, number, &[cause(2, 5_000)]).unwrap();
    }
    // Version, two names, one fedUpTo, the frontier of the cause, and the holds.
    assert_eq!(rows.flush(&mut engine), 1 + 2 + 1 + 1 + 1_000);
    assert_eq!(rows.flush(&mut engine), 0);
    assert_eq!(engine.unflushed_bytes(), 0);
}

#[test]
fn a_released_hold_is_read_back_from_the_store() {
    let mut rows = CountingRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    for number in 0..3 {
        step(&mut engine, &rows, 0, number, &[cause(2, 0)]).unwrap();
    }
    rows.rows.flush(&mut engine);
    let before = rows.gets.get();
    let delivered = step(&mut engine, &rows, 1, 0, &[]).unwrap();
    assert_eq!(delivered, [(1, 0), (0, 0), (0, 1), (0, 2)]);
    // The first head was decoded when it was received; the two behind it come back from the store.
    assert_eq!(rows.gets.get() - before, 2);
}

#[test]
fn a_hold_missing_when_it_becomes_the_head_is_refused() {
    let mut rows = MapRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    for number in 0..2 {
        step(&mut engine, &rows, 0, number, &[cause(2, 0)]).unwrap();
    }
    rows.flush(&mut engine);
    rows.0.remove(&hold_key(channel(1), position(1))[..]);
    let Err(Fault::Refused(refusal)) = step(&mut engine, &rows, 1, 0, &[]) else { panic!("delivered") };
    assert_eq!(refusal.reason, Reason::UnknownOrderingStateFormat);
    assert_eq!((refusal.channel, refusal.position), (Some(channel(1)), Some(1)));
}

#[test]
fn the_first_refusal_wins() {
    let rows = MapRows::default();
    let mut engine = Engine::open(&received(&[1]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    engine.receive(0, position(5), CausesHeader::Absent).unwrap();
    let first = engine.receive(0, position(5), CausesHeader::Absent).unwrap_err();
    assert_eq!(first.reason, Reason::OutOfOrderFeed);
    assert_eq!(engine.receive(0, position(9), CausesHeader::Repeated), Err(first.clone()));
    assert_eq!(engine.next(&rows), Err(Fault::Refused(first)));
}

#[test]
#[should_panic(expected = "neither delivered nor held")]
fn a_pending_record_cannot_be_forgotten_at_a_flush() {
    let rows = MapRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    let header = causes::encode(&[cause(2, 0)]);
    assert_eq!(engine.receive(0, position(0), CausesHeader::Once(Some(&header))), Ok(Receipt::Pending));
    engine.flush(&mut |_, _| ());
}

#[test]
fn a_content_that_is_no_record_is_not_held() {
    let rows = MapRows::default();
    let mut engine = Engine::open(&received(&[1, 2]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    let header = causes::encode(&[cause(2, 0)]);
    engine.receive(0, position(0), CausesHeader::Once(Some(&header))).unwrap();
    assert_eq!(engine.hold(&Bytes::from_static(b"x")), Err(HeldError::Length));
    assert_eq!(engine.hold(&record(0)), Ok(()));
}

#[test]
fn a_version_1_hold_delivered_before_the_first_flush_is_deleted() {
    let key = hold_key(channel(1), position(4));
    let row = [&b"\x01"[..], &record(4), b"\0\0\0\0"].concat();
    let mut rows = MapRows::default();
    rows.0.insert(Bytes::from_static(b"v"), Bytes::from_static(b"\x01"));
    rows.0.insert(
        Bytes::copy_from_slice(&fed_up_to_key(channel(1))),
        Bytes::copy_from_slice(&4_i64.to_be_bytes()),
    );
    rows.0.insert(Bytes::copy_from_slice(&key), Bytes::from(row));
    let mut engine = Engine::open(&received(&[1]), BUDGET_BYTES_DEFAULT, &rows).unwrap();
    let Next::Held(released) = engine.next(&rows).unwrap() else { panic!("not released") };
    assert_eq!(released.record, record(4));
    rows.flush(&mut engine);
    assert_eq!(rows.0.get(&key[..]), None);
    assert_eq!(rows.0[&b"v"[..]], Bytes::from_static(b"\x02"));
}
