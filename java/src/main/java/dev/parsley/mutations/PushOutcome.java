package dev.parsley.mutations;

import java.util.Objects;

/** The server's answer to a push. */
public sealed interface PushOutcome<V> {

  /**
   * It has it.
   *
   * @param value what the server has now; null if it has nothing
   * @param etag the version that the server gave it; null for none
   * @param target the identity that the server has it under, if it is another: the pushed one
   *     becomes its alias. Null for none, and dropped beside an absent value
   */
  record Accepted<V>(V value, String etag, Identity target) implements PushOutcome<V> {

    /** An answer that names neither version nor target. */
    public Accepted(V value) {
      this(value, null, null);
    }
  }

  /**
   * Its base is another than the push names.
   *
   * @param server what it tells of its own; null for nothing
   */
  record Conflict<V>(Meta server) implements PushOutcome<V> {}

  /**
   * It will never take it: the mutation becomes a dead letter.
   *
   * @param reason why
   */
  record Rejected<V>(String reason) implements PushOutcome<V> {

    /** A rejection with a reason. */
    public Rejected {
      Objects.requireNonNull(reason, "reason");
    }
  }
}
