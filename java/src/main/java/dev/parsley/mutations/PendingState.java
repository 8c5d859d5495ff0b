package dev.parsley.mutations;

/** Where a pending mutation stands. */
public enum PendingState {
  /** Not on its way: waiting for its turn, or for the next try. */
  PENDING,
  /** The server may have it. */
  INFLIGHT,
  /** A conflict waits for a fresh base. */
  REFRESHING,
  /** The server's answer waits to be adopted. */
  ADOPTING,
  /** Adopted; effects on other keys are left. */
  APPLYING_EFFECTS
}
