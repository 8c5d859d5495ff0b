package dev.parsley.mutations;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** An alarm that goes off when a test says so, and notes what it was asked. */
final class ManualAlarm implements DrainScheduler {

  final List<String> log = new ArrayList<>();
  final Map<String, Duration> set = new HashMap<>();

  /** How many of the next calls of schedule fail, after as many that do not. */
  int failing;

  int soundBefore;
  private Consumer<String> fire;

  void fire(String name) {
    fire.accept(name);
  }

  @Override
  public synchronized void attach(Consumer<String> target) {
    if (fire != null) {
      throw new IllegalStateException("attached already");
    }
    fire = target;
  }

  @Override
  public void validate(Constraints constraints) {
    if (constraints.requiresCharging()) {
      throw new IllegalArgumentException("there is no battery");
    }
  }

  @Override
  public synchronized void schedule(String name, Constraints constraints, Duration delay) {
    log.add("schedule " + delay.toMillis());
    if (soundBefore-- <= 0 && failing-- > 0) {
      throw new IllegalStateException("no alarm today");
    }
    set.put(name, delay);
  }

  @Override
  public synchronized void cancel(String name) {
    log.add("cancel");
    set.remove(name);
  }
}
