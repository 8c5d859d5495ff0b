//! The native methods of `dev.parsley.streams.internal.NativeStore`.

#![allow(clippy::needless_pass_by_value, reason = "JNI passes arguments by value")]

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::ptr;

use bytes::Bytes;
use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jboolean, jbyteArray, jint, jlong};
use parsley_core::crossing::packed::{pack, unpack, unpack_offsets};
use parsley_store::{Direction, KeyRange, OrderingStore, RocksBackend, Settings, Task};

use crate::guard::{Fault, guard};
use crate::stores::{OpenStore, STORES, with_store};

/// `long open(String directory, long blockCacheBytes, long writeBufferBytes, int backgroundThreads)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_open<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    directory: JString<'local>,
    block_cache_bytes: jlong,
    write_buffer_bytes: jlong,
    background_threads: jint,
) -> jlong {
    guard(env, 0, |frame| {
        let directory = frame.string(&directory, "directory")?;
        open(&directory, block_cache_bytes, write_buffer_bytes, background_threads)
    })
}

fn open(
    directory: &str,
    block_cache_bytes: jlong,
    write_buffer_bytes: jlong,
    background_threads: jint,
) -> Result<jlong, Fault> {
    let settings = Settings {
        block_cache_bytes: positive(block_cache_bytes, "blockCacheBytes")?,
        write_buffer_bytes: positive(write_buffer_bytes, "writeBufferBytes")?,
        background_threads: positive(background_threads, "backgroundThreads")?,
        ..Settings::default()
    };
    let store = OrderingStore::open(RocksBackend::open(Path::new(directory), settings)?)?;
    let open = OpenStore { task: Task::new(store), released: None, exchange: None, causes: Vec::new() };
    Ok(STORES.insert(open)?)
}

fn positive<A: Copy + Into<i64>, B: TryFrom<A>>(number: A, name: &str) -> Result<B, Fault> {
    let widened: i64 = number.into();
    match B::try_from(number) {
        Ok(number) if widened > 0 => Ok(number),
        _ => Err(Fault::argument(format!("{name} must be above 0: {widened}"))),
    }
}

/// `void close(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_close<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) {
    guard(env, store, |_| match STORES.close(store, |open| open.task.close())? {
        Some(closed) => Ok(closed?),
        None => Ok(()),
    });
}

/// `byte[] get(long store, byte[] key)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_get<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    key: JByteArray<'local>,
) -> jbyteArray {
    guard(env, store, |frame| {
        let key = frame.read_present(&key, "key")?;
        match with_store(store, |open| Ok(open.task.store().get(&key)?))? {
            Some(value) => frame.new_array(&[&value]),
            None => Ok(ptr::null_mut()),
        }
    })
}

/// `void put(long store, byte[] key, byte[] value)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_put<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    key: JByteArray<'local>,
    value: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let key = frame.read_present(&key, "key")?;
        let value = frame.read(&value).map(Bytes::from);
        with_store(store, |open| Ok(open.task.store_mut().put(key.into(), value)?))
    });
}

/// `byte[] scan(long store, byte[] from, boolean fromInclusive, byte[] to, boolean toInclusive, boolean reverse, int
/// bytesMax)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_scan<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    from: JByteArray<'local>,
    from_inclusive: jboolean,
    to: JByteArray<'local>,
    to_inclusive: jboolean,
    reverse: jboolean,
    bytes_max: jint,
) -> jbyteArray {
    guard(env, store, |frame| {
        let (from, to) = (frame.read(&from), frame.read(&to));
        let range = KeyRange::new(bound(from.as_deref(), from_inclusive), bound(to.as_deref(), to_inclusive));
        let direction = if reverse { Direction::Reverse } else { Direction::Forward };
        let bytes_max = usize::try_from(bytes_max).unwrap_or(0);
        let rows = with_store(store, |open| scan(open, &range, direction, bytes_max))?;
        if rows.is_empty() { Ok(ptr::null_mut()) } else { frame.new_array(&[&rows]) }
    })
}

fn bound(key: Option<&[u8]>, inclusive: jboolean) -> Bound<&[u8]> {
    match key {
        None => Bound::Unbounded,
        Some(key) if inclusive => Bound::Included(key),
        Some(key) => Bound::Excluded(key),
    }
}

/// The first rows of a range, packed: as many as stay within `bytes_max`, but one at least.
fn scan(
    open: &OpenStore,
    range: &KeyRange,
    direction: Direction,
    bytes_max: usize,
) -> Result<Vec<u8>, Fault> {
    let mut rows = Vec::new();
    open.task.store().scan(range, direction, &mut |key, value| {
        let packed_bytes = 8 + key.len() + value.len();
        if !rows.is_empty() && rows.len() + packed_bytes > bytes_max {
            return ControlFlow::Break(());
        }
        pack(&mut rows, key, Some(value));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// `long approximateEntries(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_approximateEntries<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jlong {
    guard(env, store, |_| {
        let entries = with_store(store, |open| Ok(open.task.store().approximate_entries()?))?;
        Ok(jlong::try_from(entries).unwrap_or(jlong::MAX))
    })
}

/// `long uncommittedBytes(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_uncommittedBytes<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) -> jlong {
    guard(env, store, |_| {
        let bytes = with_store(store, |open| Ok(open.task.uncommitted_bytes()))?;
        Ok(jlong::try_from(bytes).unwrap_or(jlong::MAX))
    })
}

/// `void restore(long store, byte[] packedRows)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_restore<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    packed_rows: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let rows = unpack(frame.read_present(&packed_rows, "packedRows")?.into())?;
        with_store(store, |open| Ok(open.task.store_mut().restore(rows)?))
    });
}

/// `void settle(long store)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_settle<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) {
    guard(env, store, |_| with_store(store, |open| Ok(open.task.store_mut().settle()?)));
}

/// `void commit(long store, byte[] packedOffsets)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_commit<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    packed_offsets: JByteArray<'local>,
) {
    guard(env, store, |frame| {
        let offsets = unpack_offsets(frame.read(&packed_offsets).unwrap_or_default().into())?;
        with_store(store, |open| Ok(open.task.store_mut().commit(&offsets)?))
    });
}

/// `long committedOffset(long store, String name)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_committedOffset<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
    name: JString<'local>,
) -> jlong {
    guard(env, store, |frame| {
        let name = frame.string(&name, "name")?;
        let offset = with_store(store, |open| Ok(open.task.store().committed_offset(&name)?))?;
        Ok(offset.unwrap_or(-1))
    })
}

/// `void selfTestPanic(long store)`: the next call on the store panics. The proof that a panic, whichever method it is
/// in, closes its own store and no other.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_selfTestPanic<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    store: jlong,
) {
    guard(env, store, |_| Ok(STORES.arm(store)?));
}

/// `void selfTestPanicAtOpen()`: the next `open` panics, when all of it is done but to give out the number.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_streams_internal_NativeStore_selfTestPanicAtOpen<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
) {
    guard(env, 0, |_| {
        STORES.arm_insert();
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_must_be_above_zero() {
        assert!(matches!(positive::<_, usize>(1_i64, "n"), Ok(1)));
        assert!(positive::<_, usize>(0_i64, "n").is_err());
        assert!(positive::<_, usize>(-1_i64, "n").is_err());
        assert!(positive::<_, i32>(0_i32, "n").is_err());
    }
}
