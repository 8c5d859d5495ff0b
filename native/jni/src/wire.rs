//! What crosses the boundary for mutation journals: one format for all messages, both ways.
//!
//! ```text
//! message   := byte FORMAT | fields, each as its type says, to the end
//! flag      := byte 0 or 1
//! int, long := big-endian, 4 and 8 bytes
//! bytes     := int length | that many bytes          bytes? and text? := int -1 for none
//! text      := bytes that are UTF-8
//! identity  := text namespace | text id
//! presence  := bytes?                                none is "absent"
//! meta?     := flag, and if set: flag [long writtenAt] | text? etag
//! list      := int count | that many elements
//! ```
//!
//! Names of enums cross as texts, kinds of messages as the bytes that `journal_answers`, `journal_calls` and
//! `journal_lists` have beside them; `Wire.java` and `Messages.java` are the other side.

use std::sync::Arc;

use bytes::Bytes;
use parsley_journal::records::{Identity, Meta, Presence};

use parsley_core::crossing::packed::{Cursor, Malformed};

/// The version of everything in this format. Both sides are in one jar, so another one is a mix of two versions.
pub(crate) const FORMAT: u8 = 1;

/// Reads a message.
pub(crate) struct Reader(Cursor);

impl Reader {
    pub(crate) fn new(message: Bytes) -> Result<Self, Malformed> {
        let mut reader = Self(Cursor::new(message));
        match reader.byte()? {
            FORMAT => Ok(reader),
            _ => Err(reader.0.malformed("a message of another format version")),
        }
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        self.0.malformed(what)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.0.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("a flag is neither 0 nor 1")),
        }
    }

    pub(crate) fn long(&mut self) -> Result<i64, Malformed> {
        self.0.i64()
    }

    pub(crate) fn unsigned_long(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.0.i64()?).map_err(|_| self.malformed("a negative number"))
    }

    pub(crate) fn unsigned_int(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.0.i32()?).map_err(|_| self.malformed("a negative number"))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, Malformed> {
        self.0.sized()
    }

    pub(crate) fn text(&mut self) -> Result<Arc<str>, Malformed> {
        let bytes = self.bytes()?;
        self.as_text(&bytes)
    }

    pub(crate) fn text_or_none(&mut self) -> Result<Option<Arc<str>>, Malformed> {
        let bytes = self.0.sized_or_null()?;
        bytes.map(|bytes| self.as_text(&bytes)).transpose()
    }

    fn as_text(&self, bytes: &[u8]) -> Result<Arc<str>, Malformed> {
        std::str::from_utf8(bytes).map(Arc::from).map_err(|_| self.malformed("a text is not UTF-8"))
    }

    pub(crate) fn identity(&mut self) -> Result<Identity, Malformed> {
        Ok(Identity { namespace: self.text()?, id: self.text()? })
    }

    pub(crate) fn presence(&mut self) -> Result<Presence, Malformed> {
        Ok(self.0.sized_or_null()?.map_or(Presence::Absent, Presence::Present))
    }

    pub(crate) fn meta(&mut self) -> Result<Option<Meta>, Malformed> {
        if !self.flag()? {
            return Ok(None);
        }
        let written_at = if self.flag()? { Some(self.long()?) } else { None };
        Ok(Some(Meta { written_at, etag: self.text_or_none()? }))
    }

    /// A list. Its count reserves nothing, so it need not be believed.
    pub(crate) fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut list = Vec::new();
        for _ in 0..self.unsigned_int()? {
            list.push(element(self)?);
        }
        Ok(list)
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_at_end() { Ok(()) } else { Err(self.malformed("bytes are left")) }
    }
}

/// Writes a message.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new() -> Self {
        Self(vec![FORMAT])
    }

    pub(crate) fn message(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    pub(crate) fn flag(&mut self, flag: bool) -> &mut Self {
        self.byte(u8::from(flag))
    }

    pub(crate) fn int(&mut self, int: u32) -> &mut Self {
        self.0.extend_from_slice(&int.to_be_bytes());
        self
    }

    pub(crate) fn signed_long(&mut self, long: i64) -> &mut Self {
        self.0.extend_from_slice(&long.to_be_bytes());
        self
    }

    pub(crate) fn long(&mut self, long: u64) -> &mut Self {
        self.0.extend_from_slice(&long.to_be_bytes());
        self
    }

    /// A time, or that there is none.
    pub(crate) fn time_or_none(&mut self, time: Option<i64>) -> &mut Self {
        self.flag(time.is_some());
        if let Some(time) = time {
            self.signed_long(time);
        }
        self
    }

    /// # Panics
    /// If there are more bytes than a Java array can hold; every value came from one.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let length = i32::try_from(bytes.len()).expect("no longer than a Java array");
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn text_or_none(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.text(text),
            None => self.none(),
        }
    }

    fn none(&mut self) -> &mut Self {
        self.0.extend_from_slice(&(-1_i32).to_be_bytes());
        self
    }

    pub(crate) fn identity(&mut self, identity: &Identity) -> &mut Self {
        self.text(&identity.namespace).text(&identity.id)
    }

    pub(crate) fn identity_or_none(&mut self, identity: Option<&Identity>) -> &mut Self {
        self.flag(identity.is_some());
        if let Some(identity) = identity {
            self.identity(identity);
        }
        self
    }

    pub(crate) fn presence(&mut self, presence: &Presence) -> &mut Self {
        match presence {
            Presence::Present(bytes) => self.bytes(bytes),
            Presence::Absent => self.none(),
        }
    }

    pub(crate) fn meta(&mut self, meta: Option<&Meta>) -> &mut Self {
        self.flag(meta.is_some());
        if let Some(meta) = meta {
            self.time_or_none(meta.written_at).text_or_none(meta.etag.as_deref());
        }
        self
    }

    /// # Panics
    /// If there are more elements than a Java array can hold bytes.
    pub(crate) fn list<T>(&mut self, list: &[T], mut element: impl FnMut(&mut Self, &T)) -> &mut Self {
        let count = i32::try_from(list.len()).expect("no more than a Java array holds");
        self.int(count.unsigned_abs());
        for item in list {
            element(self, item);
        }
        self
    }

    /// What is written by `body`, with its length before it.
    pub(crate) fn framed(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self(Vec::new());
        body(&mut inner);
        self.bytes(&inner.0)
    }
}
