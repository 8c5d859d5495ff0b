//! Numbers that stand for native objects on the Java side.
//!
//! A number is checked at every use, so one that is closed, stale or forged is an ordinary error. It is
//! `generation << 32 | slot`: a slot is used again after a close, with the next generation, and generations begin at
//! one, so no number is given out twice and 0 is none.

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Slots are made a chunk at a time and never move, so finding one takes no lock.
const CHUNK_SLOTS: u32 = 64;
const CHUNKS: u32 = 256;

/// Objects that may be open at once.
pub(crate) const OPEN_MAX: u32 = CHUNK_SLOTS * CHUNKS;

/// Why a number stands for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HandleError {
    /// It was closed, by its owner or after a panic.
    #[error("the store is closed: open it again")]
    Closed,
    /// It was never given out.
    #[error("{0} is not the number of a store: pass the one that open returned")]
    Unknown(i64),
}

/// [`OPEN_MAX`] objects are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{OPEN_MAX} stores are open already: close some")]
pub(crate) struct Full;

/// Objects by number, each used by one call at a time.
pub(crate) struct Registry<T> {
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS as usize],
    vacant: Mutex<Vacant>,
    /// The next insert panics.
    armed: AtomicBool,
}

/// Slots that hold nothing.
struct Vacant {
    used_before: Vec<u32>,
    never_used: u32,
}

/// On a cache line of its own, because each store is mostly used by a thread of its own.
#[repr(align(64))]
struct Slot<T>(Mutex<Entry<T>>);

struct Entry<T> {
    /// That of the last number given out for this slot, 0 before the first.
    generation: u32,
    object: Option<T>,
    /// The object, once it is armed. Out of the place where it is looked for, so that no ordinary call pays for it.
    armed: Option<T>,
}

impl<T> Entry<T> {
    /// What a call finds where no object is.
    #[cold]
    fn missing(&self) -> HandleError {
        assert!(self.armed.is_none(), "{SELF_TEST}");
        HandleError::Closed
    }
}

const SELF_TEST: &str = "a self test asked for this panic";

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS as usize],
            vacant: Mutex::new(Vacant { used_before: Vec::new(), never_used: 0 }),
            armed: AtomicBool::new(false),
        }
    }

    /// Takes over an object and gives the number that stands for it from now on.
    pub(crate) fn insert(&self, object: T) -> Result<i64, Full> {
        assert!(!self.armed.swap(false, atomic::Ordering::Relaxed), "{SELF_TEST}");
        let index = self.vacant_index()?;
        let chunk = self.chunks[(index / CHUNK_SLOTS) as usize].get_or_init(new_chunk);
        let mut entry = locked(&chunk[(index % CHUNK_SLOTS) as usize]);
        entry.generation += 1;
        entry.object = Some(object);
        Ok(i64::from(entry.generation) << 32 | i64::from(index))
    }

    /// Uses the object behind a number, when no other call does.
    ///
    /// If `call` panics the object is as good as closed: its state is unknown, and no later call reaches it.
    pub(crate) fn with<R>(&self, handle: i64, call: impl FnOnce(&mut T) -> R) -> Result<R, HandleError> {
        let (slot, generation) = self.slot(handle)?;
        let mut entry = locked(slot);
        match entry.generation.cmp(&generation) {
            Ordering::Less => Err(HandleError::Unknown(handle)),
            Ordering::Equal => match entry.object.as_mut() {
                Some(object) => Ok(call(object)),
                None => Err(entry.missing()),
            },
            Ordering::Greater => Err(HandleError::Closed),
        }
    }

    /// Takes the object behind a number out, once running calls have ended, and ends it with `end`. Gives `None` when
    /// that has been done before; when another thread is at it, only after it has finished.
    pub(crate) fn close<R>(&self, handle: i64, end: impl FnOnce(T) -> R) -> Result<Option<R>, HandleError> {
        let (slot, generation) = self.slot(handle)?;
        let mut entry = locked(slot);
        if entry.generation < generation {
            return Err(HandleError::Unknown(handle));
        }
        if entry.generation > generation {
            return Ok(None);
        }
        let Some(object) = entry.object.take() else {
            entry.missing();
            return Ok(None);
        };
        let ended = end(object);
        let exhausted = entry.generation == i32::MAX.unsigned_abs();
        drop(entry);
        if !exhausted {
            self.vacant().used_before.push(index_of(handle));
        }
        Ok(Some(ended))
    }

    /// Makes the next call on an object panic, whichever it is. It is how tests reach what a bug would do there.
    pub(crate) fn arm(&self, handle: i64) -> Result<(), HandleError> {
        self.with(handle, |_| ())?; // An armed one goes off.
        let mut entry = locked(self.slot(handle)?.0);
        entry.armed = entry.object.take();
        Ok(())
    }

    /// Makes the next insert panic.
    pub(crate) fn arm_insert(&self) {
        self.armed.store(true, atomic::Ordering::Relaxed);
    }

    fn vacant_index(&self) -> Result<u32, Full> {
        let mut vacant = self.vacant();
        if let Some(index) = vacant.used_before.pop() {
            return Ok(index);
        }
        if vacant.never_used == OPEN_MAX {
            return Err(Full);
        }
        vacant.never_used += 1;
        Ok(vacant.never_used - 1)
    }

    /// Nothing in it can be half changed.
    fn vacant(&self) -> MutexGuard<'_, Vacant> {
        self.vacant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, handle: i64) -> Result<(&Slot<T>, u32), HandleError> {
        let index = index_of(handle);
        let slot = usize::try_from(index / CHUNK_SLOTS)
            .ok()
            .and_then(|chunk| self.chunks.get(chunk))
            .and_then(OnceLock::get)
            .map(|chunk| &chunk[(index % CHUNK_SLOTS) as usize]);
        match (slot, u32::try_from(handle >> 32)) {
            (Some(slot), Ok(generation @ 1..)) => Ok((slot, generation)),
            _ => Err(HandleError::Unknown(handle)),
        }
    }
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "the low 32 bits are the index")]
fn index_of(handle: i64) -> u32 {
    handle as u32
}

