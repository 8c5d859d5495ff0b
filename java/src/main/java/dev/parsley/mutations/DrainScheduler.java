package dev.parsley.mutations;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * An alarm, and nothing else: it decides nothing and keeps no state of the journal. Called by a
 * {@link Coordinator}, from several threads.
 */
public interface DrainScheduler {

  /**
   * Called once, before anything else.
   *
   * @param fire is to be called with a name when its time has come: at least once, on any thread,
   *     with no lock held that the methods below take
   */
  void attach(Consumer<String> fire);

  /**
   * Called when a store is registered.
   *
   * @throws IllegalArgumentException when it can't observe these constraints
   */
  void validate(Constraints constraints);

  /**
   * Fires a name once the constraints hold and the delay is over, instead of what it had for it.
   */
  void schedule(String name, Constraints constraints, Duration earliestDelay);

  /** Forgets a name. */
  void cancel(String name);
}
