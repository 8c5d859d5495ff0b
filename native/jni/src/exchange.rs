//! Memory that both sides reach. What crosses for each record goes through it, because an array takes several calls
//! into the JVM each way, and together they cost about as much as the engine does.

use std::ptr::{self, NonNull};

use jni::objects::JByteBuffer;
use jni::refs::Global;

/// So that a length goes into an answer beside other bits.
pub(crate) const EXCHANGE_BYTES_MAX: usize = 1 << 20;

/// A direct buffer that Java has lent for as long as this lives.
///
/// Java may write to it at any time, so nothing here refers to its content: it is copied out before it is looked at.
pub(crate) struct Exchange {
    address: NonNull<u8>,
    length: usize,
    /// Keeps the buffer reachable. Java frees the memory of a direct buffer only when nothing reaches it.
    _buffer: Global<JByteBuffer<'static>>,
}

// SAFETY: the memory belongs to no thread; `_buffer`, a global reference, may be used and deleted on every thread.
unsafe impl Send for Exchange {}

impl Exchange {
    /// `None` if the buffer is longer than [`EXCHANGE_BYTES_MAX`] or not a direct one.
    ///
    /// # Safety
    /// `address` and `length` are those of `buffer`, which may be written to.
    pub(crate) unsafe fn new(
        buffer: Global<JByteBuffer<'static>>,
        address: *mut u8,
        length: usize,
    ) -> Option<Self> {
        let address = NonNull::new(address)?;
        (length <= EXCHANGE_BYTES_MAX).then_some(Self { address, length, _buffer: buffer })
    }

    /// Copies the first bytes out; `None` if there are not so many.
    pub(crate) fn read_to<'target>(
        &self,
        length: usize,
        target: &'target mut Vec<u8>,
    ) -> Option<&'target [u8]> {
        if length > self.length {
            return None;
        }
        if target.len() < length {
            target.resize(length, 0);
        }
        let target = &mut target[..length];
        // SAFETY: `length` bytes can be read at `address`, because the buffer is at least so long and `_buffer` keeps
        // its memory; `target` is as long, and memory of this side, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.address.as_ptr(), target.as_mut_ptr(), length) };
        Some(target)
    }

    /// Copies `bytes` to the start and gives their number; 0, and nothing is done, if they are more than fit.
    pub(crate) fn write(&self, bytes: &[u8]) -> usize {
        if bytes.len() > self.length {
            return 0;
        }
        // SAFETY: as many bytes can be written at `address`, because the buffer is at least so long and `_buffer` keeps
        // its memory; `bytes` is memory of this side, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.as_ptr(), bytes.len()) };
        bytes.len()
    }
}