fn new_chunk<T>() -> Box<[Slot<T>]> {
    (0..CHUNK_SLOTS).map(|_| Slot(Mutex::new(Entry { generation: 0, object: None, armed: None }))).collect()
}

/// A call that panicked has left its object in an unknown state: whoever comes next drops it. Its slot is not used
/// again, which a bug can afford.
fn locked<T>(slot: &Slot<T>) -> MutexGuard<'_, Entry<T>> {
    slot.0.lock().unwrap_or_else(|poisoned| {
        let mut entry = poisoned.into_inner();
        entry.object = None;
        entry.armed = None;
        slot.0.clear_poison();
        entry
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{self, AtomicBool};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    #[test]
    fn a_closed_number_is_refused_and_closing_it_again_is_nothing() {
        let registry = Registry::new();
        let handle = registry.insert(7).unwrap();
        assert_eq!(registry.with(handle, |object| *object), Ok(7));
        assert_eq!(registry.close(handle, |object| object), Ok(Some(7)));
        assert_eq!(registry.with(handle, |object| *object), Err(HandleError::Closed));
        assert_eq!(registry.close(handle, |object| object), Ok(None));
    }

    #[test]
    fn a_stale_number_does_not_reach_the_object_that_took_its_slot() {
        let registry = Registry::new();
        let stale = registry.insert(1).unwrap();
        registry.close(stale, drop).unwrap();
        let fresh = registry.insert(2).unwrap();
        assert_eq!(index_of(stale), index_of(fresh));
        assert_eq!(registry.with(stale, |object| *object), Err(HandleError::Closed));
        assert_eq!(registry.close(stale, |object| object), Ok(None));
        assert_eq!(registry.with(fresh, |object| *object), Ok(2));
    }

    #[test]
    fn a_forged_number_is_refused() {
        let registry = Registry::new();
        let handle = registry.insert(1).unwrap();
        for forged in
            [0, 1, -1, handle + 1, handle + (1 << 32), -handle, i64::MIN, i64::MAX, handle | 0x7fff_ffff]
        {
            assert_eq!(
                registry.with(forged, |object| *object),
                Err(HandleError::Unknown(forged)),
                "{forged}"
            );
            assert_eq!(
                registry.close(forged, |object| object),
                Err(HandleError::Unknown(forged)),
                "{forged}"
            );
        }
        assert_eq!(registry.with(handle, |object| *object), Ok(1));
    }

    #[test]
    fn a_panic_closes_its_object_for_good_and_no_other() {
        let registry = Registry::new();
        let (broken, other) = (registry.insert(Arc::new(1)).unwrap(), registry.insert(Arc::new(2)).unwrap());
        let watched = registry.with(broken, |object| Arc::downgrade(object)).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| registry.with(broken, |_| panic!("on purpose"))));
        assert!(panicked.is_err());
        assert_eq!(registry.with(broken, |object| **object), Err(HandleError::Closed));
        assert!(watched.upgrade().is_none());
        assert_eq!(registry.close(broken, drop), Ok(None));
        assert_eq!(registry.with(other, |object| **object), Ok(2));
    }

    type Call = fn(&Registry<Arc<i32>>, i64) -> bool;

    #[test]
    fn an_armed_object_panics_at_its_next_call_and_is_closed_for_good() {
        let registry = Registry::new();
        let calls: [Call; 3] = [
            |registry, handle| registry.with(handle, |_| ()).is_ok(),
            |registry, handle| registry.close(handle, drop).is_ok(),
            |registry, handle| registry.arm(handle).is_ok(),
        ];
        for call in calls {
            let (broken, other) =
                (registry.insert(Arc::new(1)).unwrap(), registry.insert(Arc::new(2)).unwrap());
            let watched = registry.with(broken, |object| Arc::downgrade(object)).unwrap();
            registry.arm(broken).unwrap();
            assert!(catch_unwind(AssertUnwindSafe(|| call(&registry, broken))).is_err());
            assert_eq!(registry.close(broken, drop), Ok(None));
            assert!(watched.upgrade().is_none());
            assert_eq!(registry.with(broken, |object| **object), Err(HandleError::Closed));
            assert_eq!(registry.with(other, |object| **object), Ok(2));
        }
    }

    #[test]
    fn an_armed_insert_panics_once_and_drops_what_it_was_given() {
        let registry = Registry::new();
        let object = Arc::new(1);
        registry.arm_insert();
        let given = Arc::clone(&object);
        assert!(catch_unwind(AssertUnwindSafe(|| registry.insert(given))).is_err());
        assert_eq!(Arc::strong_count(&object), 1);
        registry.insert(object).unwrap();
    }

    #[test]
    fn a_panic_while_closing_leaves_nothing_behind() {
        let registry = Registry::new();
        let object = Arc::new(1);
        let handle = registry.insert(Arc::clone(&object)).unwrap();
        let closing = || registry.close(handle, |_object| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(closing)).is_err());
        assert_eq!(Arc::strong_count(&object), 1);
        assert_eq!(registry.close(handle, drop), Ok(None));
    }

    #[test]
    fn close_waits_for_the_running_call() {
        let registry = Registry::new();
        let handle = registry.insert(()).unwrap();
        let call_ended = AtomicBool::new(false);
        let in_call = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                registry.with(handle, |()| {
                    in_call.wait();
                    // Gives the closer every chance to be early; it has to wait however long this takes.
                    (0..1_000).for_each(|_| thread::yield_now());
                    call_ended.store(true, atomic::Ordering::SeqCst);
                })
            });
            in_call.wait();
            let seen = registry.close(handle, |()| call_ended.load(atomic::Ordering::SeqCst));
            assert_eq!(seen, Ok(Some(true)));
        });
    }

    #[test]
    fn the_number_of_open_objects_is_bounded() {
        let registry = Registry::new();
        let handles: Vec<_> = (0..OPEN_MAX).map(|object| registry.insert(object).unwrap()).collect();
        assert_eq!(registry.insert(OPEN_MAX), Err(Full));
        for (object, handle) in handles.iter().enumerate() {
            assert_eq!(registry.with(*handle, |open| *open as usize), Ok(object));
        }
        registry.close(handles[9], drop).unwrap();
        registry.insert(OPEN_MAX).unwrap();
    }
}
