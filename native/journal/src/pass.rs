//! Drains: of one key, and of everything that is due.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};

use crate::io::{Interrupt, Io, KeyAnswer, Thrown};
use crate::locks::{Guard, Lock};
use crate::names::FailureKind;
use crate::records::Identity;
use crate::report::{Blocked, DrainError, DrainErrorKind, IdentityReport, Outcome, Report};
use crate::sabotage;
use crate::visit::{Go, Kept, Visit};

/// Drains one key: once, now, whatever its backoff.
pub(crate) async fn drain_key(io: Io, key: Identity) -> Outcome {
    io.state().kept.insert(key.clone());
    let bound = io.state().known().allocated();
    let mut visit = Visit::new(io.clone(), key.clone(), bound, sabotage::is("gate-a-keyed-drain"));
    let worked = keyed(&mut visit, &key).await;
    end(&io, vec![visit.report], worked, visit.kept).await
}

async fn keyed(visit: &mut Visit, key: &Identity) -> Result<(), Interrupt> {
    let Some((lease, at)) = lease(visit, key).await? else { return Ok(()) };
    visit.set_bound();
    // An alias is followed to a key that the caller did not give.
    match visit.io.key_of(&at).await? {
        KeyAnswer::Known => {}
        KeyAnswer::Unavailable => {
            visit.report.blocked = Some(Blocked::Unavailable { identity: at });
            return Ok(());
        }
        KeyAnswer::Failed(detail, failed) => {
            let head = visit.choose(&at)?;
            match head.filter(|head| head.execution.phase.is_pre_ack()) {
                Some(head) => {
                    visit.park(&head, FailureKind::Identity, detail, &failed.message).await?;
                }
                None => {
                    visit.report.blocked =
                        Some(Blocked::Unresolved { identity: at, message: failed.message });
                }
            }
            return Ok(());
        }
    }
    visit.work(at, &lease).await
}

/// Takes the lane of a key for the work on the end of its route; `None` if others are at work in it or own it.
async fn lease(visit: &mut Visit, key: &Identity) -> Result<Option<(Guard, Identity)>, Interrupt> {
    let io = visit.io.clone();
    let at = {
        let mut state = io.state();
        state.cache()?;
        let at = state.terminal(key);
        if state.locks.identity_in(&key.namespace).is_some_and(|other| *other != at) {
            visit.report.blocked = Some(Blocked::Busy);
            return Ok(None);
        }
        at
    };
    let lease = io.lease(&at).await?;
    let mut state = io.state();
    // While it was waited for, the route may have grown, also by a write that failed and happened all the same.
    state.cache()?;
    let at = state.terminal(&at);
    drop(state);
    lease.work_on(&at);
    let mut state = io.state();
    if let Some(owner) = state.cache()?.owners.get(&at.namespace).copied()
        && !sabotage::is("overtake-in-the-lane")
    {
        let owned = state.reads().intent(owner)?.identity;
        if state.terminal(&owned) != at {
            visit.report.blocked = Some(Blocked::Owner { sequence: owner });
            drop(state);
            return Ok(None);
        }
    }
    drop(state);
    Ok(Some((lease, at)))
}

/// Drains everything that is due: each identity in its turn, lanes side by side.
pub(crate) async fn drain_all(io: Io) -> Outcome {
    match everything(&io).await {
        Ok((reports, worked)) => end(&io, reports, worked, None).await,
        Err(interrupt) => end(&io, Vec::new(), Err(interrupt), None).await,
    }
}

async fn everything(io: &Io) -> Result<(Vec<IdentityReport>, Result<(), Interrupt>), Interrupt> {
    let _pass = io.acquire(Lock::Pass).await?;
    let (bound, lanes, lanes_max) = {
        let mut state = io.state();
        let bound = state.cache()?.allocated();
        (bound, plan(&state)?, state.config.lanes_max.max(1))
    };
    let mut reports = Vec::new();
    let mut worked = Ok(());
    let mut ended =
        stream::iter(lanes).map(|lane| drain_lane(io.clone(), lane, bound)).buffer_unordered(lanes_max);
    while let Some((lane, result)) = ended.next().await {
        reports.extend(lane);
        if let Err(interrupt) = result {
            // Only what ends the whole pass comes here. The other lanes are not dropped but given up: a transaction that
            // one of them is writing is finished first, or nobody would know that it was written.
            io.state().give_up(io.task);
            if worked.is_ok() || matches!(interrupt, Interrupt::Fatal(_)) {
                worked = Err(interrupt);
            }
            if sabotage::is("drop-a-lane-under-its-write") {
                break;
            }
        }
    }
    Ok((reports, worked))
}

