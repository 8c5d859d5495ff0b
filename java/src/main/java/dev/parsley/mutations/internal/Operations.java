package dev.parsley.mutations.internal;

import dev.parsley.mutations.Identity;

/** What a store can ask its journal to do. */
public final class Operations {

  private Operations() {}

  /** Accepts an intent. */
  public static byte[] mutate(Identity key, String mutator, int version, byte[] arguments) {
    return Wire.Writer.of(1)
        .identity(key)
        .text(mutator)
        .integer(version)
        .bytes(arguments)
        .message();
  }

  /** Drains one key. */
  public static byte[] drain(Identity key) {
    return Wire.Writer.of(2).identity(key).message();
  }

  /** Drains everything that is due. */
  public static byte[] drainAll() {
    return Wire.Writer.of(3).message();
  }

  /** Repeats a dead letter as a new intent. */
  public static byte[] retry(long sequence) {
    return Wire.Writer.of(4).number(sequence).message();
  }

  /** Dismisses a row by hand. */
  public static byte[] discard(long sequence, String note) {
    return Wire.Writer.of(5).number(sequence).text(note).message();
  }
}
