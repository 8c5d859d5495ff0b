package dev.parsley.tests.streams;

import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaClientSupplier;

/**
 * Clients of an instance whose commits can be made to fail at the last moment, after all records of
 * the transaction were sent, as when another instance has taken over its tasks.
 */
public final class FencedClients implements KafkaClientSupplier {

  private final AtomicInteger failuresLeft = new AtomicInteger();
  private final AtomicInteger committed = new AtomicInteger();

  public void failNextCommits(int count) {
    failuresLeft.set(count);
  }

  int failuresLeft() {
    return failuresLeft.get();
  }

  /** How many commits did not fail. */
  int committed() {
    return committed.get();
  }

  @Override
  public Admin getAdmin(Map<String, Object> config) {
    return Admin.create(config);
  }

  @Override
  public Producer<byte[], byte[]> getProducer(Map<String, Object> config) {
    return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer()) {
      @Override
      public void commitTransaction() {
        if (failuresLeft.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
          flush(); // So that the records are in the log, and aborted.
          throw new ProducerFencedException("told to fail");
        }
        super.commitTransaction();
        committed.incrementAndGet();
      }
    };
  }

  @Override
  public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  @Override
  public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> config) {
    return getConsumer(config);
  }

  @Override
  public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> config) {
    return getConsumer(config);
  }
}
