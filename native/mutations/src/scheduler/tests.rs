use std::sync::atomic::{AtomicUsize, Ordering};

use parsley_journal::records::Identity;

use super::*;

/// An alarm that a test sets off.
#[derive(Default)]
struct Hand {
    fire: Mutex<Option<Fire>>,
    /// Every request: its name, and its delay or `None` where it was cancelled.
    requests: Mutex<Vec<(String, Option<Duration>)>>,
    fails: Mutex<bool>,
}

impl Hand {
    fn requests(&self) -> Vec<(String, Option<Duration>)> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    fn note(&self, name: &str, delay: Option<Duration>) -> Result<(), BoxError> {
        self.requests.lock().unwrap().push((name.to_owned(), delay));
        if *self.fails.lock().unwrap() { Err("no alarm today".into()) } else { Ok(()) }
    }
}

impl DrainScheduler for Arc<Hand> {
    fn attach(&self, fire: Fire) {
        assert!(self.fire.lock().unwrap().replace(fire).is_none(), "attached once");
    }

    fn validate(&self, constraints: &Constraints) -> Result<(), BoxError> {
        if constraints.requires_charging { Err("no battery".into()) } else { Ok(()) }
    }

    fn schedule(&self, name: &str, _: &Constraints, delay: Duration) -> Result<(), BoxError> {
        self.note(name, Some(delay))
    }

    fn cancel(&self, name: &str) -> Result<(), BoxError> {
        self.note(name, None)
    }
}

/// A store that does what a test says.
#[derive(Default)]
struct Script {
    waiting: Mutex<Vec<PendingRow>>,
    drained: AtomicUsize,
    fails: Mutex<Option<Error>>,
    checkpoint_failed: Mutex<bool>,
    source: Mutex<Option<Source<parsley_journal::event::Event>>>,
}

impl Drainable for Arc<Script> {
    fn drain_due(&self, _: &Cancellation) -> Result<bool, Error> {
        self.drained.fetch_add(1, Ordering::SeqCst);
        self.fails.lock().unwrap().take().map_or(Ok(*self.checkpoint_failed.lock().unwrap()), Err)
    }

    fn waiting(&self) -> Result<Vec<PendingRow>, Error> {
        Ok(self.waiting.lock().unwrap().clone())
    }

    fn checkpoint_is_flushed(&self) -> Result<bool, Error> {
        Ok(true)
    }

    fn listen(&self) -> Feed<parsley_journal::event::Event> {
        self.source.lock().unwrap().get_or_insert_with(|| Source::new(0, EVENTS_MAX)).listen()
    }

    fn instance(&self) -> usize {
        Arc::as_ptr(self).addr()
    }
}

fn row(id: &str, sequence: u64, state: PendingState, attempt: u32) -> PendingRow {
    PendingRow {
        key: Identity::new("n", id),
        sequence,
        mutator: "set".into(),
        state,
        attempt,
        created_at: 0,
        stall: None,
    }
}

use parsley_journal::names::PendingState;

struct World {
    hand: Arc<Hand>,
    store: Arc<Script>,
    coordinator: Coordinator,
}

fn world() -> World {
    let hand = Arc::new(Hand::default());
    let store = Arc::new(Script::default());
    let coordinator = Coordinator::new(hand.clone());
    coordinator.register("s", store.clone(), Registering::default()).unwrap();
    World { hand, store, coordinator }
}

impl World {
    fn pass(&self) -> PassOutcome {
        self.coordinator.pass("s", &Cancellation::new()).unwrap()
    }

    fn wait(&self, rows: Vec<PendingRow>) {
        *self.store.waiting.lock().unwrap() = rows;
    }
}

fn remaining(count: usize, seconds: u64) -> PassOutcome {
    PassOutcome::Remaining { count, delay: Some(Duration::from_secs(seconds)) }
}

#[test]
fn a_name_and_a_store_are_registered_once() {
    let world = world();
    let again = world.coordinator.register("s", Arc::new(Script::default()), Registering::default());
    assert!(matches!(again, Err(Error::Configuration(_))));
    let twice = world.coordinator.register("t", world.store.clone(), Registering::default());
    assert!(matches!(twice, Err(Error::Configuration(_))));
    for name in ["", "a b", "é", &"x".repeat(65)] {
        let bad = world.coordinator.register(name, Arc::new(Script::default()), Registering::default());
        assert!(matches!(bad, Err(Error::Configuration(_))), "{name}");
    }
    let charging = Constraints { requires_charging: true, ..Constraints::default() };
    let how = Registering { constraints: charging, ..Registering::default() };
    assert!(world.coordinator.register("t", Arc::new(Script::default()), how).is_err());
}

#[test]
fn a_pass_is_set_for_safety_and_then_cancelled_when_nothing_is_left() {
    let world = world();
    assert_eq!(world.pass(), PassOutcome::Cleared);
    let safety = Some(Duration::from_hours(1));
    assert_eq!(world.hand.requests(), [("s".to_owned(), safety), ("s".to_owned(), None)]);
}

