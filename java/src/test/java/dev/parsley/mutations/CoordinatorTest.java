package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Each rule of the coordinator, with an alarm that the test sets off. */
class CoordinatorTest {

  private static final String NAME = "orders";
  private static final Duration HOUR = Duration.ofHours(1);

  private final ManualAlarm alarm = new ManualAlarm();
  private final List<PassEvent> events = new ArrayList<>();
  private final Coordinator coordinator = new Coordinator(alarm, Runnable::run);
  private final FakeStore store = new FakeStore();

  /** Drains when the test says so, and has left what the test says. */
  private final class FakeStore implements Drainable {

    final List<CompletableFuture<Report>> drains = new ArrayList<>();
    final List<Consumer<? super Event>> listeners = new ArrayList<>();
    List<PendingRow> rows = List.of();
    boolean drainsAtOnce = true;
    boolean checkpointFailed;
    RuntimeException failure;
    RuntimeException inspectionFailure;

    @Override
    public CompletableFuture<Report> drainAll() {
      alarm.log.add("drain");
      if (failure != null) {
        return CompletableFuture.failedFuture(failure);
      }
      final CompletableFuture<Report> drain = new CompletableFuture<>();
      drains.add(drain);
      if (drainsAtOnce) {
        drain.complete(report());
      }
      return drain;
    }

    Report report() {
      return new Report(List.of(), new Report.Checkpoint(0, 0, checkpointFailed));
    }

    @Override
    public List<PendingRow> pendingWrites() {
      if (inspectionFailure != null) {
        throw inspectionFailure;
      }
      return rows;
    }

    @Override
    public Subscription events(Consumer<? super Event> listener) {
      alarm.log.add("listen");
      listeners.add(listener);
      return new Subscription() {
        @Override
        public long dropped() {
          return 0;
        }

        @Override
        public void close() {
          listeners.remove(listener);
        }
      };
    }

    void enqueued() {
      final Event event = new Event(1, 1, new Identity("n", "a"), new Event.Enqueued("set"));
      List.copyOf(listeners).forEach(listener -> listener.accept(event));
    }
  }

  CoordinatorTest() {
    coordinator.events(events::add);
  }

  private void register() {
    register(DrainPolicy.DEFAULT);
  }

  private void register(DrainPolicy policy) {
    coordinator.add(NAME, store, Constraints.DEFAULT, policy);
  }

  private static PendingRow row(String id, long sequence, PendingState state, int attempt) {
    return new PendingRow(new Identity("n", id), sequence, "set", state, attempt, 7, null);
  }

  private PassOutcome.Remaining remaining(PendingRow... rows) {
    store.rows = List.of(rows);
    return assertInstanceOf(PassOutcome.Remaining.class, coordinator.pass(NAME).join());
  }

  // 1: names and registrations.

  @Test
  void shouldRefuseNamesThatAreNoneOrTakenAndStoresThatAreRegistered() {
    register();
    final FakeStore other = new FakeStore();
    for (String name : List.of("", "a b", "ä", "x".repeat(65), NAME)) {
      assertThrows(
          IllegalArgumentException.class,
          () -> coordinator.add(name, other, Constraints.DEFAULT, DrainPolicy.DEFAULT),
          name);
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> coordinator.add("again", store, Constraints.DEFAULT, DrainPolicy.DEFAULT));
    coordinator.add("x".repeat(64), other, Constraints.DEFAULT, DrainPolicy.DEFAULT);
    assertThrows(IllegalArgumentException.class, () -> coordinator.pass("unknown"));
  }

  // 2: the alarm.

  @Test
  void shouldAttachTheAlarmOnceAndHaveItJudgeConstraints() {
    assertThrows(IllegalStateException.class, () -> new Coordinator(alarm, Runnable::run));
    assertThrows(
        IllegalArgumentException.class,
        () -> coordinator.add(NAME, store, new Constraints(true, true), DrainPolicy.DEFAULT));
    register(); // The name was not taken by what was refused.
  }

  @Test
  void shouldMakeAPassForEachTimeTheAlarmFiresThoughOnceWouldDo() {
    register();
    alarm.fire(NAME);
    alarm.fire(NAME);
    alarm.fire("unknown");
    assertEquals(2, store.drains.size());
  }