/// The identities to visit, lane after lane, in the order of their oldest pending mutation.
fn plan(state: &crate::state::State) -> Result<Vec<Vec<Identity>>, Interrupt> {
    let mut oldest: BTreeMap<Identity, u64> = BTreeMap::new();
    for (identity, first) in state.reads().pending_identities()? {
        let first_there = oldest.entry(state.terminal(&identity)).or_insert(first);
        *first_there = first.min(*first_there);
    }
    let mut by_age: Vec<(u64, Identity)> =
        oldest.into_iter().map(|(identity, first)| (first, identity)).collect();
    by_age.sort_unstable();

    let owners = &state.known().owners;
    let mut owned: Vec<u64> = owners.values().copied().collect();
    owned.sort_unstable();
    let mut lanes = Vec::new();
    for owner in owned {
        lanes.push(vec![state.terminal(&state.reads().intent(owner)?.identity)]);
    }
    // Other identities of an owned lane wait for the next pass, even if the owner retires in this one.
    let mut places: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for (_, identity) in by_age {
        if owners.contains_key(&identity.namespace) && !sabotage::is("overtake-in-the-lane") {
            continue;
        }
        let place = *places.entry(identity.namespace.clone()).or_insert_with(|| {
            lanes.push(Vec::new());
            lanes.len() - 1
        });
        lanes[place].push(identity);
    }
    Ok(lanes)
}

async fn drain_lane(io: Io, lane: Vec<Identity>, bound: u64) -> (Vec<IdentityReport>, Result<(), Interrupt>) {
    let mut reports = Vec::new();
    let mut visited: HashSet<Identity> = HashSet::new();
    for identity in lane {
        let at = io.state().terminal(&identity);
        if visited.contains(&identity) || visited.contains(&at) {
            continue;
        }
        let mut visit = Visit::new(io.clone(), at.clone(), bound, true);
        let worked = due(&mut visit, &at).await;
        visited.insert(at);
        visited.extend(std::mem::take(&mut visit.visited));
        match worked {
            Ok(()) => {}
            // One identity's trouble is no other's.
            Err(Interrupt::Failed(Thrown { message, .. })) => {
                let kind = FailureKind::Persistence;
                visit.report.blocked.get_or_insert(Blocked::Failed { sequence: None, kind, message });
            }
            Err(interrupt) => {
                reports.push(visit.report);
                return (reports, Err(interrupt));
            }
        }
        reports.push(visit.report);
    }
    (reports, Ok(()))
}

async fn due(visit: &mut Visit, key: &Identity) -> Result<(), Interrupt> {
    let Some((lease, at)) = lease(visit, key).await? else { return Ok(()) };
    if sabotage::is("gate-after-the-resolver") {
        visit.io.key_of(&at).await?;
    }
    // The gate comes before the resolver: what is not due costs no call.
    let Some(head) = visit.choose(&at)? else { return Ok(()) };
    if !visit.is_due(&head).await? {
        return Ok(());
    }
    match visit.io.key_of(&at).await? {
        KeyAnswer::Known => visit.work(at, &lease).await,
        KeyAnswer::Unavailable => {
            visit.report.blocked = Some(Blocked::Unavailable { identity: at });
            Ok(())
        }
        KeyAnswer::Failed(detail, failed) if head.execution.phase.is_pre_ack() => {
            let _: Go = visit.park(&head, FailureKind::Identity, detail, &failed.message).await?;
            Ok(())
        }
        KeyAnswer::Failed(detail, failed) => visit.note(&head, FailureKind::Identity, detail, failed).await,
    }
}

/// The end of every drain: the checkpoint, and what the caller is told.
async fn end(
    io: &Io,
    identities: Vec<IdentityReport>,
    worked: Result<(), Interrupt>,
    kept: Option<Kept>,
) -> Outcome {
    let mut report = Report { identities, ..Report::default() };
    let flushed = match &worked {
        Ok(()) | Err(Interrupt::Failed(_)) => crate::checkpoint::flush(io).await,
        // Who gives up gets no more calls made.
        Err(Interrupt::Cancelled | Interrupt::Fatal(_)) => Ok(false),
    };
    report.checkpoint.failed = matches!(flushed, Ok(true));
    let durable = io.durable().await;
    {
        let state = io.state();
        report.checkpoint.retired_through = state.known().retired_through();
        report.checkpoint.confirmed_through = state.known().confirmed_through();
    }
    let interrupted = match (worked, flushed.map(|_| ()), durable) {
        // A flush that was given up is told instead of an older failure.
        (_, Err(interrupt), _) | (Err(interrupt), Ok(()), _) | (Ok(()), Ok(()), Err(interrupt)) => {
            Some(interrupt)
        }
        (Ok(()), Ok(()), Ok(())) => None,
    };
    let error = interrupted.map(DrainError::from).or(kept.map(DrainError::from));
    Outcome::Drained(report, error)
}

impl From<Interrupt> for DrainError {
    fn from(interrupt: Interrupt) -> Self {
        let (kind, message, call) = match interrupt {
            Interrupt::Cancelled => (DrainErrorKind::Cancelled, "the caller gave up".to_owned(), None),
            Interrupt::Fatal(call) => (DrainErrorKind::Fatal, "a callback panicked".to_owned(), Some(call)),
            Interrupt::Failed(Thrown { message, call }) => (DrainErrorKind::Persistence, message, call),
        };
        Self { kind, message, call, others: Vec::new() }
    }
}

impl From<Kept> for DrainError {
    fn from(kept: Kept) -> Self {
        let Thrown { message, call } = kept.thrown;
        let others = kept.others.into_iter().map(|it| (it.message, it.call)).collect();
        Self { kind: DrainErrorKind::Kept(kept.kind), message, call, others }
    }
}
