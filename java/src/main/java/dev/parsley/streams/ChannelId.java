package dev.parsley.streams;

import java.nio.ByteBuffer;
import java.util.Objects;
import org.apache.kafka.common.Uuid;

/**
 * One ordered source of records: a topic's identity and a partition of it.
 *
 * <p>The order is that of the 20 encoded bytes, compared without sign. {@link Uuid} itself compares
 * with sign, so a set sorted by it would be written in another order than the wire format asks for.
 *
 * @param topicId the id the broker gave the topic; never all zero
 * @param partition the partition, 0 or more
 */
public record ChannelId(Uuid topicId, int partition) implements Comparable<ChannelId> {

  /** Length of {@link #toBytes()}: 16 bytes of topic id and a 4 byte partition. */
  public static final int BYTES = 20;

  /** Checks both parts; throws {@link IllegalArgumentException} for a zero id or a negative one. */
  public ChannelId {
    Objects.requireNonNull(topicId, "topicId");
    if (topicId.equals(Uuid.ZERO_UUID)) {
      throw new IllegalArgumentException("topic id must not be all zero");
    }
    if (partition < 0) {
      throw new IllegalArgumentException("partition must not be negative: " + partition);
    }
  }

  /**
   * Reads the form {@link #toBytes()} writes.
   *
   * @throws IllegalArgumentException when there are not exactly 20 bytes, or they are no channel
   */
  public static ChannelId ofBytes(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("a channel id has 20 bytes, not " + bytes.length);
    }
    final ByteBuffer in = ByteBuffer.wrap(bytes);
    return new ChannelId(new Uuid(in.getLong(), in.getLong()), in.getInt());
  }

  /** The topic id, then the partition, big-endian: the form used in the ordering store's keys. */
  public byte[] toBytes() {
    return ByteBuffer.allocate(BYTES)
        .putLong(topicId.getMostSignificantBits())
        .putLong(topicId.getLeastSignificantBits())
        .putInt(partition)
        .array();
  }

  @Override
  public int compareTo(ChannelId other) {
    final int byTopic = compareTopics(topicId, other.topicId);
    return byTopic != 0 ? byTopic : Integer.compare(partition, other.partition);
  }

  /** Order of two topic ids as unsigned bytes. */
  static int compareTopics(Uuid left, Uuid right) {
    final int high =
        Long.compareUnsigned(left.getMostSignificantBits(), right.getMostSignificantBits());
    return high != 0
        ? high
        : Long.compareUnsigned(left.getLeastSignificantBits(), right.getLeastSignificantBits());
  }

  /** The topic id in lower-case hex, a colon, the partition: the form the parsley tool prints. */
  @Override
  public String toString() {
    return String.format(
        "%016x%016x:%d",
        topicId.getMostSignificantBits(), topicId.getLeastSignificantBits(), partition);
  }
}
