package dev.parsley.mutations;

/** How a conflict ends. */
public sealed interface Merge<V> {

  /**
   * Push this instead, on the fresh base.
   *
   * @param value null deletes
   */
  record Retry<V>(V value) implements Merge<V> {}

  /** The server's value stands, and the mutation is done. */
  record ServerWins<V>() implements Merge<V> {}
}
