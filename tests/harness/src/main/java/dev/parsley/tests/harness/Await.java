package dev.parsley.tests.harness;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Waits until something is so. The one place where tests let time pass. */
public final class Await {

  /** Long enough for a rebalance on a busy machine, short enough to see that a test hangs. */
  public static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final long PAUSE_NANOS = Duration.ofMillis(20).toNanos();

  private Await() {}

  /** Waits with {@link #PATIENCE}. */
  public static void until(Callable<Boolean> condition, String description) {
    until(condition, PATIENCE, () -> description);
  }

  public static void until(Callable<Boolean> condition, Duration timeout, String description) {
    until(condition, timeout, () -> description);
  }

  /**
   * Returns as soon as the condition holds.
   *
   * @param description what is waited for and, where it helps, what is there instead; asked for
   *     only when the time is up
   * @throws AssertionError when the time is up, or when the condition throws a checked exception;
   *     what else it throws goes through
   */
  public static void until(
      Callable<Boolean> condition, Duration timeout, Supplier<String> description) {
    final long deadline = System.nanoTime() + timeout.toNanos();
    while (!holds(condition)) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("not within " + timeout.toMillis() + " ms: " + description.get());
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      if (Thread.interrupted()) {
        throw new AssertionError("interrupted while waiting: " + description.get());
      }
    }
  }

  private static boolean holds(Callable<Boolean> condition) {
    try {
      return condition.call();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError("the condition itself failed", e);
    }
  }
}
