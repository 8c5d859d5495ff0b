package dev.parsley.mutations.internal;

import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Meta;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * What crosses to the native side and back: one format for all messages, both ways.
 *
 * <pre>
 * message   := byte FORMAT | fields, each as its type says, to the end
 * flag      := byte 0 or 1
 * int, long := big-endian, 4 and 8 bytes
 * bytes     := int length | that many bytes          bytes? and text? := int -1 for none
 * text      := bytes that are UTF-8
 * identity  := text namespace | text id
 * presence  := bytes?                                none is "absent"
 * meta?     := flag, and if set: flag [long writtenAt] | text? etag
 * list      := int count | that many elements
 * </pre>
 *
 * <p>{@code native/jni/src/wire.rs} is the other side.
 */
final class Wire {

  /** The version of everything in this format. */
  static final byte FORMAT = 1;

  private static final int NONE = -1;
  private static final int INITIAL_BYTES = 64;

  private Wire() {}

  /** Writes a message. For one thread. */
  static final class Writer {

    private byte[] bytes = new byte[INITIAL_BYTES];
    private int size;

    Writer() {
      flag(FORMAT);
    }

    /** A message that begins with its kind. */
    static Writer of(int kind) {
      return new Writer().kind(kind);
    }

    byte[] message() {
      return Arrays.copyOf(bytes, size);
    }

    Writer kind(int kind) {
      return flag((byte) kind);
    }

    Writer flag(boolean flag) {
      return flag((byte) (flag ? 1 : 0));
    }

    private Writer flag(byte value) {
      room(Byte.BYTES).put(value);
      return this;
    }

    Writer integer(int value) {
      room(Integer.BYTES).putInt(value);
      return this;
    }

    Writer number(long value) {
      room(Long.BYTES).putLong(value);
      return this;
    }

    Writer bytes(byte[] value) {
      integer(value.length);
      room(value.length).put(value);
      return this;
    }

    /**
     * A text that must come back as it is.
     *
     * @throws IllegalArgumentException when it has half a surrogate pair, which no UTF-8 has
     */
    Writer text(String value) {
      try {
        final ByteBuffer encoded =
            StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(value));
        integer(encoded.remaining());
        room(encoded.remaining()).put(encoded);
        return this;
      } catch (CharacterCodingException e) {
        throw new IllegalArgumentException("not a valid text: it has half a surrogate pair", e);
      }
    }

    /** A text for people, of which half a surrogate pair is replaced. */
    Writer words(String value) {
      return bytes(value.getBytes(StandardCharsets.UTF_8));
    }

    Writer textOrNone(String value) {
      return value == null ? integer(NONE) : text(value);
    }

    Writer identity(Identity value) {
      return text(value.namespace()).text(value.canonicalId());
    }

    Writer identityOrNone(Identity value) {
      flag(value != null);
      return value == null ? this : identity(value);
    }

    Writer presence(byte[] value) {
      return value == null ? integer(NONE) : bytes(value);
    }

    Writer meta(Meta value) {
      flag(value != null);
      if (value == null) {
        return this;
      }
      flag(value.writtenAt() != null);
      if (value.writtenAt() != null) {
        number(value.writtenAt());
      }
      return textOrNone(value.etag());
    }

    <T> Writer list(List<T> values, BiConsumer<Writer, T> element) {
      integer(values.size());
      values.forEach(value -> element.accept(this, value));
      return this;
    }

    private ByteBuffer room(int count) {
      final int needed = Math.addExact(size, count);
      if (needed > bytes.length) {
        bytes = Arrays.copyOf(bytes, Math.max(needed, (int) Math.min(bytes.length * 2L, 1 << 30)));
      }
      final ByteBuffer at = ByteBuffer.wrap(bytes, size, count);
      size = needed;
      return at;
    }
  }

  /** Reads a message of the native side, which is believed. For one thread. */
  static final class Reader {

    private final ByteBuffer in;

    Reader(byte[] message) {
      this(ByteBuffer.wrap(message));
      final byte format = in.get();
      if (format != FORMAT) {
        throw new IllegalStateException(
            "the native library speaks format " + format + ", this jar " + FORMAT);
      }
    }

    private Reader(ByteBuffer in) {
      this.in = in;
    }

    boolean hasMore() {
      return in.hasRemaining();
    }

    int kind() {
      return in.get();
    }

    boolean flag() {
      return in.get() != 0;
    }

    int integer() {
      return in.getInt();
    }

    long number() {
      return in.getLong();
    }

    Long numberOrNone() {
      return flag() ? number() : null;
    }

    byte[] bytes() {
      return bytes(in.getInt());
    }

    private byte[] bytes(int length) {
      final byte[] bytes = new byte[length];
      in.get(bytes);
      return bytes;
    }

    String text() {
      return textOrNone();
    }

    String textOrNone() {
      final int length = in.getInt();
      if (length == NONE) {
        return null;
      }
      final String text =
          new String(in.array(), in.arrayOffset() + in.position(), length, StandardCharsets.UTF_8);
      in.position(in.position() + length);
      return text;
    }

    <E extends Enum<E>> E name(Class<E> type) {
      return Enum.valueOf(type, text());
    }

    Identity identity() {
      return new Identity(text(), text());
    }

    Identity identityOrNone() {
      return flag() ? identity() : null;
    }

    byte[] presence() {
      final int length = in.getInt();
      return length == NONE ? null : bytes(length);
    }

    Meta meta() {
      return flag() ? new Meta(numberOrNone(), textOrNone()) : null;
    }

    <T> List<T> list(Function<Reader, T> element) {
      final int count = in.getInt();
      final List<T> list = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        list.add(element.apply(this));
      }
      return list;
    }

    /** The bytes that come with their length before them, to be read later. */
    Reader framed() {
      final int length = in.getInt();
      final Reader inner = new Reader(in.slice(in.position(), length));
      in.position(in.position() + length);
      return inner;
    }
  }
}
