//! The store as an application uses it.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;

use common::{Outside, app, key};
use parsley_mutations::{
    Accepted, Cancellation, Error, EventKind, FailureKind, Identity, PendingState, PushOutcome, RocksStorage,
};

#[test]
fn what_is_mutated_is_pushed_in_order_and_adopted() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.open().unwrap();
    assert_eq!(store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap(), 1);
    assert_eq!(store.mutate(&key("a"), &app.append, &"y".to_owned()).unwrap(), 2);
    let report = store.drain(&key("a")).unwrap();
    assert_eq!((report.identities[0].pushes, report.identities[0].retired), (2, 2));
    assert_eq!(report.checkpoint.confirmed_through, 2);
    assert_eq!(outside.0.local.lock().unwrap()[&key("a")], "xy");
    assert!(store.pending_writes().unwrap().is_empty());
}

#[test]
fn a_push_that_failed_is_sent_again_with_the_same_bytes_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let outside = Outside::default();
    {
        let app = app(&outside);
        let store = app.builder.storage(RocksStorage::open(directory.path()).unwrap()).open().unwrap();
        store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
        outside.next_push(|_| Err("no answer".into()));
        store.drain_all().unwrap();
        outside.0.local.lock().unwrap().insert(key("a"), "changed meanwhile".to_owned());
    }
    let app = app(&outside);
    let store = app.builder.storage(RocksStorage::open(directory.path()).unwrap()).open().unwrap();
    // The wait is the whole window of a second, and the journal remembers since when.
    outside.0.now.store(999, Ordering::SeqCst);
    store.drain_all().unwrap();
    assert_eq!(outside.keys_pushed().len(), 1);
    outside.0.now.store(1_000, Ordering::SeqCst);
    store.drain_all().unwrap();
    let pushes = outside.0.pushes.lock().unwrap();
    assert_eq!(pushes.len(), 2);
    assert_eq!(pushes[0], pushes[1]);
}

#[test]
fn a_directory_has_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = RocksStorage::open(directory.path()).unwrap();
    let refused = RocksStorage::open(directory.path()).err().unwrap();
    assert!(refused.0.contains("in use"), "{refused}");
    drop(first);
    RocksStorage::open(directory.path()).unwrap();
}

#[test]
fn another_client_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let outside = Outside::default();
    {
        let app = app(&outside);
        let store = app.builder.storage(RocksStorage::open(directory.path()).unwrap()).open().unwrap();
        store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
    }
    let other = parsley_mutations::MutationStore::builder(
        "other",
        |identity: &Identity| parsley_mutations::Resolution::Key(identity.clone()),
        common::Texts,
        outside.clone(),
        outside,
    );
    let refused = other.storage(RocksStorage::open(directory.path()).unwrap()).open().err().unwrap();
    assert!(refused.to_string().contains("client-same"), "{refused}");
}

#[derive(Debug, thiserror::Error)]
#[error("my own")]
struct MyOwn;

#[test]
fn an_error_of_the_applications_comes_back_as_itself() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.open().unwrap();
    store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
    *outside.0.apply_fails.lock().unwrap() = Some(Box::new(MyOwn));
    let Err(Error::Drain(failed)) = store.drain(&key("a")) else { panic!("the adoption failed") };
    assert_eq!(failed.kind, FailureKind::Adoption);
    assert!(failed.source.unwrap().is::<MyOwn>());
    assert_eq!(store.pending(&key("a")).unwrap()[0].state, PendingState::Adopting);
    store.drain(&key("a")).unwrap();
    // Its answer was durable, so it was not pushed again.
    assert_eq!(outside.keys_pushed().len(), 1);
}

#[test]
fn a_panic_goes_on_in_the_caller_and_leaves_the_push_in_flight() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.open().unwrap();
    store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
    outside.next_push(|_| panic!("by the server's client"));
    let panic = catch_unwind(AssertUnwindSafe(|| store.drain(&key("a")))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"by the server's client"));
    assert_eq!(store.pending(&key("a")).unwrap()[0].state, PendingState::Inflight);
    store.drain(&key("a")).unwrap();
    assert_eq!(outside.keys_pushed(), vec![outside.keys_pushed()[0].clone(); 2]);
}

#[test]
fn a_cancelled_drain_leaves_the_push_in_flight() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.open().unwrap();
    store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
    let (out, pushed) = mpsc::channel();
    let (go_on, answer) = mpsc::channel::<()>();
    outside.next_push(move |push| {
        out.send(()).unwrap();
        answer.recv().unwrap();
        Ok(PushOutcome::Accepted(Accepted { value: push.mine.clone(), etag: None, target: None }))
    });
    let cancellation = Cancellation::new();
    let drained = thread::scope(|scope| {
        let drain = scope.spawn(|| store.drain_until(&key("a"), &cancellation));
        pushed.recv().unwrap();
        cancellation.cancel();
        go_on.send(()).unwrap();
        drain.join().unwrap()
    });
    assert!(matches!(drained, Err(Error::Cancelled)));
    assert_eq!(store.pending(&key("a")).unwrap()[0].state, PendingState::Inflight);
}

#[test]
fn lanes_are_drained_side_by_side() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.lanes(2).open().unwrap();
    for namespace in ["m", "n"] {
        store.mutate(&Identity::new(namespace, "a"), &app.append, &"x".to_owned()).unwrap();
    }
    // Each push is answered only once both are out.
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(2));
    for _ in 0..2 {
        let barrier = barrier.clone();
        outside.next_push(move |push| {
            barrier.wait();
            Ok(PushOutcome::Accepted(Accepted { value: push.mine.clone(), etag: None, target: None }))
        });
    }
    let report = store.drain_all().unwrap();
    assert_eq!(report.identities.iter().map(|it| it.retired).sum::<u32>(), 2);
}

#[test]
fn a_closed_store_refuses() {
    let outside = Outside::default();
    let app = app(&outside);
    let store = app.builder.open().unwrap();
    let events = store.events();
    store.mutate(&key("a"), &app.append, &"x".to_owned()).unwrap();
    store.close();
    store.close();
    assert!(matches!(store.mutate(&key("a"), &app.append, &"y".to_owned()), Err(Error::Closed)));
    assert!(matches!(store.drain_all(), Err(Error::Closed)));
    assert!(matches!(store.pending_writes(), Err(Error::Closed)));
    let wait = std::time::Duration::from_mins(1);
    assert!(matches!(events.next(wait).unwrap().kind, EventKind::Enqueued { .. }));
    assert!(events.next(wait).is_none());
}

#[test]
fn arguments_that_do_not_read_back_are_refused() {
    struct OneWay;
    impl parsley_mutations::Codec<String> for OneWay {
        fn version(&self) -> u32 {
            1
        }
        fn encode(&self, _: &String) -> Result<Vec<u8>, parsley_mutations::BoxError> {
            Ok(Vec::new())
        }
        fn decode(&self, _: u32, _: &[u8]) -> Result<String, parsley_mutations::BoxError> {
            Err("not readable".into())
        }
    }
    let outside = Outside::default();
    let mut mutators = parsley_mutations::Mutators::new();
    let broken = mutators.create("broken", OneWay, |args: &String| Ok(args.clone())).unwrap();
    let store = app(&outside).builder.mutators(mutators).open().unwrap();
    let refused = store.mutate(&key("a"), &broken, &"x".to_owned());
    assert!(matches!(refused, Err(Error::Arguments { .. })));
    assert!(store.dump().unwrap().client.is_none(), "nothing is journaled");
}
