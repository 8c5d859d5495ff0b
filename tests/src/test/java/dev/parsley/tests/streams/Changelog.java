package dev.parsley.tests.streams;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.Cluster;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;

/** The changelog of the ordering store, read and written as a topic like any other. */
final class Changelog {

  static final byte VERSION = 'v';
  static final byte FED_UP_TO = 'f';
  static final byte FRONTIER = 'c';
  static final byte PAST = 'p';
  static final byte NAME = 'n';
  static final byte HELD = 'h';

  private final Cluster cluster;
  private final String topic;

  Changelog(Cluster cluster, String applicationId) {
    this.cluster = cluster;
    this.topic = applicationId + "-__parsley." + CopyingNode.NODE + "-changelog";
  }

  String topic() {
    return topic;
  }

  /** Every committed row, tombstones included, as it was written. */
  List<ConsumerRecord<byte[], byte[]>> records() {
    return cluster.readCommitted(topic);
  }

  /** The rows there are now in one partition, the key and value of each in the order of keys. */
  TreeMap<ByteBuffer, byte[]> rows(int partition) {
    return rows(records(), partition);
  }

  /** The rows there are now whose key has a tag, over all partitions. */
  List<ConsumerRecord<byte[], byte[]>> rowsOf(byte tag) {
    return rowsOf(records(), tag);
  }

  /** Waits until so many records are held, over all partitions, and that is committed. */
  void awaitHeld(int count) {
    await(rows -> rowsOf(rows, HELD).size() == count, count + " held rows");
  }

  void await(Predicate<List<ConsumerRecord<byte[], byte[]>>> condition, String what) {
    Await.until(() -> cluster.topicExists(topic), "the changelog exists");
    cluster.awaitRecords(topic, condition, what);
  }

  void put(byte[] key, byte[] value) {
    cluster.send(new ProducerRecord<>(topic, 0, key, value));
  }

  /** The rows of each transaction, told apart by the offsets that the markers between them take. */
  static List<List<ConsumerRecord<byte[], byte[]>>> transactions(
      Collection<ConsumerRecord<byte[], byte[]>> records) {
    final Map<Integer, Long> lastOffsets = new HashMap<>();
    final Map<Integer, List<ConsumerRecord<byte[], byte[]>>> open = new HashMap<>();
    final List<List<ConsumerRecord<byte[], byte[]>>> transactions = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      final Long last = lastOffsets.put(record.partition(), record.offset());
      if (last == null || last + 1 != record.offset()) {
        final List<ConsumerRecord<byte[], byte[]>> begun = new ArrayList<>();
        open.put(record.partition(), begun);
        transactions.add(begun);
      }
      open.get(record.partition()).add(record);
    }
    return transactions;
  }

  static List<ConsumerRecord<byte[], byte[]>> rowsOf(
      Collection<ConsumerRecord<byte[], byte[]>> records, byte tag) {
    final Map<ByteBuffer, ConsumerRecord<byte[], byte[]>> rows = new TreeMap<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (record.key()[0] == tag) {
        final ByteBuffer key =
            ByteBuffer.allocate(Integer.BYTES + record.key().length)
                .putInt(record.partition())
                .put(record.key())
                .flip();
        if (record.value() == null) {
          rows.remove(key);
        } else {
          rows.put(key, record);
        }
      }
    }
    return List.copyOf(rows.values());
  }

  private static TreeMap<ByteBuffer, byte[]> rows(
      Collection<ConsumerRecord<byte[], byte[]>> records, int partition) {
    final TreeMap<ByteBuffer, byte[]> rows = new TreeMap<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (record.partition() == partition) {
        if (record.value() == null) {
          rows.remove(ByteBuffer.wrap(record.key()));
        } else {
          rows.put(ByteBuffer.wrap(record.key()), record.value());
        }
      }
    }
    return rows;
  }
}
