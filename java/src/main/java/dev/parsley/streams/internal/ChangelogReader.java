package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.internal.BrokerQuestions.LogRange;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.StreamsException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads ordering state out of the changelog without opening a store, for the checks before a start.
 * Only what was committed is seen. A transaction that is open when the reading begins is waited
 * for, since the offsets it commits can be visible a moment before its records are.
 */
final class ChangelogReader {

  private static final Logger LOG = LoggerFactory.getLogger(ChangelogReader.class);

  private static final Duration POLL = Duration.ofMillis(200);
  private static final byte FED_UP_TO = 0x66;
  private static final byte NAME = 0x6e;
  private static final byte HELD = 0x68;

  private final Supplier<Consumer<byte[], byte[]>> consumers;
  private final BrokerQuestions questions;
  private final long timeoutMs;

  /**
   * @param consumers makes a consumer that reads what is committed, belongs to no group and starts
   *     at the log's start where it has no position; it is closed here
   * @param timeoutMs how long to wait for the next record or the end of a transaction
   */
  ChangelogReader(
      Supplier<Consumer<byte[], byte[]>> consumers, BrokerQuestions questions, long timeoutMs) {
    this.consumers = consumers;
    this.questions = questions;
    this.timeoutMs = timeoutMs;
  }

  /**
   * What one task's ordering state says. Rows that are no rows of ours are passed over: the native
   * core refuses them when it restores the task.
   */
  static final class OrderingState {
    private final Map<ChannelId, Long> fedUpTo = new HashMap<>();
    private final Map<String, ChannelId> names = new HashMap<>();
    private final Map<ChannelId, TreeSet<Long>> held = new HashMap<>();

    /** The last position fed on a channel, or null. */
    Long fedUpTo(ChannelId channel) {
      return fedUpTo.get(channel);
    }

    /** The identity recorded for a topic's name, or null. */
    ChannelId named(String topic) {
      return names.get(topic);
    }

    /** The positions held on a channel. */
    TreeSet<Long> held(ChannelId channel) {
      return held.getOrDefault(channel, new TreeSet<>());
    }

    /** Takes in one row of the changelog; a null value deletes. */
    void apply(byte[] key, byte[] value) {
      if (key == null || key.length == 0) {
        return;
      }
      try {
        applyRow(key, value);
      } catch (IllegalArgumentException e) {
        LOG.warn("Passed over a row of the ordering changelog that names no channel", e);
      }
    }

    private void applyRow(byte[] key, byte[] value) {
      final ByteBuffer in = ByteBuffer.wrap(key, 1, key.length - 1);
      if (key[0] == FED_UP_TO && in.remaining() == ChannelId.BYTES) {
        final ChannelId channel = channel(in);
        if (value == null) {
          fedUpTo.remove(channel);
        } else if (value.length == Long.BYTES) {
          fedUpTo.put(channel, ByteBuffer.wrap(value).getLong());
        }
      } else if (key[0] == NAME) {
        final String name = StandardCharsets.UTF_8.decode(in).toString();
        if (value == null) {
          names.remove(name);
        } else if (value.length == ChannelId.BYTES) {
          names.put(name, channel(ByteBuffer.wrap(value)));
        }
      } else if (key[0] == HELD && in.remaining() == ChannelId.BYTES + Long.BYTES) {
        final ChannelId channel = channel(in);
        final TreeSet<Long> positions = held.computeIfAbsent(channel, c -> new TreeSet<>());
        if (value == null) {
          positions.remove(in.getLong());
        } else {
          positions.add(in.getLong());
        }
      }
    }

    private static ChannelId channel(ByteBuffer in) {
      final byte[] bytes = new byte[ChannelId.BYTES];
      in.get(bytes);
      return ChannelId.ofBytes(bytes);
    }
  }

  /** Those of the partitions, all of which must exist, that hold no committed record. */
  Set<TopicPartition> withoutState(Set<TopicPartition> partitions) {
    final Set<TopicPartition> without = new HashSet<>(partitions);
    scan(
        partitions,
        record -> {
          without.remove(new TopicPartition(record.topic(), record.partition()));
          return false; // One record is proof enough.
        });
    return without;
  }

  /** The state in each of the partitions, all of which must exist. */
  Map<TopicPartition, OrderingState> read(Set<TopicPartition> partitions) {
    final Map<TopicPartition, OrderingState> states = new HashMap<>();
    partitions.forEach(partition -> states.put(partition, new OrderingState()));
    scan(
        partitions,
        record -> {
          states
              .get(new TopicPartition(record.topic(), record.partition()))
              .apply(record.key(), record.value());
          return true;
        });
    return states;
  }

  private interface Visitor {
    /** False when the rest of this record's partition is of no interest. */
    boolean visit(ConsumerRecord<byte[], byte[]> record);
  }

  private void scan(Set<TopicPartition> partitions, Visitor visitor) {
    final Map<TopicPartition, LogRange> ranges = questions.logRanges(partitions);
    final Set<TopicPartition> open = new HashSet<>();
    ranges.forEach(
        (partition, range) -> {
          if (!range.isEmpty()) {
            open.add(partition);
          }
        });
    if (open.isEmpty()) {
      return;
    }
    final Duration timeout = Duration.ofMillis(timeoutMs);
    try (Consumer<byte[], byte[]> consumer = consumers.get()) {
      consumer.assign(open);
      consumer.seekToBeginning(open);
      long lastProgressNanos = System.nanoTime();
      while (!open.isEmpty()) {
        final ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
        final Set<TopicPartition> done = new HashSet<>();
        for (TopicPartition partition : records.partitions()) {
          if (!visitAll(records.records(partition), visitor)) {
            done.add(partition);
          }
        }
        for (TopicPartition partition : open) {
          if (consumer.position(partition, timeout) >= ranges.get(partition).end()) {
            done.add(partition);
          }
        }
        open.removeAll(done);
        consumer.pause(done);
        if (!records.isEmpty() || !done.isEmpty()) {
          lastProgressNanos = System.nanoTime();
        } else if (System.nanoTime() - lastProgressNanos > timeout.toNanos()) {
          throw new StreamsException(
              "Could not read the ordering state in "
                  + open
                  + ": nothing came for "
                  + timeoutMs
                  + " ms. Either the brokers do not answer, or a transaction of another instance"
                  + " stays open; start again when it has ended. The time is set by"
                  + " parsley.directory.timeout.ms");
        }
      }
    }
  }

  private static boolean visitAll(List<ConsumerRecord<byte[], byte[]>> records, Visitor visitor) {
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (!visitor.visit(record)) {
        return false;
      }
    }
    return true;
  }
}
