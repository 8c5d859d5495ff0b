package dev.parsley.mutations;

/**
 * Makes bytes of values and values of bytes, for as long as a journal holds them. May be called
 * from several threads at once.
 */
public interface Codec<T> {

  /** The version that {@link #encode} writes, at least 1. Read once, when the store is opened. */
  default int version() {
    return 1;
  }

  /** The bytes of a value in the current version. The array is not touched afterwards. */
  byte[] encode(T value) throws Exception;

  /** The value of bytes in any version that a journal may still hold. */
  T decode(int version, byte[] bytes) throws Exception;
}
