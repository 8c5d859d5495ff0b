//! What the engine costs per record: delivered at once, and held and released later.
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use parsley_core::causes;
use parsley_core::held::Record;
use parsley_core::{
    BUDGET_BYTES_DEFAULT, Cause, CausesHeader, ChannelId, Engine, Next, Position, Receipt, Received,
};
use parsley_store::{MemoryBackend, MemoryDisk, OrderingStore};

/// Records per measured run, with one flush at its end: what a commit interval sees.
const RECORDS: i64 = 1_000;
const CAUSES: u32 = 16;

fn channel(topic: u8, partition: u32) -> ChannelId {
    let text = format!("{topic:032x}:{partition}");
    text.parse().expect("the text is a channel")
}

fn position(number: i64) -> Position {
    Position::new(number).expect("the number is a position")
}

/// Sixteen causes on channels that are not received, one of which moves with every record.
fn header(moving: i64) -> Vec<u8> {
    let causes: Vec<Cause> = (0..CAUSES)
        .map(|partition| {
            let at = if partition == 7 { moving } else { 1_000 };
            Cause { channel: channel(9, partition), position: position(at) }
        })
        .collect();
    causes::encode(&causes)
}

/// A cause on the second received channel.
fn blocked_header() -> Vec<u8> {
    causes::encode(&[Cause { channel: channel(2, 0), position: position(0) }])
}

fn store() -> OrderingStore<MemoryBackend> {
    let backend = MemoryBackend::open(&MemoryDisk::default()).expect("memory opens");
    OrderingStore::open(backend).expect("memory opens")
}

fn engine(store: &OrderingStore<MemoryBackend>) -> Engine {
    let received: Vec<Received> = [1, 2]
        .map(|topic| Received { name: format!("topic-{topic}"), channel: channel(topic, 0), start: 0 })
        .into();
    Engine::open(&received, BUDGET_BYTES_DEFAULT, store).expect("a fresh store opens")
}

fn flush(engine: &mut Engine, store: &mut OrderingStore<MemoryBackend>) {
    engine.flush(&mut |key, value| store.put_flushed(key, value).expect("memory takes rows"));
}

fn in_order(headers: &[Vec<u8>]) -> usize {
    let mut store = store();
    let mut engine = engine(&store);
    let mut stamped = 0;
    for number in 0..RECORDS {
        let header = &headers[usize::try_from(number).expect("positive") % headers.len()];
        let receipt = engine.receive(0, position(number), CausesHeader::Once(Some(header)));
        assert_eq!(receipt, Ok(Receipt::Delivered));
        stamped += engine.stamp().len();
    }
    flush(&mut engine, &mut store);
    stamped
}

fn hold_all(record: &Bytes) -> (Engine, OrderingStore<MemoryBackend>) {
    let mut store = store();
    let mut engine = engine(&store);
    let header = blocked_header();
    for number in 0..RECORDS {
        let receipt = engine.receive(0, position(number), CausesHeader::Once(Some(&header)));
        assert_eq!(receipt, Ok(Receipt::Pending));
        engine.hold(record).expect("the record part is valid");
    }
    flush(&mut engine, &mut store);
    (engine, store)
}

fn release_all((mut engine, mut store): (Engine, OrderingStore<MemoryBackend>)) {
    let receipt = engine.receive(1, position(0), CausesHeader::Absent);
    assert_eq!(receipt, Ok(Receipt::Delivered));
    let mut released = 0;
    while let Ok(Next::Held(_)) = engine.next(&store) {
        released += 1;
    }
    assert_eq!(released, RECORDS);
    flush(&mut engine, &mut store);
}

fn benchmarks(criterion: &mut Criterion) {
    let record =
        Record { timestamp: 0, key: None, value: Some(Bytes::from(vec![0; 100])), headers: Vec::new() };
    let record = record.encode().expect("the record is small");
    let mut group = criterion.benchmark_group("engine");
    group.throughput(Throughput::Elements(RECORDS.unsigned_abs()));
    let same = [header(0)];
    group.bench_function("in order, 16 causes, equal headers", |b| b.iter(|| in_order(&same)));
    let moving: Vec<Vec<u8>> = (0..RECORDS).map(header).collect();
    group.bench_function("in order, 16 causes, one moves", |b| b.iter(|| in_order(&moving)));
    group.bench_function("hold, 100 bytes", |b| b.iter(|| hold_all(&record)));
    group.bench_function("release, 100 bytes, from the store", |b| {
        b.iter_batched(|| hold_all(&record), release_all, BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(engine_benches, benchmarks);
criterion_main!(engine_benches);
