package dev.parsley.tests.streams;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalProcessor;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * The topology under test: one causal node whose processor copies each record to the output, with
 * the place it was read and the number of records its task has copied so far. The number comes from
 * a persistent store of the processor's own, so a count that is not 1, 2, 3... shows that this
 * store and the output were not committed together.
 */
public final class CopyingNode {

  static final String NODE = "node";

  /** The processor's own store: {@link #COUNT_KEY} to how many, and each origin to its number. */
  static final String STORE = "copied";

  static final String COUNT_KEY = "count";

  /** The header of a copy with its number, int64. */
  static final String COUNT_HEADER = "test.count";

  private CopyingNode() {}

  /** A topology that only copies. */
  static Topology topology(List<String> topics, String output) {
    return topology(topics, output, origin -> {});
  }

  /**
   * @param afterForward called on the stream thread after each copy; what it throws fails the step
   */
  public static Topology topology(
      List<String> topics, String output, Consumer<Origin> afterForward) {
    CausalProcessor<byte[], byte[]> node =
        CausalProcessor.named(NODE).serdes(Serdes.ByteArray(), Serdes.ByteArray());
    for (String topic : topics) {
      node = node.topic(topic);
    }
    final Topology topology = new Topology();
    Causal.addSource(topology, "source", topics.toArray(new String[0]));
    topology.addProcessor("causal", node.processing(new Supplier(afterForward)), "source");
    topology.addSink(
        "sink",
        output,
        Causal.serializer(new ByteArraySerializer()),
        Causal.serializer(new ByteArraySerializer()),
        "causal");
    return topology;
  }

  private record Supplier(Consumer<Origin> afterForward)
      implements ProcessorSupplier<byte[], byte[], byte[], byte[]> {

    @Override
    public Set<StoreBuilder<?>> stores() {
      return Set.of(
          Stores.keyValueStoreBuilder(
              Stores.persistentKeyValueStore(STORE), Serdes.String(), Serdes.Long()));
    }

    @Override
    public Processor<byte[], byte[], byte[], byte[]> get() {
      return new Copying(afterForward);
    }
  }

  private static final class Copying implements Processor<byte[], byte[], byte[], byte[]> {

    private final Consumer<Origin> afterForward;
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<String, Long> copied;

    Copying(Consumer<Origin> afterForward) {
      this.afterForward = afterForward;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> opened) {
      context = opened;
      copied = opened.getStateStore(STORE);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      final var read = context.recordMetadata().orElseThrow();
      final Origin origin = new Origin(read.topic(), read.partition(), read.offset());
      final Long before = copied.get(COUNT_KEY);
      final long count = before == null ? 1 : before + 1;
      copied.put(COUNT_KEY, count);
      copied.put(origin.toString(), count);
      final Headers headers = new RecordHeaders(record.headers().toArray());
      headers.add(Origin.HEADER, origin.toBytes());
      headers.add(COUNT_HEADER, ByteBuffer.allocate(Long.BYTES).putLong(count).array());
      context.forward(record.withHeaders(headers));
      afterForward.accept(origin);
    }
  }
}
