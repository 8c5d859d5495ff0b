package dev.parsley.mutations;

/**
 * When a scheduled drain may run.
 *
 * @param requiresNetwork only with a network
 * @param requiresCharging only while the device is charging
 */
public record Constraints(boolean requiresNetwork, boolean requiresCharging) {

  /** With a network, charging or not. */
  public static final Constraints DEFAULT = new Constraints(true, false);
}
