package dev.parsley.streams.internal;

import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.streams.KafkaClientSupplier;

/** The application's clients, with the main consumers wrapped in {@link FirstPositionsConsumer}. */
final class FirstPositionsSupplier implements KafkaClientSupplier {

  private final KafkaClientSupplier supplier;
  private final FirstPositions firstPositions;
  private final Duration timeout;
  private final BooleanSupplier failed;

  FirstPositionsSupplier(
      KafkaClientSupplier supplier,
      FirstPositions firstPositions,
      Duration timeout,
      BooleanSupplier failed) {
    this.supplier = supplier;
    this.firstPositions = firstPositions;
    this.timeout = timeout;
    this.failed = failed;
  }

  @Override
  public Admin getAdmin(Map<String, Object> config) {
    return supplier.getAdmin(config);
  }

  @Override
  public Producer<byte[], byte[]> getProducer(Map<String, Object> config) {
    return supplier.getProducer(config);
  }

  @Override
  public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
    return FirstPositionsConsumer.around(
        supplier.getConsumer(config), firstPositions, timeout, failed);
  }

  @Override
  public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> config) {
    return supplier.getRestoreConsumer(config);
  }

  @Override
  public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> config) {
    return supplier.getGlobalConsumer(config);
  }
}
