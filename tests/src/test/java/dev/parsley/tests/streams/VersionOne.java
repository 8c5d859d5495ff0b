package dev.parsley.tests.streams;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** Rows of an ordering store of version 1, which the library reads and never writes. */
final class VersionOne {

  private static final int KEY_IS_NULL = 1;
  private static final int VALUE_IS_NULL = 2;

  private VersionOne() {}

  static byte[] key(char tag, byte[] channel) {
    return ByteBuffer.allocate(1 + channel.length).put((byte) tag).put(channel).array();
  }

  static byte[] name(String topic) {
    return key('n', topic.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] heldKey(byte[] channel, long position) {
    return ByteBuffer.allocate(1 + channel.length + Long.BYTES)
        .put((byte) 'h')
        .put(channel)
        .putLong(position)
        .array();
  }

  static byte[] int64(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  /** A held record with one cause. */
  static byte[] held(ConsumerRecord<byte[], byte[]> record, byte[] cause, long position) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(1);
      out.writeLong(record.timestamp());
      out.writeByte(
          (record.key() == null ? KEY_IS_NULL : 0) | (record.value() == null ? VALUE_IS_NULL : 0));
      if (record.key() != null) {
        write(out, record.key());
      }
      if (record.value() != null) {
        write(out, record.value());
      }
      out.writeInt(record.headers().toArray().length);
      for (Header header : record.headers()) {
        write(out, header.key().getBytes(StandardCharsets.UTF_8));
        if (header.value() == null) {
          out.writeInt(-1);
        } else {
          write(out, header.value());
        }
      }
      out.writeInt(1);
      out.write(cause);
      out.writeLong(position);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, byte[] content) throws IOException {
    out.writeInt(content.length);
    out.write(content);
  }
}
