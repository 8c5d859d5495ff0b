package dev.parsley.demo;

import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Notes when each record arrives at this process, before Kafka Streams or the causal node sees it.
 * Kafka makes the object from its class name, so what it notes is kept per process. Any thread.
 */
public final class Arrivals implements ConsumerInterceptor<byte[], byte[]> {

  private static final Map<String, Long> ARRIVED_NANOS = new ConcurrentHashMap<>();
  private static final AtomicLong COUNT = new AtomicLong();

  /** Records that have arrived so far. */
  static long count() {
    return COUNT.get();
  }

  /** Microseconds since the record arrived here; empty if it did not. Asked once per record. */
  static OptionalLong microsSince(String topic, long offset) {
    final Long nanos = ARRIVED_NANOS.remove(topic + "@" + offset);
    return nanos == null
        ? OptionalLong.empty()
        : OptionalLong.of((System.nanoTime() - nanos) / 1_000);
  }

  @Override
  public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
    final long now = System.nanoTime();
    records.forEach(record -> ARRIVED_NANOS.put(record.topic() + "@" + record.offset(), now));
    COUNT.addAndGet(records.count());
    return records;
  }

  @Override
  public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

  @Override
  public void configure(Map<String, ?> configs) {}

  @Override
  public void close() {}
}
