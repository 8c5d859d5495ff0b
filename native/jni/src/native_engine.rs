//! The native methods of `dev.parsley.streams.internal.NativeEngine`.

#![allow(clippy::needless_pass_by_value, reason = "JNI passes arguments by value")]

use std::ptr;

use bytes::Bytes;
use jni::EnvUnowned;
use jni::objects::{JByteArray, JByteBuffer, JClass};
use jni::sys::{jbyteArray, jint, jlong};
use parsley_core::crossing::Config;
use parsley_core::crossing::config::read_topics;
use parsley_core::crossing::packed::pack;
use parsley_core::{CausesHeader, Next, Position, Receipt, TopicId};
use parsley_store::{Backend, Task, TaskError};

use crate::exchange::EXCHANGE_BYTES_MAX;
use crate::guard::{Fault, guard};
use crate::stores::with_store;

/// What `receive` answers; [`DRAIN`] may be added, and the length of a stamp above.
const DUPLICATE: jint = 0;
const DELIVERED: jint = 1;
const PENDING: jint = 2;
/// `next` may have something.
const DRAIN: jint = 4;

/// Where the length of the stamp begins in the answer of `receive`; 0 when the stamp is not in the exchange.
const STAMP_SHIFT: u32 = 8;
const _: () = assert!(EXCHANGE_BYTES_MAX <= (jint::MAX >> STAMP_SHIFT) as usize);

/// The length that stands for a header without a value.
const NO_VALUE: jint = -1;

/// What `next` answers.
const NONE: jint = 0;
const CURRENT: jint = 1;
const HELD: jint = 2;

/// About how many bytes of rows `flush` hands out at a time.
const FLUSH_CHUNK_BYTES: usize = 1024 * 1024;

/// `void open(long store, byte[] config, ByteBuffer exchange)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_open<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    config: JByteArray<'local>,
    exchange: JByteBuffer<'local>,
) {
    guard(env, store, |frame| {
        let config = Config::read(frame.read_present(&config, "config")?.into())?;
        let exchange = frame.exchange(&exchange)?;
        with_store(store, |open| {
            open.released = None;
            open.exchange = Some(exchange);
            Ok(open.task.open_engine(&config.received, config.budget_bytes)?)
        })
    });
}

/// `void close(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_close<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) {
    guard(env, store, |_| {
        with_store(store, |open| {
            open.released = None;
            open.exchange = None;
            open.task.close_engine();
            Ok(())
        })
    });
}

/// `byte[] knownTopics(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_knownTopics<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jbyteArray {
    guard(env, store, |frame| {
        let topics = with_store(store, |open| Ok(open.task.known_topics()?))?;
        let ids: Vec<u8> = topics.into_iter().flat_map(TopicId::to_bytes).collect();
        frame.new_array(&[&ids])
    })
}

/// `void topicsGone(long store, byte[] topicIds)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_topicsGone<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    topic_ids: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let topics = read_topics(&frame.read_present(&topic_ids, "topicIds")?)?;
        with_store(store, |open| Ok(open.task.topics_gone(&topics)?))
    });
}

/// `int receive(long store, int channel, long offset, int headerCount, int causesBytes)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_receive<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    channel: jint,
    offset: jlong,
    header_count: jint,
    causes_bytes: jint,
) -> jint {
    guard(env, store, |_| {
        with_store(store, |open| {
            let exchange = open.exchange.as_ref().ok_or(TaskError::NoEngine)?;
            let header = match (header_count, causes_bytes) {
                (0, _) => CausesHeader::Absent,
                (1, NO_VALUE) => CausesHeader::Once(None),
                (1, _) => {
                    let length = usize::try_from(causes_bytes).ok();
                    let causes = length.and_then(|length| exchange.read_to(length, &mut open.causes));
                    let wrong = || Fault::argument(format!("{causes_bytes} bytes are not in the exchange"));
                    CausesHeader::Once(Some(causes.ok_or_else(wrong)?))
                }
                (2.., _) => CausesHeader::Repeated,
                (..0, _) => return Err(Fault::argument("headerCount is negative")),
            };
            let answer = receive(&mut open.task, channel, offset, header)?;
            if answer & !DRAIN != DELIVERED {
                return Ok(answer);
            }
            // Most records that are delivered at once are forwarded at once.
            let stamp_bytes = exchange.write(open.task.stamp()?);
            let stamp_bytes = jint::try_from(stamp_bytes).expect("an exchange is short");
            Ok(answer | stamp_bytes << STAMP_SHIFT)
        })
    })
}

