//! The native methods of `dev.parsley.streams.internal.NativeEngine`.

#![allow(clippy::needless_pass_by_value, reason = "JNI passes arguments by value")]

use std::ptr;

use bytes::Bytes;
use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass};
use jni::sys::{jbyteArray, jint, jlong};
use parsley_core::crossing::Config;
use parsley_core::crossing::config::read_topics;
use parsley_core::crossing::packed::pack;
use parsley_core::{CausesHeader, Next, Position, Receipt, TopicId};

use crate::frame::Frame;
use crate::guard::{Fault, guard};
use crate::stores::{OpenStore, with_store};

/// What `receive` answers; [`DRAIN`] and [`STAMPED`] may be added.
const DUPLICATE: jint = 0;
const DELIVERED: jint = 1;
const PENDING: jint = 2;
/// `next` may have something.
const DRAIN: jint = 4;

/// The stamp is in the array that was given for it.
const STAMPED: jint = 8;

/// What `next` answers.
const NONE: jint = 0;
const CURRENT: jint = 1;
const HELD: jint = 2;

/// About how many bytes of rows `flush` hands out at a time.
const FLUSH_CHUNK_BYTES: usize = 1024 * 1024;

/// A header longer than this is read to memory of its own, so that a single one does not stay with its store.
const CAUSES_KEPT_BYTES_MAX: usize = 1024 * 1024;

/// `void open(long store, byte[] config)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_open<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    config: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let config = Config::read(frame.read_present(&config, "config")?.into())?;
        with_store(store, |open| {
            open.released = None;
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

/// `int receive(long store, int channel, long offset, byte[] causes, int headerCount, byte[] stamp)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeEngine_receive<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    channel: jint,
    offset: jlong,
    causes: JByteArray<'local>,
    header_count: jint,
    stamp: JByteArray<'local>,
) -> jint {
    guard(env, store, |frame| {
        with_store(store, |open| {
            let code = receive(frame, open, channel, offset, &causes, header_count)?;
            // Most records that are delivered at once are forwarded at once, and most stamps are as wide as the last.
            let stamped = code & !DRAIN == DELIVERED && frame.fill(&stamp, open.task.stamp()?);
            Ok(if stamped { code | STAMPED } else { code })
        })
    })
}

fn receive(
    frame: &Frame<'_>,
    open: &mut OpenStore,
    channel: jint,
    offset: jlong,
    causes: &JByteArray<'_>,
    header_count: jint,
) -> Result<jint, Fault> {
    let channel = usize::try_from(channel).map_err(|_| Fault::argument("the channel is negative"))?;
    let position = Position::new(offset).ok_or_else(|| Fault::argument(format!("{offset} is no offset")))?;
    let header = match header_count {
        0 => CausesHeader::Absent,
        1 => CausesHeader::Once(frame.read_to(causes, &mut open.causes)),
        2.. => CausesHeader::Repeated,
        ..0 => return Err(Fault::argument("headerCount is negative")),
    };
    let receipt = open.task.receive(channel, position, header);
    if open.causes.len() > CAUSES_KEPT_BYTES_MAX {
        open.causes = Vec::new();
    }
    let code = match receipt? {
        Receipt::Duplicate => DUPLICATE,
        Receipt::Delivered => DELIVERED,
        Receipt::Pending => PENDING,
    };
    Ok(if open.task.may_release()? { code | DRAIN } else { code })
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
