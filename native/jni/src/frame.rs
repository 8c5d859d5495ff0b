//! The JVM as one native method call sees it: byte arrays in and out, strings in, and exceptions.
//!
//! Arrays go through the function table itself, because the `jni` crate's own way to an environment costs more than
//! a whole delivered record does here. What is rare goes through the crate.

use std::ptr;

use jni::errors::Result as JniResult;
use jni::objects::{JByteArray, JByteBuffer, JString, JThrowable, JValue};
use jni::strings::JNIStr;
use jni::sys::{JNIEnv, jbyteArray, jsize};
use jni::{Env, EnvUnowned, Outcome, jni_sig, jni_str};
use parsley_core::Refusal;

use crate::exchange::{EXCHANGE_BYTES_MAX, Exchange};
use crate::guard::Fault;

/// The frame of one native method call. It stays on the thread and inside the call, like everything made from it.
pub(crate) struct Frame<'local> {
    env: EnvUnowned<'local>,
}

/// An exception of one of Kafka's or Java's classes, with a message for people.
pub(crate) struct Throwing {
    pub(crate) class: &'static JNIStr,
    pub(crate) message: String,
}

impl<'local> Frame<'local> {
    pub(crate) fn new(env: EnvUnowned<'local>) -> Self {
        Self { env }
    }

    fn raw(&self) -> *mut JNIEnv {
        self.env.as_raw()
    }

    /// The content of an array; `None` for a null one.
    pub(crate) fn read(&self, array: &JByteArray<'local>) -> Option<Vec<u8>> {
        if array.as_raw().is_null() {
            return None;
        }
        let env = self.raw();
        // SAFETY: `env` is the environment the JVM passed to the running call, so it points to a table with every
        // function of JNI 1.1; `array` is a byte array that this call was given, and is not null.
        let length: jsize = unsafe { ((**env).v1_1.GetArrayLength)(env, array.as_raw()) };
        let mut bytes = vec![0_u8; usize::try_from(length).expect("no array has a negative length")];
        // SAFETY: as above; the region is the whole array, and `bytes` has room for exactly that many bytes.
        unsafe {
            ((**env).v1_1.GetByteArrayRegion)(env, array.as_raw(), 0, length, bytes.as_mut_ptr().cast());
        }
        Some(bytes)
    }

    /// The content of an array that may not be null.
    pub(crate) fn read_present(
        &self,
        array: &JByteArray<'local>,
        what: &'static str,
    ) -> Result<Vec<u8>, Fault> {
        self.read(array).ok_or_else(|| Fault::argument(format!("{what} must not be null")))
    }

