//! The journal's rows as bytes.
//!
//! A value is `01`, the fields of its record in the order in which they are written below, and the CRC-32 (IEEE) of the key
//! and everything before it. [`crate::bytes_codec`] says how fields are written; enums are written by name. The rows of
//! both indexes have no checksum: they are compared with the rows they index when a journal is opened.

use bytes::Bytes;

use crate::bytes_codec::{Reader, Writer};
use crate::names::{AliasState, Disposition, EffectKind, FailureKind, Phase, TombstoneState};
use crate::records::{
    Ack, Alias, Attempt, Client, Conflict, Dismissal, Effect, EffectTarget, Execution, Failure, Intent,
    Tombstone,
};

/// The format of the journal, in the row of [`crate::keys::VERSION_KEY`] and at the start of each value.
pub const FORMAT_VERSION: u8 = 1;

const CHECKSUM_BYTES: usize = 4;

/// Why a value is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Shorter than any value.
    #[error("the value is cut")]
    Cut,
    /// Written by a later release, or damaged.
    #[error("the value has format version {0}, this release reads 1: use the release that wrote it")]
    Version(u8),
    /// Damaged.
    #[error("the checksum does not match")]
    Checksum,
    /// The checksum is right and the fields are not: written by something else, or by a later release.
    #[error("the fields are not those of its record")]
    Fields,
}

/// A record that is kept as a row.
pub(crate) trait Row: Sized {
    /// Appends the fields.
    fn write(&self, to: &mut Writer);

    /// Takes the fields off.
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// The value of the row of `record` under `key`.
pub(crate) fn encode<R: Row>(key: &[u8], record: &R) -> Bytes {
    let mut writer = Writer(Vec::with_capacity(64));
    writer.0.push(FORMAT_VERSION);
    record.write(&mut writer);
    let checksum = checksum(key, &writer.0);
    writer.u32(checksum);
    writer.0.into()
}

/// Reads the value of the row under `key`.
pub(crate) fn decode<R: Row>(key: &[u8], value: &Bytes) -> Result<R, RowError> {
    let (content, sum) = value.split_last_chunk::<CHECKSUM_BYTES>().ok_or(RowError::Cut)?;
    let (version, body) = content.split_first().ok_or(RowError::Cut)?;
    if checksum(key, content) != u32::from_be_bytes(*sum) {
        // A version that is not ours explains a checksum that is not ours.
        return Err(if *version == FORMAT_VERSION {
            RowError::Checksum
        } else {
            RowError::Version(*version)
        });
    }
    if *version != FORMAT_VERSION {
        return Err(RowError::Version(*version));
    }
    let mut reader = Reader::new(value, body);
    let record = R::read(&mut reader).ok_or(RowError::Fields)?;
    if reader.is_empty() { Ok(record) } else { Err(RowError::Fields) }
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

impl Row for Client {
    fn write(&self, to: &mut Writer) {
        to.text(&self.id);
        to.u64(self.epoch);
        to.u64(self.allocated);
        to.u64(self.retired_through);
        to.u64(self.confirmed_through);
        to.i64(self.created_at);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            id: from.text()?,
            epoch: from.bits()?,
            allocated: from.u64()?,
            retired_through: from.u64()?,
            confirmed_through: from.u64()?,
            created_at: from.i64()?,
        })
    }
}

impl Row for Intent {
    fn write(&self, to: &mut Writer) {
        to.identity(&self.identity);
        to.text(&self.mutator);
        to.u32(self.mutator_version);
        to.blob(&self.args);
        to.optional(self.retry_of, Writer::u64);
        to.i64(self.created_at);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            identity: from.identity()?,
            mutator: from.text()?,
            mutator_version: from.u32().filter(|version| *version >= 1)?,
            args: from.blob()?,
            retry_of: from.optional(Reader::u64)?,
            created_at: from.i64()?,
        })
    }
}

impl Row for Execution {
    fn write(&self, to: &mut Writer) {
        to.text(self.phase.name());
        to.u32(self.generation);
        to.u32(self.attempt);
        to.optional(self.last_attempt_at, Writer::i64);
        to.optional(self.active_failure, Writer::u64);
        to.flag(self.remote_outcome_unknown);
        to.optional(self.retired_at, Writer::i64);
        to.optional(self.dismissed.as_ref(), |to, dismissal| {
            to.i64(dismissal.at);
            to.text(&dismissal.note);
        });
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            phase: Phase::of_name(from.str()?)?,
            generation: from.u32()?,
            attempt: from.u32()?,
            last_attempt_at: from.optional(Reader::i64)?,
            active_failure: from.optional(Reader::u64)?,
            remote_outcome_unknown: from.flag()?,
            retired_at: from.optional(Reader::i64)?,
            dismissed: from.optional(|from| Some(Dismissal { at: from.i64()?, note: from.text()? }))?,
        })
    }
}

