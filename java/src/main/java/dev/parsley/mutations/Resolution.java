package dev.parsley.mutations;

/** What a resolver answers. */
public sealed interface Resolution<K> {

  /**
   * The key.
   *
   * @param key its identity must be the one that was asked for
   */
  record Found<K>(K key) implements Resolution<K> {}

  /** There is no such key: its mutations become dead letters. */
  record Unknown<K>() implements Resolution<K> {}

  /** It cannot be told now: its mutations wait for the next drain. */
  record Unavailable<K>() implements Resolution<K> {}
}
