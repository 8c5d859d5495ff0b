package dev.parsley.tests.launcher;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.TopicDirectory;
import dev.parsley.streams.internal.BrokerTopicDirectory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Stands in for a causal node where the launcher is what is tested: a plain store under the
 * reserved name that gets the rows a causal node would write, without the order. A record whose
 * value begins with {@code hold} is held for good, and one whose value is {@code fail} throws.
 */
final class MarkingNode implements ProcessorSupplier<byte[], byte[], byte[], byte[]> {

  private final String name;
  private final Map<String, Uuid> topicIds;

  /** The values of the records processed, over all tasks. */
  final Queue<String> values = new ConcurrentLinkedQueue<>();

  /** What was committed when a task was initialised, which is where a causal node takes it up. */
  final Map<TopicPartition, Long> committedAtInit = new ConcurrentHashMap<>();

  MarkingNode(String name, Map<String, Uuid> topicIds) {
    this.name = name;
    this.topicIds = topicIds;
  }

  @Override
  public Set<StoreBuilder<?>> stores() {
    return Set.of(
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore("__parsley." + name),
            Serdes.Bytes(),
            Serdes.ByteArray()));
  }

  @Override
  public Processor<byte[], byte[], byte[], byte[]> get() {
    return new Processor<>() {
      private ProcessorContext<byte[], byte[]> context;
      private KeyValueStore<Bytes, byte[]> store;

      @Override
      public void init(ProcessorContext<byte[], byte[]> context) {
        this.context = context;
        store = context.getStateStore("__parsley." + name);
        try (TopicDirectory directory =
            BrokerTopicDirectory.acquire(context.applicationId(), context.appConfigs())) {
          final int partition = context.taskId().partition();
          for (String topic : topicIds.keySet()) {
            committedAtInit.putAll(
                directory.committed(Set.of(new TopicPartition(topic, partition))));
          }
        }
      }

      @Override
      public void process(Record<byte[], byte[]> record) {
        final var metadata = context.recordMetadata().orElseThrow();
        final String topic = metadata.topic();
        final byte[] channel = new ChannelId(topicIds.get(topic), metadata.partition()).toBytes();
        final byte[] offset = ByteBuffer.allocate(Long.BYTES).putLong(metadata.offset()).array();
        store.put(key('v'), new byte[] {2});
        store.put(key('n', topic.getBytes(StandardCharsets.UTF_8)), channel);
        store.put(key('f', channel), offset);
        final String value = new String(record.value(), StandardCharsets.UTF_8);
        if (value.equals("fail")) {
          throw new IllegalArgumentException("told to fail");
        } else if (value.startsWith("hold")) {
          store.put(key('h', channel, offset), record.value());
        }
        values.add(value);
      }
    };
  }

  private static Bytes key(char tag, byte[]... parts) {
    final ByteBuffer key = ByteBuffer.allocate(200).put((byte) tag);
    for (byte[] part : parts) {
      key.put(part);
    }
    final byte[] bytes = new byte[key.position()];
    key.flip().get(bytes);
    return Bytes.wrap(bytes);
  }
}