impl Row for Attempt {
    fn write(&self, to: &mut Writer) {
        to.identity(&self.identity);
        to.u32(self.codec_version);
        to.presence(&self.base);
        to.presence(&self.mine);
        to.optional(self.precondition.as_ref(), Writer::meta);
        to.u64(self.retired_through);
        to.text(&self.idempotency_key);
        to.i64(self.prepared_at);
        to.optional(self.conflict.as_ref(), |to, conflict| {
            to.optional(conflict.meta.as_ref(), Writer::meta);
            to.i64(conflict.received_at);
        });
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            identity: from.identity()?,
            codec_version: from.u32()?,
            base: from.presence()?,
            mine: from.presence()?,
            precondition: from.optional(Reader::meta)?,
            retired_through: from.u64()?,
            idempotency_key: from.text()?,
            prepared_at: from.i64()?,
            conflict: from.optional(|from| {
                Some(Conflict { meta: from.optional(Reader::meta)?, received_at: from.i64()? })
            })?,
        })
    }
}

impl Row for Ack {
    fn write(&self, to: &mut Writer) {
        to.presence(&self.value);
        to.u32(self.codec_version);
        to.optional(self.etag.as_deref(), Writer::text);
        to.optional(self.target.as_ref(), Writer::identity);
        to.i64(self.received_at);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            value: from.presence()?,
            codec_version: from.u32()?,
            etag: from.optional(Reader::text)?,
            target: from.optional(Reader::identity)?,
            received_at: from.i64()?,
        })
    }
}

impl Row for Failure {
    fn write(&self, to: &mut Writer) {
        to.u32(self.generation);
        to.text(self.kind.name());
        to.text(&self.detail);
        to.text(&self.message);
        to.i64(self.first_at);
        to.i64(self.last_at);
        to.u32(self.count);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            generation: from.u32()?,
            kind: FailureKind::of_name(from.str()?)?,
            detail: from.text()?,
            message: from.text()?,
            first_at: from.i64()?,
            last_at: from.i64()?,
            count: from.u32().filter(|count| *count >= 1)?,
        })
    }
}

impl Row for Effect {
    fn write(&self, to: &mut Writer) {
        match &self.target {
            EffectTarget::Namespace(namespace) => {
                to.text(EffectKind::Namespace.name());
                to.text(namespace);
            }
            EffectTarget::Key(identity) => {
                to.text(EffectKind::Key.name());
                to.identity(identity);
            }
        }
        to.i64(self.created_at);
        to.text(self.disposition.name());
        to.optional(self.completed_at, Writer::i64);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            target: match EffectKind::of_name(from.str()?)? {
                EffectKind::Namespace => EffectTarget::Namespace(from.text()?),
                EffectKind::Key => EffectTarget::Key(from.identity()?),
            },
            created_at: from.i64()?,
            disposition: Disposition::of_name(from.str()?)?,
            completed_at: from.optional(Reader::i64)?,
        })
    }
}

impl Row for Alias {
    fn write(&self, to: &mut Writer) {
        to.identity(&self.target);
        to.text(self.state.name());
        to.u64(self.created_by);
        to.i64(self.created_at);
        to.optional(self.activated_at, Writer::i64);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            target: from.identity()?,
            state: AliasState::of_name(from.str()?)?,
            created_by: from.u64()?,
            created_at: from.i64()?,
            activated_at: from.optional(Reader::i64)?,
        })
    }
}

impl Row for Tombstone {
    fn write(&self, to: &mut Writer) {
        to.text(self.state.name());
        to.i64(self.created_at);
        to.optional(self.activated_at, Writer::i64);
        to.optional(self.superseded_by, Writer::u64);
        to.optional(self.superseded_at, Writer::i64);
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            state: TombstoneState::of_name(from.str()?)?,
            created_at: from.i64()?,
            activated_at: from.optional(Reader::i64)?,
            superseded_by: from.optional(Reader::u64)?,
            superseded_at: from.optional(Reader::i64)?,
        })
    }
}

#[cfg(test)]
#[path = "rows/tests.rs"]
mod tests;