  @Test
  void shouldHaveATimerThatFiresOnceAndForgetsWhatIsCancelled() throws Exception {
    final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);
    executor.setRemoveOnCancelPolicy(true);
    try {
      final BlockingQueue<String> fired = new LinkedBlockingQueue<>();
      final DrainScheduler timer = new TimerDrainScheduler(executor);
      timer.attach(fired::add);
      assertThrows(IllegalStateException.class, () -> timer.attach(fired::add));
      assertThrows(
          IllegalArgumentException.class, () -> timer.validate(new Constraints(false, true)));
      timer.validate(Constraints.DEFAULT);

      timer.schedule("later", Constraints.DEFAULT, HOUR);
      timer.schedule("never", Constraints.DEFAULT, HOUR);
      timer.schedule("never", Constraints.DEFAULT, HOUR);
      assertEquals(2, executor.getQueue().size());
      timer.cancel("never");
      timer.cancel("unknown");
      assertEquals(1, executor.getQueue().size());
      timer.schedule("later", Constraints.DEFAULT, Duration.ZERO);
      assertEquals("later", fired.take());
      assertEquals(0, executor.getQueue().size());
    } finally {
      executor.shutdownNow();
    }
  }

  // 3 and 13: the policy.

  @Test
  void shouldDoubleItsDelaysUpToAnHourNeverBelowTheBackoffOfTheJournal() {
    final DrainPolicy policy = DrainPolicy.DEFAULT;
    assertEquals(Duration.ZERO, policy.delay(0));
    assertEquals(Duration.ofSeconds(30), policy.delay(1));
    assertEquals(Duration.ofSeconds(60), policy.delay(2));
    assertEquals(Duration.ofSeconds(1920), policy.delay(7));
    assertEquals(HOUR, policy.delay(8));
    for (int count = 1; count < 100; count++) {
      final long window = Math.min(300_000, 1000L << Math.min(count - 1, 20));
      assertTrue(policy.delay(count).toMillis() >= window, "after " + count);
    }
    final Duration same = Duration.ofSeconds(5);
    assertEquals(same, new DrainPolicy(same, 1, HOUR, true).delay(50));
    assertThrows(IllegalArgumentException.class, () -> new DrainPolicy(same, 0.5, HOUR, true));
    assertEquals(new Constraints(true, false), Constraints.DEFAULT);
  }

  // 4: the steps of a pass.

  @Test
  void shouldSetASafetyAlarmThenDrainThenReplaceIt() {
    register();
    remaining(row("a", 1, PendingState.PENDING, 1));
    assertEquals(List.of("schedule 3600000", "drain", "schedule 30000"), alarm.log);

    alarm.log.clear();
    store.rows = List.of();
    assertEquals(new PassOutcome.Cleared(), coordinator.pass(NAME).join());
    assertEquals(List.of("schedule 3600000", "drain", "cancel"), alarm.log);
    assertEquals(Map.of(), alarm.set);
  }

  @Test
  void shouldMakeOnePassAtATime() {
    register();
    store.drainsAtOnce = false;
    final CompletableFuture<PassOutcome> first = coordinator.pass(NAME);
    final CompletableFuture<PassOutcome> second = coordinator.pass(NAME);
    assertSame(second, coordinator.pass(NAME)); // It begins later than this was asked for.
    assertEquals(1, store.drains.size());

    store.drains.get(0).complete(store.report());
    assertTrue(first.isDone());
    assertFalse(second.isDone());
    assertEquals(2, store.drains.size());
    store.drains.get(1).complete(store.report());
    assertTrue(second.isDone());
  }

  // 5: what a drain throws.

  @Test
  void shouldTellOfADrainThatThrewAndDecideByWhatIsLeft() {
    register();
    store.failure = new IllegalStateException("down");
    final PassOutcome.Remaining left = remaining(row("a", 1, PendingState.PENDING, 2));
    assertEquals(Duration.ofSeconds(60), left.delay());
    assertSame(store.failure, assertInstanceOf(PassEvent.PassFailed.class, events.get(0)).error());
  }

  @Test
  void shouldLeaveTheSafetyAlarmWhenItIsCancelled() {
    register();
    store.drainsAtOnce = false;
    final CompletableFuture<PassOutcome> pass = coordinator.pass(NAME);

    pass.cancel(true);

    assertTrue(store.drains.get(0).isCancelled());
    assertThrows(CancellationException.class, pass::join);
    assertEquals(Map.of(NAME, HOUR), alarm.set);
    assertEquals(List.of("schedule 3600000", "drain"), alarm.log);
  }

  @Test
  void shouldPropagateTheCancellationOfADrain() {
    register();
    store.failure = new CancellationException("interrupted");
    final CompletableFuture<PassOutcome> pass = coordinator.pass(NAME);
    assertThrows(CancellationException.class, pass::join);
    assertEquals(Map.of(NAME, HOUR), alarm.set);
  }

  // 6: outcomes.

  @Test
  void shouldSayThatAStoreCannotBeLookedAt() {
    register();
    store.inspectionFailure = new StoreClosedException("closed");
    final PassOutcome outcome = coordinator.pass(NAME).join();
    assertEquals(NAME, assertInstanceOf(PassOutcome.Unavailable.class, outcome).name());
    assertEquals(Map.of(NAME, HOUR), alarm.set);
  }

  // 7: the delay of what is left.

  @Test
  void shouldTakeTheShortestDelayOfTheFirstRowOfEachIdentity() {
    register();
    final PassOutcome.Remaining left =
        remaining(
            row("a", 1, PendingState.PENDING, 3),
            row("b", 2, PendingState.REFRESHING, 2),
            row("a", 3, PendingState.PENDING, 0));
    assertEquals(new PassOutcome.Remaining(3, Duration.ofSeconds(60)), left);
  }

  @Test
  void shouldNotWaitForRowsThatNothingHoldsBack() {
    for (PendingState state : PendingState.values()) {
      final int attempt = state == PendingState.PENDING || state == PendingState.REFRESHING ? 0 : 9;
      coordinator.unregister(NAME);
      register();
      assertEquals(Duration.ZERO, remaining(row("a", 1, state, attempt)).delay(), state.name());
    }
  }

  // 8: escalation.

  @Test
  void shouldWaitLongerWhilePassesChangeNothing() {
    register();
    final PendingRow row = row("a", 1, PendingState.INFLIGHT, 0);
    assertEquals(Duration.ZERO, remaining(row).delay());
    assertEquals(Duration.ofSeconds(30), remaining(row).delay());
    assertEquals(Duration.ofSeconds(60), remaining(row).delay());
    assertEquals(Duration.ZERO, remaining(row("a", 1, PendingState.ADOPTING, 0)).delay());
    assertEquals(Duration.ofSeconds(30), remaining(row("a", 1, PendingState.ADOPTING, 0)).delay());
  }

  // 9: the checkpoint and dead letters.

  @Test
  void shouldWaitAtLeastHalfAMinuteForACheckpointAlone() {
    register(new DrainPolicy(Duration.ofSeconds(10), 10, HOUR, true));
    store.checkpointFailed = true;
    assertEquals(new PassOutcome.Remaining(0, Duration.ofSeconds(30)), remaining());
    assertEquals(new PassOutcome.Remaining(0, Duration.ofSeconds(30)), remaining());
    assertEquals(new PassOutcome.Remaining(0, Duration.ofSeconds(100)), remaining());
  }

  @Test
  void shouldBeClearedThoughThereAreDeadLetters() {
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            return new PushOutcome.Rejected<>("no");
          }
        };
    try (MutationStore<Identity, String> real = side.store().executor(Runnable::run).open()) {
      coordinator.register("real", real);
      real.mutate(new Identity("n", "a"), side.set, "v");
      assertEquals(new PassOutcome.Cleared(), coordinator.pass("real").join());
      assertEquals(1, real.deadLetters().size());
    }
  }

  // 10: watching.

  @Test
  void shouldListenBeforeItsFirstPassAndMakeOneMoreForMutationsThatComeMeanwhile() {
    register();
    store.drainsAtOnce = false;
    final CompletableFuture<PassOutcome> first = coordinator.watch(NAME);
    assertEquals(List.of("listen", "schedule 3600000", "drain"), alarm.log);

    store.enqueued();
    store.enqueued();
    store.enqueued();
    assertEquals(1, store.drains.size());
    store.drains.get(0).complete(store.report());

    assertTrue(first.isDone());
    assertEquals(2, store.drains.size());
    store.drains.get(1).complete(store.report());
    assertEquals(2, store.drains.size());
    // The one for mutations has set no safety alarm.
    assertEquals(
        List.of("listen", "schedule 3600000", "drain", "cancel", "drain", "cancel"), alarm.log);
  }

  @Test
  void shouldSetTheAlarmInsteadWhenItMayNotDrainOnEnqueue() {
    register(new DrainPolicy(Duration.ofSeconds(30), 2, HOUR, false));
    coordinator.watch(NAME).join();
    alarm.log.clear();

    store.enqueued();

    assertEquals(List.of("schedule 0"), alarm.log);
    assertEquals(1, store.drains.size());
  }

  // 11: reconcile and unregister.

  @Test
  void shouldReconcileAllStoresThatAreNotBusy() {
    register();
    final FakeStore busy = new FakeStore();
    busy.drainsAtOnce = false;
    coordinator.add("busy", busy, Constraints.DEFAULT, DrainPolicy.DEFAULT);
    coordinator.pass("busy");

    assertEquals(List.of(new PassOutcome.Cleared()), coordinator.reconcile().join());

    assertEquals(1, busy.drains.size());
    assertEquals(1, store.drains.size());
  }

  @Test
  void shouldSetNoAlarmForAStoreThatWasUnregisteredMeanwhile() {
    register();
    coordinator.watch(NAME).join();
    store.drainsAtOnce = false;
    store.rows = List.of(row("a", 1, PendingState.PENDING, 1));
    final CompletableFuture<PassOutcome> pass = coordinator.pass(NAME);
    coordinator.unregister(NAME);
    final FakeStore next = new FakeStore();
    coordinator.add(NAME, next, Constraints.DEFAULT, DrainPolicy.DEFAULT);
    alarm.log.clear();

    store.drains.get(1).complete(store.report());

    assertEquals(new PassOutcome.Remaining(1, null), pass.join());
    assertEquals(List.of(), alarm.log);
    assertEquals(List.of(), store.listeners);
  }

  // 12: an alarm that fails.

  @Test
  void shouldGoOnWithoutTheSafetyAlarm() {
    register();
    alarm.failing = 1;
    assertEquals(Duration.ofSeconds(30), remaining(row("a", 1, PendingState.PENDING, 1)).delay());
    assertInstanceOf(PassEvent.ScheduleFailed.class, events.get(0));
  }

  @Test
  void shouldSayThatTheFollowUpCouldNotBeSet() {
    register();
    alarm.soundBefore = 1;
    alarm.failing = 1;
    assertNull(remaining(row("a", 1, PendingState.PENDING, 1)).delay());
    assertInstanceOf(PassEvent.ScheduleFailed.class, events.get(0));
  }

  // 14: events.

  @Test
  void shouldDropTheOldestEventsAndReplayNone() {
    final Queue<Runnable> later = new ArrayDeque<>();
    final Coordinator slow = new Coordinator(new ManualAlarm(), later::add);
    slow.add(NAME, store, Constraints.DEFAULT, DrainPolicy.DEFAULT);
    slow.pass(NAME).join();
    final List<PassEvent> heard = new ArrayList<>();
    final Subscription listening = slow.events(heard::add);
    for (int i = 0; i < 70; i++) {
      slow.pass(NAME).join();
    }
    later.forEach(Runnable::run);
    assertEquals(64, heard.size());
    assertEquals(6, listening.dropped());
  }

  // 15: callbacks may ask for a pass, as long as they do not wait for it.

  @Test
  void shouldTakeARequestOfACallbackThatDoesNotWait() {
    final List<CompletableFuture<PassOutcome>> asked = new ArrayList<>();
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            asked.add(coordinator.pass("real"));
            assertFalse(asked.get(0).isDone());
            return new PushOutcome.Accepted<>(push.mine());
          }
        };
    try (MutationStore<Identity, String> real = side.store().executor(Runnable::run).open()) {
      coordinator.register("real", real);
      real.mutate(new Identity("n", "a"), side.set, "v");
      coordinator.pass("real").join();
      assertEquals(new PassOutcome.Cleared(), asked.get(0).join());
    }
  }
}
