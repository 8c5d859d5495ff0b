package dev.parsley.mutations;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * An alarm on a timer of this process. It does not look for a network: a push without one fails and
 * waits. The timer is the caller's to shut down.
 */
public final class TimerDrainScheduler implements DrainScheduler {

  private final ScheduledExecutorService timer;
  private final Map<String, Future<?>> scheduled = new HashMap<>();
  private Consumer<String> fire;

  /** An alarm on this timer, whose threads start passes and do not wait for them. */
  public TimerDrainScheduler(ScheduledExecutorService timer) {
    this.timer = timer;
  }

  @Override
  public synchronized void attach(Consumer<String> target) {
    if (fire != null) {
      throw new IllegalStateException("this alarm has a coordinator already");
    }
    fire = target;
  }

  @Override
  public void validate(Constraints constraints) {
    if (constraints.requiresCharging()) {
      throw new IllegalArgumentException("a timer can't tell whether the device is charging");
    }
  }

  @Override
  public synchronized void schedule(String name, Constraints constraints, Duration earliestDelay) {
    cancel(name);
    scheduled.put(
        name,
        timer.schedule(() -> fire.accept(name), earliestDelay.toMillis(), TimeUnit.MILLISECONDS));
  }

  @Override
  public synchronized void cancel(String name) {
    final Future<?> before = scheduled.remove(name);
    if (before != null) {
      before.cancel(false);
    }
  }
}
