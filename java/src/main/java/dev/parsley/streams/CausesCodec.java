package dev.parsley.streams;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;

/**
 * The wire form of causes: {@code 01 topicCount group*}, where a group is {@code topicId
 * partitionCount pair*} and a pair is {@code partition position}. Counts and partitions are minimal
 * LEB128, ids are 16 raw bytes, positions big-endian. A set of causes has one encoding, so the
 * decoder refuses every other.
 */
final class CausesCodec {

  private static final byte VERSION = 1;
  private static final int TOPIC_ID_BYTES = 16;
  private static final int VARINT_BYTES_MAX = 5;

  private CausesCodec() {}

  static byte[] encode(SortedMap<ChannelId, Long> positions) {
    final SortedMap<Uuid, TreeMap<Integer, Long>> groups = new TreeMap<>(ChannelId::compareTopics);
    positions.forEach(
        (channel, position) ->
            groups
                .computeIfAbsent(channel.topicId(), id -> new TreeMap<>())
                .put(channel.partition(), position));
    final ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(VERSION);
    writeVarint(out, groups.size());
    groups.forEach(
        (topicId, group) -> {
          writeLong(out, topicId.getMostSignificantBits());
          writeLong(out, topicId.getLeastSignificantBits());
          writeVarint(out, group.size());
          for (Map.Entry<Integer, Long> pair : group.entrySet()) {
            writeVarint(out, pair.getKey());
            writeLong(out, pair.getValue());
          }
        });
    return out.toByteArray();
  }

  static SortedMap<ChannelId, Long> decode(byte[] value) {
    if (value == null) {
      throw undecodable("the value is null");
    }
    final ByteBuffer in = ByteBuffer.wrap(value);
    require(in, 1, "the version");
    final int version = in.get() & 0xff;
    if (version != VERSION) {
      throw undecodable("version " + version + " is not known");
    }
    final SortedMap<ChannelId, Long> positions = new TreeMap<>();
    Uuid lastTopic = Uuid.ZERO_UUID; // Below every id that is allowed.
    for (int topics = readVarint(in, "the number of topics"); topics > 0; topics--) {
      require(in, TOPIC_ID_BYTES, "a topic id");
      final Uuid topic = new Uuid(in.getLong(), in.getLong());
      if (ChannelId.compareTopics(topic, lastTopic) <= 0) {
        throw undecodableAt(in, "a topic id is zero or not above the one before it");
      }
      lastTopic = topic;
      readGroup(in, topic, positions);
    }
    if (in.hasRemaining()) {
      throw undecodableAt(in, in.remaining() + " bytes follow the last group");
    }
    return positions;
  }

  private static void readGroup(ByteBuffer in, Uuid topic, SortedMap<ChannelId, Long> positions) {
    final int partitions = readVarint(in, "the number of partitions");
    if (partitions == 0) {
      throw undecodableAt(in, "a topic has no partitions");
    }
    int lastPartition = -1;
    for (int left = partitions; left > 0; left--) {
      final int partition = readVarint(in, "a partition");
      if (partition <= lastPartition) {
        throw undecodableAt(in, "a partition is not above the one before it");
      }
      lastPartition = partition;
      require(in, Long.BYTES, "a position");
      final long position = in.getLong();
      if (position < 0 || position > Causes.POSITION_MAX) {
        throw undecodableAt(in, position + " is no position");
      }
      positions.put(new ChannelId(topic, partition), position);
    }
  }

  private static int readVarint(ByteBuffer in, String what) {
    int value = 0;
    for (int index = 0; index < VARINT_BYTES_MAX; index++) {
      require(in, 1, what);
      final int next = in.get() & 0xff;
      if (index == VARINT_BYTES_MAX - 1 && next > 0x07) {
        throw undecodableAt(in, what + " is larger than 2^31-1");
      }
      value |= (next & 0x7f) << (7 * index);
      if (next < 0x80) {
        if (next == 0 && index > 0) {
          throw undecodableAt(in, what + " is padded");
        }
        return value;
      }
    }
    throw new AssertionError("the fifth byte has no continuation bit");
  }

  private static void require(ByteBuffer in, int bytes, String what) {
    if (in.remaining() < bytes) {
      throw undecodableAt(in, "the value is cut short: " + what + " is missing");
    }
  }

  private static void writeVarint(ByteArrayOutputStream out, int value) {
    int rest = value;
    while (rest >= 0x80) {
      out.write(rest & 0x7f | 0x80);
      rest >>>= 7;
    }
    out.write(rest);
  }

  private static void writeLong(ByteArrayOutputStream out, long value) {
    out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(value).array());
  }

  private static RefusalException undecodableAt(ByteBuffer in, String detail) {
    return undecodable(detail + ", at byte " + in.position());
  }

  static RefusalException undecodable(String detail) {
    return new RefusalException(RefusalReason.UNDECODABLE_METADATA, detail);
  }
}
