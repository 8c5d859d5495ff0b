//! The native methods of `dev.parsley.mutations.internal.NativeJournal`.
//!
//! The messages are those of [`crate::wire`].

#![allow(clippy::needless_pass_by_value, reason = "JNI passes arguments by value")]

use std::path::Path;
use std::ptr;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JString};
use jni::sys::{jbyteArray, jlong};
use parsley_journal::action::{CallId, TaskId};
use parsley_journal::engine::Engine;
use parsley_journal::memory::MemoryStorage;
use parsley_journal::storage::Storage;
use parsley_mutations::RocksStorage;

use crate::frame::Frame;
use crate::guard::{Fault, guard_in};
use crate::journal_answers::{answer, opening, operation};
use crate::journal_lists::{dead_letters, dump, lanes, pending};
use crate::journals::{FAMILY, JOURNALS, OpenJournal, with_journal};
use crate::wire::{Reader, Writer};

/// `long open(String directory, byte[] config)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_open<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    directory: JString<'local>,
    config: JByteArray<'local>,
) -> jlong {
    guard_in(&FAMILY, env, 0, |frame| {
        let opening = opening(frame.read_present(&config, "config")?.into())?;
        let storage: Box<dyn Storage> = if directory.as_raw().is_null() {
            Box::new(MemoryStorage::new())
        } else {
            Box::new(RocksStorage::open(Path::new(&frame.string(&directory, "directory")?))?)
        };
        Ok(JOURNALS.insert(OpenJournal::open(storage, opening)?)?)
    })
}

/// `void close(long journal)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_close<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) {
    guard_in(&FAMILY, env, journal, |_| {
        JOURNALS.close(journal, OpenJournal::close)?;
        Ok(())
    });
}

/// `long start(long journal, byte[] operation)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_start<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    message: JByteArray<'local>,
) -> jlong {
    guard_in(&FAMILY, env, journal, |frame| {
        let operation = operation(frame.read_present(&message, "operation")?.into())?;
        let TaskId(task) = with_journal(journal, |open| Ok(open.engine.start(operation)))?;
        Ok(task.cast_signed())
    })
}

/// `byte[] next(long journal, long nowMs)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_next<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    now_ms: jlong,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        let mut actions = Writer::new();
        with_journal(journal, |open| {
            open.next(now_ms, &mut actions);
            Ok(())
        })?;
        if actions.is_empty() { Ok(ptr::null_mut()) } else { frame.new_array(&[actions.message()]) }
    })
}

/// `void answer(long journal, long call, byte[] answer)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_answer<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    call: jlong,
    message: JByteArray<'local>,
) {
    guard_in(&FAMILY, env, journal, |frame| {
        let answer = answer(frame.read_present(&message, "answer")?.into())?;
        with_journal(journal, |open| {
            open.engine.answer(CallId(call.cast_unsigned()), answer);
            Ok(())
        })
    });
}

/// `void commit(long journal, long call)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_commit<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    call: jlong,
) {
    guard_in(&FAMILY, env, journal, |_| with_journal(journal, |open| open.commit(call.cast_unsigned())));
}

/// `void sync(long journal)`: the journal can be used meanwhile.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_sync<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) {
    guard_in(&FAMILY, env, journal, |_| {
        let storage = with_journal(journal, |open| Ok(open.storage.clone()))?;
        Ok(storage.sync()?)
    });
}

/// `void cancel(long journal, long task)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_cancel<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    task: jlong,
) {
    guard_in(&FAMILY, env, journal, |_| {
        with_journal(journal, |open| {
            open.engine.cancel(TaskId(task.cast_unsigned()));
            Ok(())
        })
    });
}

/// `byte[] pending(long journal, byte[] identity)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_pending<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
    message: JByteArray<'local>,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        let mut from = Reader::new(frame.read_present(&message, "identity")?.into())?;
        let key = from.identity()?;
        from.end()?;
        look(frame, journal, |engine, to| {
            pending(to, &engine.pending(&key)?);
            Ok(())
        })
    })
}

/// `byte[] pendingWrites(long journal)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_pendingWrites<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        look(frame, journal, |engine, to| {
            pending(to, &engine.pending_writes()?);
            Ok(())
        })
    })
}

/// `byte[] deadLetters(long journal)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_deadLetters<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        look(frame, journal, |engine, to| {
            dead_letters(to, &engine.dead_letters()?);
            Ok(())
        })
    })
}

/// `byte[] lanes(long journal)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_lanes<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        look(frame, journal, |engine, to| {
            lanes(to, &engine.lanes()?);
            Ok(())
        })
    })
}

/// `byte[] dump(long journal)`
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_dump<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) -> jbyteArray {
    guard_in(&FAMILY, env, journal, |frame| {
        look(frame, journal, |engine, to| {
            dump(to, &engine.dump()?);
            Ok(())
        })
    })
}

fn look(
    frame: &Frame<'_>,
    journal: jlong,
    at: impl FnOnce(&Engine, &mut Writer) -> Result<(), Fault>,
) -> Result<jbyteArray, Fault> {
    let mut list = Writer::new();
    with_journal(journal, |open| at(&open.engine, &mut list))?;
    frame.new_array(&[list.message()])
}

/// `void selfTestPanic(long journal)`: panics on purpose, the proof that a panic closes its own journal and no other.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_parsley_mutations_internal_NativeJournal_selfTestPanic<'local>(
    env: EnvUnowned<'local>,
    _class: JClass<'local>,
    journal: jlong,
) {
    guard_in(&FAMILY, env, journal, |_| {
        with_journal(journal, |_| -> Result<(), Fault> { panic!("a self test asked for this panic") })
    });
}
