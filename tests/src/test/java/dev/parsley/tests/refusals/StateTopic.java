package dev.parsley.tests.refusals;

import dev.parsley.tests.harness.Await;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.utils.Bytes;

/** The ordering changelog of an application, with what may happen to it. */
final class StateTopic {

  static final byte HELD = 'h';

  private final Application application;

  StateTopic(Application application) {
    this.application = application;
  }

  String name() {
    return application.applicationId + "-__parsley." + Code.NODE + "-changelog";
  }

  /** Every committed row in the order of the log; the copy that a careful operator has. */
  List<ConsumerRecord<byte[], byte[]>> copy() {
    return application.cluster.readCommitted(name());
  }

  /** The held rows there are now. */
  List<ConsumerRecord<byte[], byte[]>> held() {
    return held(copy());
  }

  void awaitHeld(int count) {
    Await.until(() -> application.cluster.topicExists(name()), "the changelog exists");
    application.cluster.awaitRecords(
        name(), rows -> held(rows).size() == count, count + " held rows");
  }

  private static List<ConsumerRecord<byte[], byte[]>> held(
      List<ConsumerRecord<byte[], byte[]>> rows) {
    final List<ConsumerRecord<byte[], byte[]>> held = new ArrayList<>(latest(rows).values());
    held.removeIf(row -> row.key()[0] != HELD || row.value() == null);
    return held;
  }

  private static Map<Bytes, ConsumerRecord<byte[], byte[]>> latest(
      List<ConsumerRecord<byte[], byte[]>> rows) {
    final Map<Bytes, ConsumerRecord<byte[], byte[]>> latest = new LinkedHashMap<>();
    rows.forEach(row -> latest.put(Bytes.wrap(row.key()), row));
    return latest;
  }

  void put(byte[] key, byte[] value) {
    application.cluster.send(new ProducerRecord<>(name(), 0, key, value));
  }

  /** The current rows once more, at the end of the log. */
  void putAgain(List<ConsumerRecord<byte[], byte[]>> copy) {
    latest(copy).values().forEach(row -> put(row.key(), row.value()));
  }

  /** Makes the topic anew and writes a copy into it. */
  void restore(List<ConsumerRecord<byte[], byte[]>> copy) {
    if (application.cluster.topicExists(name())) {
      delete();
    }
    application.cluster.createTopic(name(), 1, Map.of("cleanup.policy", "compact"));
    copy.forEach(row -> put(row.key(), row.value()));
  }

  void delete() {
    application.cluster.deleteTopic(name());
  }

  /** Where the log of the first partition ends. */
  long end() throws Exception {
    final TopicPartition partition = new TopicPartition(name(), 0);
    return application
        .cluster
        .admin()
        .listOffsets(Map.of(partition, org.apache.kafka.clients.admin.OffsetSpec.latest()))
        .partitionResult(partition)
        .get()
        .offset();
  }

  /** Cuts the log's head off, which Kafka does to no topic that is only compacted. */
  void discardBefore(long offset) throws Exception {
    final ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name());
    application
        .cluster
        .admin()
        .incrementalAlterConfigs(
            Map.of(
                topic,
                List.of(
                    new AlterConfigOp(
                        new ConfigEntry("cleanup.policy", "compact,delete"), OpType.SET))))
        .all()
        .get();
    // The broker's log takes the new policy over a little after the answer.
    Await.until(() -> isDiscardedBefore(offset), "the log's head is cut off");
  }

  private boolean isDiscardedBefore(long offset) throws Exception {
    try {
      application.discardBefore(name(), 0, offset);
      return true;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof PolicyViolationException) {
        return false;
      }
      throw e;
    }
  }
}