/// `int receiveLong(long store, int channel, long offset, byte[] causes)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_receiveLong<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    channel: jint,
    offset: jlong,
    causes: JByteArray<'local>,
) -> jint {
    guard(env, store, |frame| {
        let causes = frame.read_present(&causes, "causes")?;
        with_store(store, |open| receive(&mut open.task, channel, offset, CausesHeader::Once(Some(&causes))))
    })
}

fn receive<B: Backend>(
    task: &mut Task<B>,
    channel: jint,
    offset: jlong,
    header: CausesHeader<'_>,
) -> Result<jint, Fault> {
    let channel = usize::try_from(channel).map_err(|_| Fault::argument("the channel is negative"))?;
    let position = Position::new(offset).ok_or_else(|| Fault::argument(format!("{offset} is no offset")))?;
    let code = match task.receive(channel, position, header)? {
        Receipt::Duplicate => DUPLICATE,
        Receipt::Delivered => DELIVERED,
        Receipt::Pending => PENDING,
    };
    Ok(if task.may_release()? { code | DRAIN } else { code })
}

/// `int next(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_next<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jint {
    guard(env, store, |_| {
        with_store(store, |open| {
            open.released = None;
            match open.task.next_delivery()? {
                Next::None => Ok(NONE),
                Next::Current => Ok(CURRENT),
                Next::Held(released) => {
                    open.released = Some(released);
                    Ok(HELD)
                }
            }
        })
    })
}

/// `byte[] released(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_released<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jbyteArray {
    guard(env, store, |frame| {
        let released = with_store(store, |open| {
            // A refusal stands before every other answer, and so does the absence of an engine.
            open.task.may_release()?;
            open.released
                .take()
                .ok_or_else(|| Fault::argument("no record is released: next must answer HELD first"))
        })?;
        let channel = jint::try_from(released.channel).expect("no more channels than Java counts");
        let position = released.position.get();
        frame.new_array(&[&channel.to_be_bytes(), &position.to_be_bytes(), &released.record])
    })
}

/// `void hold(long store, byte[] record)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_hold<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    record: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let record = Bytes::from(frame.read_present(&record, "record")?);
        with_store(store, |open| Ok(open.task.hold(&record)?))
    });
}

/// `byte[] stamp(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_stamp<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jbyteArray {
    guard(env, store, |frame| with_store(store, |open| frame.new_array(&[open.task.stamp()?])))
}

/// `long heldCount(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_heldCount<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jlong {
    guard(env, store, |_| {
        let count = with_store(store, |open| Ok(open.task.held_count()?))?;
        Ok(jlong::try_from(count).unwrap_or(jlong::MAX))
    })
}

/// `byte[] heldCounts(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_heldCounts<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jbyteArray {
    guard(env, store, |frame| {
        let counts = with_store(store, |open| Ok(open.task.held_counts()?))?;
        let mut packed = Vec::new();
        for (channel, count) in counts {
            packed.extend_from_slice(&channel.to_bytes());
            packed.extend_from_slice(&jlong::try_from(count).unwrap_or(jlong::MAX).to_be_bytes());
        }
        frame.new_array(&[&packed])
    })
}

/// `byte[] flush(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_flush<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jbyteArray {
    guard(env, store, |frame| {
        let mut rows = Vec::new();
        with_store(store, |open| {
            Ok(open.task.flush(FLUSH_CHUNK_BYTES, &mut |key, value| pack(&mut rows, key, value))?)
        })?;
        if rows.is_empty() { Ok(ptr::null_mut()) } else { frame.new_array(&[&rows]) }
    })
}
