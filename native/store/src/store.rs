//! The store itself: staged rows over a backend, under the rules stated at the head of the crate.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use parsley_core::rows::{RowVisitor, Rows, RowsError};
use parsley_core::sabotage;

use crate::backend::{Backend, Batch};
use crate::error::StoreError;
use crate::overlay::{Layer, Overlay};
use crate::range::{Direction, KeyRange};
use crate::read_ahead::ReadAhead;

/// Restored rows stay in memory up to this many bytes, so that a short restore is one batch with its offset.
pub const RESTORE_STAGED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Rows of one task: staged ones in memory over committed ones in a backend.
///
/// Belongs to one task. Calls may come from any thread, one at a time. After a failure of the backend every call gives
/// [`StoreError::Refusing`], because what the backend holds is then unknown; open the store again.
pub struct OrderingStore<B> {
    backend: B,
    /// Rows of steps that have been flushed, or of a restore. They lie over the backend's rows.
    sealed: Layer,
    /// Rows staged since the last flush. They lie over the sealed ones.
    open: Layer,
    /// Whether `sealed` holds rows of a step. Those may still turn out to be aborted; restored rows can't.
    step_sealed: bool,
    /// What the backend has stored, by changelog partition.
    offsets: BTreeMap<String, i64>,
    read_ahead: RefCell<ReadAhead>,
    failure: OnceCell<String>,
}

impl<B: Backend> OrderingStore<B> {
    /// Takes over a backend. Rows that no offset vouches for are dropped: nothing tells which transactions they are of.
    pub fn open(mut backend: B) -> Result<Self, StoreError> {
        let mut offsets: BTreeMap<String, i64> = backend.offsets()?.into_iter().collect();
        if !offsets.values().any(|offset| *offset >= 0) && !is_empty(&backend)? {
            backend.clear()?;
            offsets.clear();
        }
        Ok(Self {
            backend,
            sealed: Layer::default(),
            open: Layer::default(),
            step_sealed: false,
            offsets,
            read_ahead: RefCell::default(),
            failure: OnceCell::new(),
        })
    }

    /// Makes what is committed durable and closes; the directory is free when this returns, whatever it returns. What
    /// is staged is dropped. A store that has failed before has nothing more to say and just closes.
    pub fn close(mut self) -> Result<(), StoreError> {
        match self.usable() {
            Ok(()) => self.backend.flush(),
            Err(_) => Ok(()),
        }
    }

