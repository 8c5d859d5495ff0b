package dev.parsley.tests.streams;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;

/**
 * Reads causes headers for the judge, written apart from the library's own decoder so that a
 * mistake there does not excuse itself.
 */
final class WireCauses {

  static final String HEADER = "parsley.causes";

  /** A channel in the order of its encoded bytes. */
  record Channel(Uuid topicId, int partition) implements Comparable<Channel> {
    @Override
    public int compareTo(Channel other) {
      int order =
          Long.compareUnsigned(
              topicId.getMostSignificantBits(), other.topicId.getMostSignificantBits());
      if (order == 0) {
        order =
            Long.compareUnsigned(
                topicId.getLeastSignificantBits(), other.topicId.getLeastSignificantBits());
      }
      return order == 0 ? Integer.compare(partition, other.partition) : order;
    }
  }

  private WireCauses() {}

  /**
   * The causes that a record carries; none when it has no header.
   *
   * @throws IllegalArgumentException when it has two, or one that is no canonical encoding
   */
  static Map<Channel, Long> of(ConsumerRecord<?, ?> record) {
    final var headers = record.headers().headers(HEADER).iterator();
    if (!headers.hasNext()) {
      return Map.of();
    }
    final Header header = headers.next();
    if (headers.hasNext()) {
      throw new IllegalArgumentException("two causes headers");
    }
    return decode(header.value());
  }

  static Map<Channel, Long> decode(byte[] value) {
    final TreeMap<Channel, Long> causes = new TreeMap<>();
    try {
      final ByteBuffer in = ByteBuffer.wrap(value);
      require(in.get() == 1, "version");
      final int topicCount = varint(in);
      for (int topic = 0; topic < topicCount; topic++) {
        final Uuid id = new Uuid(in.getLong(), in.getLong());
        final int partitionCount = varint(in);
        require(partitionCount > 0, "empty group");
        for (int index = 0; index < partitionCount; index++) {
          final Channel channel = new Channel(id, varint(in));
          require(causes.isEmpty() || causes.lastKey().compareTo(channel) < 0, "order");
          final long position = in.getLong();
          require(position >= 0, "position");
          causes.put(channel, position);
        }
      }
      require(!in.hasRemaining(), "trailing bytes");
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("causes are cut short", e);
    }
    return causes;
  }

  private static int varint(ByteBuffer in) {
    int result = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      final int read = in.get() & 0xff;
      result |= (read & 0x7f) << shift;
      if (read < 0x80) {
        require(read != 0 || shift == 0, "padding");
        require(result >= 0, "too large");
        return result;
      }
    }
    throw new IllegalArgumentException("a varint of more than five bytes");
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new IllegalArgumentException("no canonical causes: " + what);
    }
  }
}
