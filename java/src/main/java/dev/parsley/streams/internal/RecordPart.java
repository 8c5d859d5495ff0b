package dev.parsley.streams.internal;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * The part of a held message that is the record itself, exactly as it was received. It is what goes
 * in to the native side once when a record is held and comes out once when it is released.
 *
 * <pre>
 * int64 timestamp | flags: bit 0 key is null, bit 1 value is null
 * [int32 length, key] | [int32 length, value]              left out when null
 * int32 headerCount | per header: int32 length, UTF-8 name, int32 length or -1 for null, value
 * </pre>
 *
 * All integers are big-endian.
 *
 * @param key null and empty are two things
 * @param value null and empty are two things
 * @param headers all of them in order, reserved ones included
 */
record RecordPart(long timestamp, byte[] key, byte[] value, Header[] headers) {

  private static final int KEY_IS_NULL = 1;
  private static final int VALUE_IS_NULL = 2;
  private static final int NULL_LENGTH = -1;

  /** What one header takes at least: two lengths, an empty name and no value. */
  private static final int HEADER_BYTES_MIN = 2 * Integer.BYTES;

  byte[] encode() {
    final byte[][] names = new byte[headers.length][];
    int size = Long.BYTES + Byte.BYTES + Integer.BYTES;
    size = Math.addExact(size, key == null ? 0 : Math.addExact(Integer.BYTES, key.length));
    size = Math.addExact(size, value == null ? 0 : Math.addExact(Integer.BYTES, value.length));
    for (int i = 0; i < headers.length; i++) {
      names[i] = headers[i].key().getBytes(StandardCharsets.UTF_8);
      final byte[] content = headers[i].value();
      size = Math.addExact(size, Math.addExact(HEADER_BYTES_MIN, names[i].length));
      size = Math.addExact(size, content == null ? 0 : content.length);
    }
    final ByteBuffer out = ByteBuffer.allocate(size);
    out.putLong(timestamp);
    out.put((byte) ((key == null ? KEY_IS_NULL : 0) | (value == null ? VALUE_IS_NULL : 0)));
    if (key != null) {
      out.putInt(key.length).put(key);
    }
    if (value != null) {
      out.putInt(value.length).put(value);
    }
    out.putInt(headers.length);
    for (int i = 0; i < headers.length; i++) {
      out.putInt(names[i].length).put(names[i]);
      final byte[] content = headers[i].value();
      if (content == null) {
        out.putInt(NULL_LENGTH);
      } else {
        out.putInt(content.length).put(content);
      }
    }
    return out.array();
  }

  /**
   * Reads the rest of the buffer, which must be one record and nothing else. No length is trusted
   * before it is checked against the bytes there are.
   *
   * @throws IllegalArgumentException with what is wrong and at which byte
   */
  static RecordPart decode(ByteBuffer in) {
    if (in.remaining() < Long.BYTES + Byte.BYTES) {
      throw malformed(in, "it is cut short before the flags");
    }
    final long timestamp = in.getLong();
    final int flags = in.get();
    if ((flags & ~(KEY_IS_NULL | VALUE_IS_NULL)) != 0) {
      throw malformed(in, "the flags " + flags + " are unknown");
    }
    final byte[] key = (flags & KEY_IS_NULL) != 0 ? null : bytes(in, length(in), "key");
    final byte[] value = (flags & VALUE_IS_NULL) != 0 ? null : bytes(in, length(in), "value");
    final int count = length(in);
    if (count < 0 || count > in.remaining() / HEADER_BYTES_MIN) {
      throw malformed(in, "there is no room for " + count + " headers");
    }
    final Header[] headers = new Header[count];
    for (int i = 0; i < count; i++) {
      final String name = text(in, bytes(in, length(in), "header name"));
      final int contentLength = length(in);
      final byte[] content =
          contentLength == NULL_LENGTH ? null : bytes(in, contentLength, "header value");
      headers[i] = new RecordHeader(name, content);
    }
    if (in.hasRemaining()) {
      throw malformed(in, in.remaining() + " bytes are left over");
    }
    return new RecordPart(timestamp, key, value, headers);
  }

  private static int length(ByteBuffer in) {
    if (in.remaining() < Integer.BYTES) {
      throw malformed(in, "it is cut short in a length");
    }
    return in.getInt();
  }

  private static byte[] bytes(ByteBuffer in, int length, String what) {
    if (length < 0 || length > in.remaining()) {
      throw malformed(in, "there are no " + length + " bytes of " + what);
    }
    final byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static String text(ByteBuffer in, byte[] utf8) {
    try {
      // A fresh decoder reports what is no UTF-8; `new String` would put question marks there.
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(utf8)).toString();
    } catch (CharacterCodingException e) {
      throw malformed(in, "a header name is not UTF-8");
    }
  }

  private static IllegalArgumentException malformed(ByteBuffer in, String what) {
    return new IllegalArgumentException(
        "a held record cannot be read: " + what + ", at byte " + in.position());
  }
}
