package dev.parsley.mutations;

import java.time.Duration;

/**
 * When a store is drained again.
 *
 * @param firstDelay the wait after one failed push, above zero
 * @param multiplier each further one waits this many times longer; at least 1, which is always the
 *     same
 * @param maxDelay no wait is longer; also how far away the alarm is set while a pass runs
 * @param drainOnEnqueue whether a watched store is drained as soon as a mutation is accepted, or
 *     scheduled without delay
 */
public record DrainPolicy(
    Duration firstDelay, double multiplier, Duration maxDelay, boolean drainOnEnqueue) {

  /**
   * 30 seconds, doubled up to an hour, drained on enqueue. No wait is shorter than the journal's
   * own backoff after as many tries can be.
   */
  public static final DrainPolicy DEFAULT =
      new DrainPolicy(Duration.ofSeconds(30), 2, Duration.ofHours(1), true);

  /** Checks what is given. */
  public DrainPolicy {
    if (firstDelay.isNegative() || firstDelay.isZero() || maxDelay.compareTo(firstDelay) < 0) {
      throw new IllegalArgumentException(
          "delays must be above zero and grow: " + firstDelay + " up to " + maxDelay);
    }
    if (!(multiplier >= 1)) {
      throw new IllegalArgumentException("a multiplier below 1 would hurry: " + multiplier);
    }
  }

  /** The wait after {@code count} tries that came to nothing; none after none. */
  public Duration delay(int count) {
    if (count <= 0) {
      return Duration.ZERO;
    }
    final double millis = firstDelay.toMillis() * Math.pow(multiplier, count - 1.0);
    return millis < maxDelay.toMillis() ? Duration.ofMillis((long) millis) : maxDelay;
  }
}
