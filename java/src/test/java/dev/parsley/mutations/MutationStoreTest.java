package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a store promises about threads, errors and its end. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MutationStoreTest {

  private static final Identity KEY = new Identity("orders", "17");

  @Test
  void shouldPushWhatWasMutatedAndAdoptTheAnswer() {
    final OtherSide side = new OtherSide();
    try (MutationStore<Identity, String> store = side.store().open()) {
      assertEquals(1, store.mutate(KEY, side.set, "a"));
      assertEquals(2, store.mutate(KEY, side.set, "b"));
      assertEquals(2, store.pending(KEY).size());
      assertEquals(1, store.lanes().size());

      final Report report = store.drain(KEY).join();

      assertEquals(2, report.visits().get(0).retired());
      assertEquals(new Report.Checkpoint(2, 2, false), report.checkpoint());
      assertEquals("b", side.values.get(KEY));
      assertEquals(List.of(), store.pendingWrites());
    }
  }

  @Test
  void shouldComeBackWithTheVeryExceptionOfACallback() {
    final IOException thrown = new IOException("disk full");
    final OtherSide side =
        new OtherSide() {
          @Override
          public void apply(Identity key, String value) throws Exception {
            throw thrown;
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      store.mutate(KEY, side.set, "a");

      final CompletionException error =
          assertThrows(CompletionException.class, store.drain(KEY)::join);

      final DrainException drain = assertInstanceOf(DrainException.class, error.getCause());
      assertEquals(FailureKind.ADOPTION, drain.kind());
      assertSame(thrown, drain.getCause());
      assertEquals(1, drain.report().visits().get(0).acks());
    }
  }

  @Test
  void shouldRethrowAnErrorAndLeaveTheMutationInflight() {
    final StackOverflowError thrown = new StackOverflowError();
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            if (pushes.size() == 1) {
              throw thrown;
            }
            return new PushOutcome.Accepted<>(push.mine());
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      store.mutate(KEY, side.set, "a");

      final CompletionException error =
          assertThrows(CompletionException.class, store.drain(KEY)::join);

      assertSame(thrown, error.getCause());
      assertEquals(PendingState.INFLIGHT, store.pending(KEY).get(0).state());
      store.drain(KEY).join();
      assertEquals(side.pushes.get(0).idempotencyKey(), side.pushes.get(1).idempotencyKey());
    }
  }

  @Test
  void shouldRefuseArgumentsThatDoNotReadBack() {
    final OtherSide side = new OtherSide();
    final IllegalStateException thrown = new IllegalStateException("unreadable");
    final Codec<String> broken =
        new Codec<>() {
          @Override
          public byte[] encode(String value) {
            return new byte[0];
          }

          @Override
          public String decode(int version, byte[] bytes) {
            throw thrown;
          }
        };
    final MutatorHandle<String> mutator = side.mutators.create("broken", broken, text -> text);
    try (MutationStore<Identity, String> store = side.store().open()) {
      final RefusedException refused =
          assertThrows(RefusedException.class, () -> store.mutate(KEY, mutator, "a"));

      assertEquals(RefusedException.Kind.ARGUMENTS, refused.kind());
      assertSame(thrown, refused.getCause());
      assertEquals(List.of(), store.pendingWrites());
    }
  }

  @Test
  void shouldRefuseTextsThatNoJournalCanHold() {
    final OtherSide side = new OtherSide();
    try (MutationStore<Identity, String> store = side.store().open()) {
      final Identity half = new Identity("orders", "\ud800");

      assertThrows(IllegalArgumentException.class, () -> store.mutate(half, side.set, "a"));

      assertEquals(1, store.mutate(new Identity("orders", "\ud83d\ude00"), side.set, "a"));
    }
  }

  @Test
  void shouldInterruptTheCallbackOfADrainThatIsCancelled() throws Exception {
    final CountDownLatch inPush = new CountDownLatch(1);
    final CountDownLatch interrupted = new CountDownLatch(1);
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
            if (pushes.size() == 1) {
              inPush.countDown();
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
              }
            }
            return new PushOutcome.Accepted<>(push.mine());
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      store.mutate(KEY, side.set, "a");
      final CompletableFuture<Report> drain = store.drain(KEY);
      inPush.await();

      assertTrue(drain.cancel(true));

      interrupted.await();
      assertThrows(CancellationException.class, drain::join);
      final Report next = store.drain(KEY).join();
      assertEquals(1, next.visits().get(0).retired());
      assertEquals(List.of(), store.deadLetters());
    }
  }

  @Test
  void shouldMakeNoCallbackForADrainThatWasCancelledBefore() {
    final List<Identity> asked = new ArrayList<>();
    final OtherSide side =
        new OtherSide() {
          @Override
          public Meta status(Identity key) {
            asked.add(key);
            return null;
          }
        };
    final Queue<Runnable> later = new ArrayDeque<>();
    try (MutationStore<Identity, String> store = side.store().executor(later::add).open()) {
      store.mutate(KEY, side.set, "a");

      store.drain(KEY).cancel(true);
      for (Runnable task = later.poll(); task != null; task = later.poll()) {
        task.run();
      }

      assertEquals(List.of(), asked);
      assertEquals(1, store.pending(KEY).size());
    }
  }

  @Test
  void shouldTakeAnInterruptOfTheCallbacksThreadForCancellation() throws Exception {
    final LinkedBlockingQueue<Thread> inPush = new LinkedBlockingQueue<>();
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
            inPush.add(Thread.currentThread());
            new CountDownLatch(1).await();
            return null;
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      store.mutate(KEY, side.set, "a");
      final CompletableFuture<Report> drain = store.drain(KEY);

      inPush.take().interrupt();

      final ExecutionException error = assertThrowsAny(() -> drain.get(60, TimeUnit.SECONDS));
      assertTrue(error == null || error.getCause() instanceof CancellationException);
      assertTrue(drain.isCancelled());
      assertEquals(PendingState.INFLIGHT, store.pending(KEY).get(0).state());
      assertEquals(0, store.pending(KEY).get(0).attempt());
    }
  }

  private interface Get {
    Object get() throws Exception;
  }

  /** A future that was cancelled says so by itself, without a wrapper. */
  private static ExecutionException assertThrowsAny(Get get) throws Exception {
    try {
      get.get();
    } catch (CancellationException e) {
      return null;
    } catch (ExecutionException e) {
      return e;
    }
    throw new AssertionError("nothing was thrown");
  }

  @Test
  void shouldCallBackOnTheExecutorOnly() {
    final Set<String> seen = ConcurrentHashMap.newKeySet();
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            seen.add(Thread.currentThread().getName());
            return new PushOutcome.Accepted<>(push.mine());
          }

          @Override
          public void apply(Identity key, String value) throws Exception {
            seen.add(Thread.currentThread().getName());
            super.apply(key, value);
          }

          @Override
          public Meta status(Identity key) {
            seen.add(Thread.currentThread().getName());
            return null;
          }
        };
    final ExecutorService one = Executors.newSingleThreadExecutor(task -> new Thread(task, "ours"));
    try (MutationStore<Identity, String> store = side.store().executor(one).open()) {
      for (int i = 0; i < 20; i++) {
        store.mutate(new Identity("lane-" + i % 5, "id-" + i), side.set, "a");
      }

      // All drains at once, on a single thread: none of them may wait for another on it.
      final List<CompletableFuture<Report>> drains = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        drains.add(store.drain(new Identity("lane-" + i % 5, "id-" + i)));
      }
      drains.add(store.drainAll());
      drains.add(store.drainAll());
      drains.forEach(CompletableFuture::join);
      while (!store.pendingWrites().isEmpty()) {
        store.drainAll().join();
      }

      assertEquals(Set.of("ours"), seen);
      assertEquals(20, side.pushes.size());
    } finally {
      one.shutdown();
    }
  }

  @Test
  void shouldDrainLanesSideBySideUpToTheLimit() {
    final int lanes = 3;
    // Passed only once as many pushes are out.
    final CyclicBarrier together = new CyclicBarrier(lanes);
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
            together.await();
            return new PushOutcome.Accepted<>(push.mine());
          }
        };
    try (MutationStore<Identity, String> store = side.store().lanes(lanes).open()) {
      for (int i = 0; i < lanes; i++) {
        store.mutate(new Identity("lane-" + i, "id"), side.set, "a");
      }

      final Report report = store.drainAll().join();

      assertEquals(lanes, report.visits().size());
      assertEquals(List.of(), store.pendingWrites());
    }
  }

  @Test
  void shouldDropTheOldestEventsOfAListenerThatIsTooSlow() {
    final OtherSide side = new OtherSide();
    final Queue<Runnable> later = new ArrayDeque<>();
    final List<Long> heard = new ArrayList<>();
    try (MutationStore<Identity, String> store = side.store().executor(later::add).open()) {
      final Subscription listening = store.events(event -> heard.add(event.sequence()));
      for (int i = 0; i < 100; i++) {
        store.mutate(KEY, side.set, "a");
      }
      assertEquals(List.of(), heard);

      later.forEach(Runnable::run);

      assertEquals(64, heard.size());
      assertEquals(37, heard.get(0));
      assertEquals(36, listening.dropped());
    }
  }

  @Test
  void shouldReplayTheLastPoisonWithItsVeryException() {
    final OtherSide side = new OtherSide();
    final List<IllegalStateException> thrown = new ArrayList<>();
    final MutatorHandle<String> failing =
        side.mutators.create(
            "failing",
            ScriptedPorts.TEXT,
            text -> {
              thrown.add(new IllegalStateException(text));
              throw thrown.get(thrown.size() - 1);
            });
    final List<Poison> heard = new ArrayList<>();
    try (MutationStore<Identity, String> store = side.store().executor(Runnable::run).open()) {
      for (int i = 0; i < 20; i++) {
        store.mutate(KEY, failing, "a");
      }
      store.drain(KEY).join();

      store.poison(heard::add).close();

      assertEquals(16, heard.size());
      assertEquals(5, heard.get(0).sequence());
      assertSame(thrown.get(4), heard.get(0).error());
      assertEquals(20, store.deadLetters().size());
    }
  }

  @Test
  void shouldRetryAndDiscardDeadLetters() {
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            return pushes.size() < 3
                ? new PushOutcome.Rejected<>("no")
                : new PushOutcome.Accepted<>(push.mine());
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      store.mutate(KEY, side.set, "a");
      store.mutate(KEY, side.set, "b");
      store.drain(KEY).join();
      assertEquals(2, store.deadLetters().size());
      assertTrue(store.deadLetters().get(0).failure().detail().equals("push-rejected"));

      assertEquals(3, store.retry(1));
      assertEquals(true, store.discard(2, "by a test").isEmpty());

      final RefusedException refused = assertThrows(RefusedException.class, () -> store.retry(1));
      assertEquals(RefusedException.Kind.WRONG_ROW, refused.kind());
      store.drain(KEY).join();
      assertEquals("a", side.values.get(KEY));
      assertEquals(List.of(), store.deadLetters());
    }
  }

  @Test
  void shouldRefuseCallsAfterClose() {
    final OtherSide side = new OtherSide();
    final MutationStore<Identity, String> store = side.store().open();
    store.close();
    store.close();

    final List<Runnable> calls =
        List.of(
            () -> store.mutate(KEY, side.set, "a"),
            () -> store.drain(KEY),
            store::drainAll,
            () -> store.pending(KEY),
            store::pendingWrites,
            store::deadLetters,
            store::lanes,
            () -> store.retry(1),
            () -> store.discard(1, "why"));
    for (Runnable call : calls) {
      assertThrows(StoreClosedException.class, call::run);
    }
  }

  @Test
  void shouldCancelWhatRunsWhenItIsClosed() throws Exception {
    final CountDownLatch inPush = new CountDownLatch(1);
    final CountDownLatch returned = new CountDownLatch(1);
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
            inPush.countDown();
            try {
              new CountDownLatch(1).await();
              return null;
            } finally {
              returned.countDown();
            }
          }
        };
    final MutationStore<Identity, String> store = side.store().open();
    store.mutate(KEY, side.set, "a");
    final CompletableFuture<Report> drain = store.drain(KEY);
    inPush.await();

    store.close();

    assertEquals(0, returned.getCount());
    assertThrows(CancellationException.class, drain::join);
  }

  @Test
  void shouldRefuseToBeClosedByACallback() {
    final List<RuntimeException> refused = new ArrayList<>();
    final List<MutationStore<Identity, String>> own = new ArrayList<>();
    final OtherSide side =
        new OtherSide() {
          @Override
          public void apply(Identity key, String value) throws Exception {
            try {
              own.get(0).close();
            } catch (IllegalStateException e) {
              refused.add(e);
            }
            super.apply(key, value);
          }
        };
    try (MutationStore<Identity, String> store = side.store().open()) {
      own.add(store);
      store.mutate(KEY, side.set, "a");
      store.drain(KEY).join();
      assertEquals(1, refused.size());
    }
  }

  @Test
  void shouldEndADrainThatTheExecutorRefuses() {
    final OtherSide side = new OtherSide();
    final ExecutorService gone = Executors.newSingleThreadExecutor();
    try (MutationStore<Identity, String> store = side.store().executor(gone).open()) {
      store.mutate(KEY, side.set, "a");
      gone.shutdown();

      final CompletionException error =
          assertThrows(CompletionException.class, store.drain(KEY)::join);

      assertInstanceOf(RejectedExecutionException.class, error.getCause());
      assertEquals(1, store.pending(KEY).size());
    }
  }

  @Test
  void shouldCloseThoughItsExecutorHasDroppedWhatItWasGiven() {
    final OtherSide side = new OtherSide();
    final MutationStore<Identity, String> store = side.store().executor(task -> {}).open();
    store.mutate(KEY, side.set, "a");
    final CompletableFuture<Report> drain = store.drain(KEY);

    store.close();

    assertFalse(drain.isDone()); // Nobody was there to be told.
  }
}
