package dev.parsley.streams.internal;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Rows as they pass between Java and the native side, one after the other: int32 key length, key,
 * int32 value length or -1 for null, value. All integers are big-endian.
 */
final class PackedRows {

  private static final int LENGTHS_BYTES = 2 * Integer.BYTES;
  private static final int NULL_LENGTH = -1;

  private PackedRows() {}

  /** Takes one row; a null value deletes the key. */
  @FunctionalInterface
  interface RowVisitor {
    void row(byte[] key, byte[] value);
  }

  /**
   * Hands each row to the visitor.
   *
   * @throws IllegalArgumentException when the bytes are no packed rows; rows before the fault were
   *     visited by then
   */
  static void forEach(byte[] packed, RowVisitor visitor) {
    final ByteBuffer in = ByteBuffer.wrap(packed);
    while (in.hasRemaining()) {
      final byte[] key = bytes(in, length(in, "key"), "key");
      final int valueLength = length(in, "value");
      visitor.row(key, valueLength == NULL_LENGTH ? null : bytes(in, valueLength, "value"));
    }
  }

  private static int length(ByteBuffer in, String what) {
    if (in.remaining() < Integer.BYTES) {
      throw malformed(in, "is cut short before the length of a " + what);
    }
    return in.getInt();
  }

  private static byte[] bytes(ByteBuffer in, int length, String what) {
    if (length < 0 || length > in.remaining()) {
      throw malformed(in, "has no " + length + " bytes of a " + what);
    }
    final byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static IllegalArgumentException malformed(ByteBuffer in, String what) {
    return new IllegalArgumentException(
        "a chunk of " + in.limit() + " bytes " + what + " at byte " + in.position());
  }

  /** Collects rows. Not for use by several threads. */
  static final class Writer {

    private ByteBuffer out;

    Writer(int bytesExpected) {
      this.out = ByteBuffer.allocate(bytesExpected);
    }

    Writer row(byte[] key, byte[] value) {
      final int valueLength = value == null ? 0 : value.length;
      reserve(Math.addExact(LENGTHS_BYTES, Math.addExact(key.length, valueLength)));
      out.putInt(key.length).put(key);
      if (value == null) {
        out.putInt(NULL_LENGTH);
      } else {
        out.putInt(valueLength).put(value);
      }
      return this;
    }

    int size() {
      return out.position();
    }

    /** The rows so far; the writer is empty after it. */
    byte[] take() {
      final byte[] packed = Arrays.copyOf(out.array(), out.position());
      out.clear();
      return packed;
    }

    private void reserve(int bytes) {
      if (out.remaining() < bytes) {
        final int needed = Math.addExact(out.position(), bytes);
        final int doubled = (int) Math.min(Integer.MAX_VALUE - 8L, 2L * out.capacity());
        final ByteBuffer larger = ByteBuffer.allocate(Math.max(needed, doubled));
        larger.put(out.flip());
        out = larger;
      }
    }
  }
}