    /// The value of a row, staged changes included.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.usable()?;
        match self.staged(key) {
            Some(change) => Ok(change.clone()),
            None => self.noting(self.backend.get(key)),
        }
    }

    fn staged(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        self.open.get(key).or_else(|| self.sealed.get(key))
    }

    /// Stages one change of the current step; `None` deletes the row.
    pub fn put(&mut self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError> {
        self.usable()?;
        self.open.put(key, value);
        Ok(())
    }

    /// Stages one change as part of the flush that ends the current step, with everything staged before it.
    pub fn put_flushed(&mut self, key: Bytes, value: Option<Bytes>) -> Result<(), StoreError> {
        self.usable()?;
        self.seal();
        if sabotage::is("believe-staged-row") {
            let mut row = std::iter::once((&key, value.as_ref()));
            self.backend.write(Batch { rows: &mut row, offsets: &[] })?;
        }
        self.sealed.put(key, value);
        self.step_sealed = true;
        Ok(())
    }

    /// Shows the rows of a range, staged changes included, until the visitor breaks. The visitor may not call the store.
    pub fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visitor: &mut RowVisitor<'_>,
    ) -> Result<(), StoreError> {
        self.usable()?;
        if range.is_empty() {
            return Ok(());
        }
        let mut staged = Overlay::new(&self.sealed, &self.open, range, direction);
        let mut ended = ControlFlow::Continue(());
        let scanned = self.backend.scan(range, direction, &mut |key, value| {
            while let Some((staged_key, change)) = staged.next_before(Some(key)) {
                if let Some(staged_value) = change {
                    ended = visitor(staged_key, staged_value);
                    ended?;
                }
            }
            ended = match staged.next_at(key) {
                Some((_, None)) => ControlFlow::Continue(()),
                Some((_, Some(staged_value))) => visitor(key, staged_value),
                None => visitor(key, value),
            };
            ended
        });
        self.noting(scanned)?;
        for (key, change) in staged {
            if ended.is_break() {
                break;
            }
            if let Some(value) = change {
                ended = visitor(key, value);
            }
        }
        Ok(())
    }

    /// About how many rows there are.
    pub fn approximate_entries(&self) -> Result<u64, StoreError> {
        self.usable()?;
        let committed = self.noting(self.backend.approximate_entries())?;
        let staged = self.sealed.iter().chain(self.open.iter()).filter(|(_, value)| value.is_some()).count();
        Ok(committed + staged as u64)
    }

    /// About how much memory the staged rows take.
    pub fn staged_bytes(&self) -> usize {
        self.sealed.bytes() + self.open.bytes()
    }

    /// The stored offset of a changelog partition.
    pub fn committed_offset(&self, name: &str) -> Result<Option<i64>, StoreError> {
        self.usable()?;
        Ok(self.offsets.get(name).copied())
    }

    /// Takes rows read back from the changelog, in its order. They are committed, but their offset comes later, with
    /// [`OrderingStore::commit`].
    pub fn restore(
        &mut self,
        rows: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
    ) -> Result<(), StoreError> {
        self.usable()?;
        if self.step_sealed || !self.open.is_empty() {
            return Err(StoreError::Misuse(
                "rows can't be restored into a store that holds rows of a running step",
            ));
        }
        for (key, value) in rows {
            self.sealed.put(key, value);
            if self.sealed.bytes() > RESTORE_STAGED_BYTES_MAX {
                self.write_sealed_without_offset()?;
            }
        }
        Ok(())
    }

    /// Says that the transaction of everything flushed so far has committed, its changelog offset unknown; writes
    /// those rows. What has been staged since then becomes part of the flush that begins now.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.usable()?;
        if !self.sealed.is_empty() {
            self.write_sealed_without_offset()?;
        }
        self.seal();
        Ok(())
    }

    /// Says that the transaction of everything staged has committed; writes it with the changelog offsets it reaches,
    /// in one batch. `None` forgets an offset, no entries at all forget every offset.
    ///
    /// A negative offset, Kafka's way to say that it is unknown, is kept but vouches for no row.
    pub fn commit(&mut self, offsets: &[(String, Option<i64>)]) -> Result<(), StoreError> {
        self.usable()?;
        if sabotage::is("offset-ahead-of-rows") && !offsets.is_empty() {
            return self.backend.write(Batch { rows: &mut std::iter::empty(), offsets });
        }
        if offsets.is_empty() {
            let all = self.forget_all();
            self.write(&all)
        } else {
            self.write(offsets)
        }
    }

    /// Drops every staged row, as an abort of the running transaction does.
    pub fn discard_staged(&mut self) {
        self.sealed.clear();
        self.open.clear();
        self.step_sealed = false;
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.sealed.absorb(&mut self.open);
            self.step_sealed = true;
        }
    }

    fn forget_all(&self) -> Vec<(String, Option<i64>)> {
        self.offsets.keys().map(|name| (name.clone(), None)).collect()
    }

    /// The stored offset would claim less than the rows beside it, so it goes in the same batch.
    fn write_sealed_without_offset(&mut self) -> Result<(), StoreError> {
        let open = std::mem::take(&mut self.open);
        let kept = sabotage::is("offset-behind-compacted-delete");
        let forgotten = if kept { Vec::new() } else { self.forget_all() };
        let written = self.write(&forgotten);
        self.open = open;
        written
    }

    /// Writes every staged row and the changed offsets as one batch.
    fn write(&mut self, offsets: &[(String, Option<i64>)]) -> Result<(), StoreError> {
        if offsets.is_empty() && self.sealed.is_empty() && self.open.is_empty() {
            return Ok(());
        }
        let everything = KeyRange::all();
        let mut rows = Overlay::new(&self.sealed, &self.open, &everything, Direction::Forward);
        self.read_ahead.get_mut().clear();
        let written = self.backend.write(Batch { rows: &mut rows, offsets });
        self.noting(written)?;
        self.discard_staged();
        let mut forgotten = false;
        for (name, offset) in offsets {
            if let Some(offset) = offset {
                self.offsets.insert(name.clone(), *offset);
            } else {
                forgotten |= self.offsets.remove(name).is_some();
            }
        }
        if forgotten && !sabotage::is("forget-offset-lazily") {
            // Rows now run ahead of every offset. A crash that brought the old offset back would restore from it, and
            // a row deleted since would come back if compaction has taken the deletion from the changelog meanwhile.
            let flushed = self.backend.flush();
            self.noting(flushed)?;
        }
        Ok(())
    }

    fn usable(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            None => Ok(()),
            Some(first) => Err(StoreError::Refusing { first: first.clone() }),
        }
    }

    /// Makes a failure of the backend stick.
    fn noting<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.failure.get_or_init(|| error.to_string());
        }
        result
    }
}

fn is_empty(backend: &impl Backend) -> Result<bool, StoreError> {
    let mut empty = true;
    backend.scan(&KeyRange::all(), Direction::Forward, &mut |_, _| {
        empty = false;
        ControlFlow::Break(())
    })?;
    Ok(empty)
}

impl<B: Backend> Rows for OrderingStore<B> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, RowsError> {
        self.usable()?;
        match self.staged(key) {
            Some(change) => Ok(change.clone()),
            None => Ok(self.noting(self.read_ahead.borrow_mut().get(key, &self.backend))?),
        }
    }

    fn visit(&self, visitor: &mut RowVisitor<'_>) -> Result<(), RowsError> {
        Ok(self.scan(&KeyRange::all(), Direction::Forward, visitor)?)
    }
}