    /// A new array that holds `parts`, one after the other.
    pub(crate) fn new_array(&self, parts: &[&[u8]]) -> Result<jbyteArray, Fault> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let length =
            jsize::try_from(length).map_err(|_| Fault::argument("the answer is longer than a Java array"))?;
        let env = self.raw();
        // SAFETY: `env` is the environment the JVM passed to the running call; the length is not negative.
        let array = unsafe { ((**env).v1_1.NewByteArray)(env, length) };
        if array.is_null() {
            return Err(Fault::Thrown);
        }
        let mut at: jsize = 0;
        for part in parts {
            // No part is longer than all of them are.
            let part_length = jsize::try_from(part.len()).unwrap_or(0);
            // SAFETY: as above; `array` was made here with room for all parts, and this part begins at `at` because
            // those before it take `at` bytes.
            unsafe { ((**env).v1_1.SetByteArrayRegion)(env, array, at, part_length, part.as_ptr().cast()) };
            at += part_length;
        }
        Ok(array)
    }

    /// Takes a direct buffer that Java lends.
    pub(crate) fn exchange(&mut self, buffer: &JByteBuffer<'local>) -> Result<Exchange, Fault> {
        let found = self.env.with_env(|env| {
            let address = env.get_direct_buffer_address(buffer)?;
            let length = env.get_direct_buffer_capacity(buffer)?;
            let buffer = env.new_global_ref(buffer)?;
            // SAFETY: both are of this buffer, and Java lends one that may be written to.
            JniResult::Ok(unsafe { Exchange::new(buffer, address, length) })
        });
        match found.into_outcome() {
            Outcome::Ok(Some(exchange)) => Ok(exchange),
            Outcome::Ok(None) | Outcome::Err(_) => Err(Fault::argument(format!(
                "exchange must be a direct buffer of up to {EXCHANGE_BYTES_MAX} bytes"
            ))),
            Outcome::Panic(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// A string that may not be null.
    pub(crate) fn string(&mut self, string: &JString<'local>, what: &'static str) -> Result<String, Fault> {
        if string.as_raw().is_null() {
            return Err(Fault::argument(format!("{what} must not be null")));
        }
        match self.env.with_env(|env| string.try_to_string(env)).into_outcome() {
            Outcome::Ok(text) => Ok(text),
            Outcome::Err(e) => Err(Fault::argument(format!("{what} can't be read: {e}"))),
            Outcome::Panic(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Throws an exception, which is pending from then on. One that is pending already stays.
    pub(crate) fn throw(&mut self, throwing: &Throwing) {
        self.throwing(|env| {
            let class = env.find_class(throwing.class)?;
            let message = env.new_string(&throwing.message)?;
            let arguments = [JValue::from(&message)];
            let exception = env.new_object(class, jni_sig!("(Ljava/lang/String;)V"), &arguments)?;
            let exception = env.cast_local::<JThrowable>(exception)?;
            env.throw(exception)
        });
    }

    /// Throws a refusal of the engine as the exception that carries its parts.
    pub(crate) fn throw_refusal(&mut self, refusal: &Refusal) {
        self.throwing(|env| {
            let class = env.find_class(jni_str!("dev/parsley/streams/internal/NativeRefusal"))?;
            let reason = env.new_string(refusal.reason.name())?;
            let detail = env.new_string(&refusal.detail)?;
            let channel = match refusal.channel {
                Some(channel) => env.byte_array_from_slice(&channel.to_bytes())?,
                None => JByteArray::null(),
            };
            let arguments = [
                JValue::from(&reason),
                JValue::from(&detail),
                JValue::from(&channel),
                JValue::Long(refusal.position.unwrap_or(-1)),
                JValue::Long(refusal.bound.unwrap_or(-1)),
            ];
            let exception =
                env.new_object(class, jni_sig!("(Ljava/lang/String;Ljava/lang/String;[BJJ)V"), &arguments)?;
            let exception = env.cast_local::<JThrowable>(exception)?;
            env.throw(exception)
        });
    }

    /// Leaves an exception pending in any case: if the one asked for can't be made, an error that says so.
    fn throwing(&mut self, throw: impl FnOnce(&mut Env<'local>) -> JniResult<()>) {
        let outcome = self.env.with_env(|env| {
            if env.exception_check() {
                return Ok(());
            }
            let thrown = throw(env);
            if !env.exception_check() {
                let class = env.find_class(jni_str!("java/lang/InternalError"))?;
                let _ =
                    env.throw_new(class, jni_str!("a failure of the native library could not be described"));
            }
            thrown
        });
        // `throw` reports the exception it has left pending as an error.
        drop(outcome.into_outcome());
    }
}

/// What a native method returns while an exception is pending; Java never sees it.
pub(crate) trait NoAnswer {
    const NO_ANSWER: Self;
}

impl NoAnswer for () {
    const NO_ANSWER: Self = ();
}

impl NoAnswer for i32 {
    const NO_ANSWER: Self = -1;
}

impl NoAnswer for i64 {
    const NO_ANSWER: Self = -1;
}

impl NoAnswer for jbyteArray {
    const NO_ANSWER: Self = ptr::null_mut();
}
