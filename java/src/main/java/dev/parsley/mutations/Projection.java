package dev.parsley.mutations;

import java.util.Objects;

/** What a mutator wants. */
public sealed interface Projection<V> {

  /**
   * This value.
   *
   * @param value not null
   */
  record Value<V>(V value) implements Projection<V> {

    /** A value that is there. */
    public Value {
      Objects.requireNonNull(value, "a projection without a value is Absent or Decline");
    }
  }

  /** No value: the mutation deletes. */
  record Absent<V>() implements Projection<V> {}

  /**
   * Nothing, as long as the base is what it is: the mutation waits, and so does what comes behind
   * it at the same key.
   */
  record Decline<V>() implements Projection<V> {}
}
