//! The one error policy: what becomes of an error or a panic inside a native method.
//!
//! Each family of native objects has its classes of exceptions, see [`Family`]; the table names those of the ordering
//! stores. Those of mutation journals are `JournalException` for a failure, a damaged journal or a panic, and
//! `StoreClosedException` for a number that stands for nothing.
//!
//! | inside | in Java | the store |
//! |---|---|---|
//! | the engine refuses | `NativeRefusal` | the same refusal until an engine is opened anew |
//! | the backend fails | `ProcessorStateException` | refuses until it is opened again |
//! | a number that is closed, stale or forged, no engine | `InvalidStateStoreException` | untouched |
//! | an argument against the contract | `IllegalArgumentException` | untouched |
//! | a panic | `ProcessorStateException` | closed for good, its directory free; all others live on |
//! | the JVM threw, out of memory | that error | untouched |

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jni::strings::JNIStr;
use jni::sys::jlong;
use jni::{EnvUnowned, jni_str};
use parsley_core::crossing::Malformed;
use parsley_journal::JournalError;
use parsley_journal::storage::StorageError;
use parsley_store::{StoreError, TaskError};

use crate::frame::{Frame, NoAnswer, Throwing};
use crate::handles::{Full, HandleError};
use crate::stores::STORES;

/// Why a native method has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Handle(#[from] HandleError),
    #[error(transparent)]
    Full(#[from] Full),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{0}")]
    Argument(String),
    #[error("a bug in the native library closed it, report it: {0}")]
    Panic(String),
    /// The JVM has thrown already.
    #[error("an exception is pending")]
    Thrown,
}

impl Fault {
    pub(crate) fn argument(what: impl Into<String>) -> Self {
        Self::Argument(what.into())
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Task(TaskError::Store(error))
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Journal(JournalError::Storage(error))
    }
}

impl From<Malformed> for Fault {
    fn from(error: Malformed) -> Self {
        Self::Argument(error.to_string())
    }
}

/// One kind of native objects: how they are ended, and what their failures are in Java.
pub(crate) struct Family {
    /// Ends the object behind a number. Nothing is done where there is none.
    pub(crate) close: fn(jlong),
    /// What failed, and is to be opened again.
    pub(crate) failed: &'static JNIStr,
    /// What a number is refused with that stands for nothing.
    pub(crate) gone: &'static JNIStr,
}

const ORDERING_STORES: Family = Family {
    close: |store| {
        let _ = STORES.close(store, drop);
    },
    failed: jni_str!("org/apache/kafka/streams/errors/ProcessorStateException"),
    gone: jni_str!("org/apache/kafka/streams/errors/InvalidStateStoreException"),
};
const BAD_ARGUMENT: &JNIStr = jni_str!("java/lang/IllegalArgumentException");

impl Family {
    /// The class of the exception that a fault becomes; `None` where it is not made here.
    fn class_of(&self, fault: &Fault) -> Option<&'static JNIStr> {
        match fault {
            Fault::Task(TaskError::Refused(_)) | Fault::Thrown => None,
            Fault::Task(TaskError::Store(_)) | Fault::Journal(_) | Fault::Full(_) | Fault::Panic(_) => {
                Some(self.failed)
            }
            Fault::Task(TaskError::NoEngine) | Fault::Handle(_) => Some(self.gone),
            Fault::Task(TaskError::InvalidRecord(_) | TaskError::NoSuchChannel { .. })
            | Fault::Argument(_) => Some(BAD_ARGUMENT),
        }
    }
}

/// Runs the inner function of a native method that works on the ordering store `store`, 0 for none. Nothing unwinds
/// out of it.
pub(crate) fn guard<'local, T: NoAnswer>(
    env: EnvUnowned<'local>,
    store: jlong,
    inner: impl FnOnce(&mut Frame<'local>) -> Result<T, Fault>,
) -> T {
    guard_in(&ORDERING_STORES, env, store, inner)
}

/// [`guard`] for a native method that works on an object of `family`.
pub(crate) fn guard_in<'local, T: NoAnswer>(
    family: &Family,
    env: EnvUnowned<'local>,
    handle: jlong,
    inner: impl FnOnce(&mut Frame<'local>) -> Result<T, Fault>,
) -> T {
    let mut frame = Frame::new(env);
    // Unwind safe: what a panic has left half done is the store, and no later call reaches it.
    let fault = match catch_unwind(AssertUnwindSafe(|| inner(&mut frame))) {
        Ok(Ok(answer)) => return answer,
        Ok(Err(fault)) => fault,
        Err(panic) => {
            // The panic may have come before the object was locked, so it is closed by its number; ending it may panic
            // again, and there is nothing left to do about that.
            let _ = catch_unwind(|| (family.close)(handle));
            Fault::Panic(text_of(panic.as_ref()))
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(|| raise(family, &mut frame, &fault)));
    T::NO_ANSWER
}

#[cold]
fn raise(family: &Family, frame: &mut Frame<'_>, fault: &Fault) {
    if let Fault::Task(TaskError::Refused(refusal)) = fault {
        frame.throw_refusal(refusal);
    } else if let Some(class) = family.class_of(fault) {
        frame.throw(&Throwing { class, message: fault.to_string() });
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journals::FAMILY;

    fn text_of_panic(panic: impl FnOnce() + std::panic::UnwindSafe) -> String {
        text_of(catch_unwind(panic).unwrap_err().as_ref())
    }

    #[test]
    fn a_panic_keeps_its_text() {
        assert_eq!(text_of_panic(|| panic!("plain")), "plain");
        assert_eq!(text_of_panic(|| panic!("number {}", 7)), "number 7");
        assert_eq!(text_of_panic(|| std::panic::panic_any(7)), "a panic without text");
    }

    #[test]
    fn faults_of_a_journal_have_exceptions_of_its_own() {
        let failed = Fault::from(StorageError("full".to_owned()));
        assert_eq!(FAMILY.class_of(&failed), Some(FAMILY.failed));
        assert_eq!(FAMILY.class_of(&HandleError::Closed.into()), Some(FAMILY.gone));
        assert_eq!(FAMILY.class_of(&Fault::argument("")), Some(BAD_ARGUMENT));
        assert_ne!(FAMILY.failed, ORDERING_STORES.failed);
    }

    #[test]
    fn each_fault_has_its_exception() {
        let (failed, gone) = (Some(ORDERING_STORES.failed), Some(ORDERING_STORES.gone));
        assert_eq!(ORDERING_STORES.class_of(&StoreError::Misuse("").into()), failed);
        assert_eq!(ORDERING_STORES.class_of(&Fault::Panic(String::new())), failed);
        assert_eq!(ORDERING_STORES.class_of(&Fault::Full(Full)), failed);
        assert_eq!(ORDERING_STORES.class_of(&HandleError::Closed.into()), gone);
        assert_eq!(ORDERING_STORES.class_of(&HandleError::Unknown(7).into()), gone);
        assert_eq!(ORDERING_STORES.class_of(&TaskError::NoEngine.into()), gone);
        assert_eq!(ORDERING_STORES.class_of(&Fault::argument("")), Some(BAD_ARGUMENT));
        assert_eq!(ORDERING_STORES.class_of(&Malformed { at: 0, what: "" }.into()), Some(BAD_ARGUMENT));
        assert_eq!(
            ORDERING_STORES.class_of(&TaskError::NoSuchChannel { index: 7, received: 2 }.into()),
            Some(BAD_ARGUMENT)
        );
        assert_eq!(ORDERING_STORES.class_of(&Fault::Thrown), None);
    }
}