#[test]
fn the_first_head_that_may_go_decides_the_delay() {
    let world = world();
    world.wait(vec![row("a", 1, PendingState::Pending, 3), row("a", 2, PendingState::Pending, 0)]);
    assert_eq!(world.pass(), remaining(2, 120));
    world.wait(vec![row("a", 1, PendingState::Pending, 3), row("b", 3, PendingState::Refreshing, 1)]);
    assert_eq!(world.pass(), remaining(2, 30));
    for state in [PendingState::Inflight, PendingState::Adopting, PendingState::ApplyingEffects] {
        world.wait(vec![row("a", 1, state, 9)]);
        assert_eq!(world.pass(), remaining(1, 0));
    }
    world.wait(vec![row("a", 1, PendingState::Pending, 0)]);
    assert_eq!(world.pass(), remaining(1, 0));
    world.wait(vec![row("a", 1, PendingState::Pending, 30)]);
    assert_eq!(world.pass(), remaining(1, 3600));
}

#[test]
fn passes_that_change_nothing_come_later_and_later() {
    let world = world();
    world.wait(vec![row("a", 1, PendingState::Adopting, 1)]);
    assert_eq!(
        [world.pass(), world.pass(), world.pass(), world.pass()],
        [remaining(1, 0), remaining(1, 30), remaining(1, 60), remaining(1, 120)]
    );
    world.wait(vec![row("a", 2, PendingState::Adopting, 1)]);
    assert_eq!(world.pass(), remaining(1, 0));
}

#[test]
fn a_checkpoint_alone_waits_half_a_minute() {
    let world = world();
    *world.store.checkpoint_failed.lock().unwrap() = true;
    assert_eq!(world.pass(), remaining(0, 30));
    *world.store.checkpoint_failed.lock().unwrap() = false;
    assert_eq!(world.pass(), PassOutcome::Cleared);
}

#[test]
fn a_drain_that_fails_is_told_and_what_it_left_decides() {
    let world = world();
    let events = world.coordinator.events();
    world.wait(vec![row("a", 1, PendingState::Pending, 1)]);
    *world.store.fails.lock().unwrap() = Some(Error::Storage("full".to_owned()));
    assert_eq!(world.pass(), remaining(1, 30));
    let told = events.next(Duration::ZERO);
    assert_eq!(told, Some(SchedulerEvent::PassFailed { name: "s".to_owned(), message: "full".to_owned() }));
}

#[test]
fn a_cancelled_pass_leaves_the_alarm_that_was_set_for_safety() {
    let world = world();
    *world.store.fails.lock().unwrap() = Some(Error::Cancelled);
    assert!(matches!(world.coordinator.pass("s", &Cancellation::new()), Err(Error::Cancelled)));
    assert_eq!(world.hand.requests(), [("s".to_owned(), Some(Duration::from_hours(1)))]);
    // Its turn has ended.
    assert_eq!(world.pass(), PassOutcome::Cleared);
}

#[test]
fn an_alarm_that_fails_stops_no_pass_and_leaves_no_delay() {
    let world = world();
    let events = world.coordinator.events();
    *world.hand.fails.lock().unwrap() = true;
    world.wait(vec![row("a", 1, PendingState::Pending, 1)]);
    assert_eq!(world.pass(), PassOutcome::Remaining { count: 1, delay: None });
    assert!(matches!(events.next(Duration::ZERO), Some(SchedulerEvent::ScheduleFailed { .. })));
}

#[test]
fn an_alarm_that_goes_off_runs_a_pass() {
    let world = world();
    let fire = world.hand.fire.lock().unwrap().clone().unwrap();
    fire("s");
    fire("nobody");
    assert_eq!(world.store.drained.load(Ordering::SeqCst), 1);
}

#[test]
fn a_store_that_is_unregistered_gets_no_other_pass() {
    let world = world();
    world.coordinator.unregister("s");
    assert_eq!(world.hand.requests(), [("s".to_owned(), None)]);
    assert!(matches!(world.pass(), PassOutcome::Unavailable { .. }));
    assert_eq!(world.store.drained.load(Ordering::SeqCst), 0);
}

#[test]
fn reconciling_runs_one_pass_of_each_store() {
    let world = world();
    let other = Arc::new(Script::default());
    world.coordinator.register("t", other.clone(), Registering::default()).unwrap();
    let outcomes = world.coordinator.reconcile(&Cancellation::new()).unwrap();
    assert_eq!(outcomes.len(), 2);
    assert_eq!(other.drained.load(Ordering::SeqCst), 1);
}

#[test]
fn a_watch_runs_a_pass_at_once_and_one_for_each_new_mutation() {
    let world = world();
    let events = world.coordinator.events();
    let watch = world.coordinator.watch("s").unwrap();
    let ended = || match events.next(Duration::from_mins(1)) {
        Some(SchedulerEvent::PassEnded { outcome, .. }) => outcome,
        other => panic!("{other:?}"),
    };
    assert_eq!(ended(), PassOutcome::Cleared);
    let enqueued = parsley_journal::event::Event {
        at: 0,
        sequence: Some(1),
        identity: None,
        kind: EventKind::Enqueued { mutator: "set".into() },
    };
    world.store.source.lock().unwrap().as_mut().unwrap().send(&enqueued);
    assert_eq!(ended(), PassOutcome::Cleared);
    assert!(world.hand.requests().iter().all(|(_, delay)| delay.is_none()), "no alarm for safety");
    drop(watch);
}

#[test]
fn the_default_delay_is_never_shorter_than_the_engines_own() {
    for count in 1..100 {
        let own = Duration::from_millis(parsley_journal::backoff::window_ms(count));
        assert!(Policy::default().delay(count) >= own);
    }
}

#[test]
fn a_multiplier_of_one_keeps_the_delay() {
    let policy = Policy { multiplier: 1.0, ..Policy::default() };
    assert_eq!(policy.delay(1), policy.delay(9));
}
