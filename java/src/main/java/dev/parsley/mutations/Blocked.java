package dev.parsley.mutations;

/** What keeps an identity from going on. */
public sealed interface Blocked {

  /**
   * Another identity owns the lane.
   *
   * @param sequence the mutation that owns it
   */
  record Owner(long sequence) implements Blocked {}

  /** Another operation is at work in the lane. */
  record Busy() implements Blocked {}

  /**
   * The head waits for its next try.
   *
   * @param sequence the head
   * @param eligibleAt when it may be tried, in milliseconds of the Unix epoch
   */
  record Backoff(long sequence, long eligibleAt) implements Blocked {}

  /**
   * The head's mutator has nothing to do on the base, for now.
   *
   * @param sequence the head
   */
  record Declined(long sequence) implements Blocked {}

  /**
   * The resolver cannot tell a key now.
   *
   * @param identity whose key
   */
  record Unavailable(Identity identity) implements Blocked {}

  /**
   * The resolver gave no key, and there was nothing to park for it.
   *
   * @param identity whose key
   * @param message why
   */
  record Unresolved(Identity identity, String message) implements Blocked {}

  /**
   * A callback or the storage failed.
   *
   * @param sequence the head; 0 if none was chosen
   * @param kind what kind of thing failed
   * @param message the text for people
   */
  record Failed(long sequence, FailureKind kind, String message) implements Blocked {}

  /**
   * The push met a conflict: the next drain settles it.
   *
   * @param sequence the head
   */
  record Conflict(long sequence) implements Blocked {}
}
