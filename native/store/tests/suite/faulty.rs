//! The backend under the store with cuts in it: a run is counted from one durable step to the next, and ends at the step
//! that it is told to.

use std::cell::RefCell;
use std::process;
use std::rc::Rc;

use bytes::Bytes;
use parsley_core::rows::RowVisitor;
use parsley_store::{Backend, Batch, Direction, KeyRange, RowChange, StoreError};

/// A place at which a run can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A batch of the changelog has been handed to the store.
    Restored,
    /// The engine's rows are staged and in the changelog's producer; the transaction is open.
    Staged,
    /// The transaction has committed; the store does not know it.
    Transaction,
    BeforeWrite,
    AfterWrite,
    BeforeFlush,
    AfterFlush,
    BeforeClear,
    AfterClear,
}

/// What happens at the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Every call fails from now on.
    Fails,
    /// The process ends at once.
    Aborts,
    /// As [`Death::Fails`], and a batch that was about to be written is written in part, which no backend may do.
    TearsItsBatch,
}

/// Counts the points that a run passes, and ends it at one of them.
pub struct Cut {
    at: Option<usize>,
    death: Death,
    passed: RefCell<Vec<Point>>,
}

impl Cut {
    /// Ends the run at the point of this number.
    pub fn at(number: usize, death: Death) -> Rc<Self> {
        Rc::new(Self { at: Some(number), death, passed: RefCell::default() })
    }

    /// Only counts.
    pub fn never() -> Rc<Self> {
        Rc::new(Self { at: None, death: Death::Fails, passed: RefCell::default() })
    }

    /// The points passed, the one of the cut included.
    pub fn passed(&self) -> Vec<Point> {
        self.passed.borrow().clone()
    }

    /// Whether the run has been ended.
    pub fn is_dead(&self) -> bool {
        self.at.is_some_and(|at| at < self.passed.borrow().len())
    }

    /// Goes past a point, or ends there.
    pub fn pass(&self, point: Point) -> Result<(), StoreError> {
        self.alive()?;
        self.passed.borrow_mut().push(point);
        if self.is_dead() && self.death == Death::Aborts {
            process::abort();
        }
        self.alive()
    }

    fn alive(&self) -> Result<(), StoreError> {
        if self.is_dead() {
            return Err(StoreError::Io { action: "running on", cause: "the run was cut".to_owned() });
        }
        Ok(())
    }
}

/// A backend whose durable steps are points.
pub struct Faulty<B> {
    inner: B,
    cut: Rc<Cut>,
}

impl<B: Backend> Faulty<B> {
    pub fn over(inner: B, cut: &Rc<Cut>) -> Self {
        Self { inner, cut: Rc::clone(cut) }
    }
}

impl<B: Backend> Backend for Faulty<B> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.cut.alive()?;
        self.inner.get(key)
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visitor: &mut RowVisitor<'_>,
    ) -> Result<(), StoreError> {
        self.cut.alive()?;
        self.inner.scan(range, direction, visitor)
    }

    fn approximate_entries(&self) -> Result<u64, StoreError> {
        self.cut.alive()?;
        self.inner.approximate_entries()
    }

    fn offsets(&self) -> Result<Vec<(String, i64)>, StoreError> {
        self.cut.alive()?;
        self.inner.offsets()
    }

    fn write(&mut self, batch: Batch<'_, '_>) -> Result<(), StoreError> {
        let cut = self.cut.pass(Point::BeforeWrite);
        if cut.is_err() && self.cut.death == Death::TearsItsBatch {
            let rows: Vec<RowChange<'_>> = batch.rows.collect();
            let mut part = rows.iter().copied().take(rows.len() / 2);
            self.inner.write(Batch { rows: &mut part, offsets: batch.offsets })?;
        }
        cut?;
        self.inner.write(batch)?;
        self.cut.pass(Point::AfterWrite)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.cut.pass(Point::BeforeFlush)?;
        self.inner.flush()?;
        self.cut.pass(Point::AfterFlush)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.cut.pass(Point::BeforeClear)?;
        self.inner.clear()?;
        self.cut.pass(Point::AfterClear)
    }
}
