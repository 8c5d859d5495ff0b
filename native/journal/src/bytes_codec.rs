//! Reading and writing of a row's fields. Integers are big-endian; a text or blob follows its length in four bytes; what
//! may be missing follows a byte that is 0 or 1.

use std::sync::Arc;

use bytes::{BufMut, Bytes};

use crate::records::{Identity, Meta, Presence};

/// Appends fields.
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u32(&mut self, value: u32) {
        self.0.put_u32(value);
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.put_u64(value);
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.put_i64(value);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.0.put_u8(u8::from(value));
    }

    pub(crate) fn blob(&mut self, value: &[u8]) {
        let length =
            u32::try_from(value.len()).expect("arguments, values and texts are checked where they come in");
        self.u32(length);
        self.0.put_slice(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.blob(value.as_bytes());
    }

    pub(crate) fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn identity(&mut self, value: &Identity) {
        self.text(&value.namespace);
        self.text(&value.id);
    }

    pub(crate) fn presence(&mut self, value: &Presence) {
        match value {
            Presence::Absent => self.text("ABSENT"),
            Presence::Present(bytes) => {
                self.text("PRESENT");
                self.blob(bytes);
            }
        }
    }

    pub(crate) fn meta(&mut self, value: &Meta) {
        self.optional(value.written_at, Self::i64);
        self.optional(value.etag.as_deref(), Self::text);
    }
}

/// Takes fields off; `None` where the bytes are not what is asked for.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// What `rest` is a part of, so that blobs need no copy.
    whole: &'a Bytes,
}

impl<'a> Reader<'a> {
    /// Reads `body`, which must be a part of `whole`.
    pub(crate) fn new(whole: &'a Bytes, body: &'a [u8]) -> Self {
        Self { rest: body, whole }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*chunk)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_be_bytes)
    }

    /// A number that also fits a signed field.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_be_bytes).filter(|value| *value <= i64::MAX.unsigned_abs())
    }

    /// All 64 bits.
    pub(crate) fn bits(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.chunk().map(i64::from_be_bytes)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.chunk::<1>()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (slice, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(slice)
    }

    pub(crate) fn blob(&mut self) -> Option<Bytes> {
        self.slice().map(|slice| self.whole.slice_ref(slice))
    }

    pub(crate) fn str(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.slice()?).ok()
    }

    pub(crate) fn text(&mut self) -> Option<Arc<str>> {
        self.str().map(Into::into)
    }

    #[expect(clippy::option_option, reason = "outside: could it be read; inside: is it there")]
    pub(crate) fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }

    pub(crate) fn identity(&mut self) -> Option<Identity> {
        Some(Identity { namespace: self.text()?, id: self.text()? })
    }

    pub(crate) fn presence(&mut self) -> Option<Presence> {
        match self.str()? {
            "ABSENT" => Some(Presence::Absent),
            "PRESENT" => Some(Presence::Present(self.blob()?)),
            _ => None,
        }
    }

    pub(crate) fn meta(&mut self) -> Option<Meta> {
        Some(Meta { written_at: self.optional(Self::i64)?, etag: self.optional(Self::text)? })
    }
}
