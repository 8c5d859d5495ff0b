package dev.parsley.mutations;

import java.time.Duration;

/** How a pass over a registered store ended. */
public sealed interface PassOutcome {

  /** No mutation is pending, and no checkpoint has failed. Dead letters do not count. */
  record Cleared() implements PassOutcome {}

  /**
   * Something is left.
   *
   * @param pending mutations
   * @param delay until the alarm; null if it could not be set
   */
  record Remaining(int pending, Duration delay) implements PassOutcome {}

  /**
   * The store could not be looked at.
   *
   * @param name the store
   * @param reason why
   */
  record Unavailable(String name, String reason) implements PassOutcome {}
}
