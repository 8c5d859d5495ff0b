package dev.parsley.benches;

import dev.parsley.streams.CausalProcessor;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.TopicDirectory;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;

/** What the benchmarks feed: records of 100 bytes with 16 causes, to a processor that forwards. */
final class Workload {

  static final int VALUE_BYTES = 100;
  static final int CAUSES = 16;
  static final String NODE = "bench";

  /** A topic that nothing in the benchmarks receives: where most causes lie. */
  static final Uuid ELSEWHERE = new Uuid(0x1111, 0x2222);

  private static final byte[] STILL = still();

  /**
   * The position on partition 7: behind version, count, topic id, count, and a byte and a position
   * each.
   */
  private static final int MOVING_AT = 1 + 1 + 16 + 1 + 7 * (1 + Long.BYTES) + 1;

  private Workload() {}

  /**
   * Sixteen causes elsewhere, one of which moves with every record; an array of its own each time.
   */
  static byte[] causes(long moving) {
    final byte[] causes = STILL.clone();
    ByteBuffer.wrap(causes).putLong(MOVING_AT, moving);
    return causes;
  }

  private static byte[] still() {
    final Causes.Builder causes = Causes.builder();
    for (int partition = 0; partition < CAUSES; partition++) {
      causes.add(new ChannelId(ELSEWHERE, partition), 1_000);
    }
    return causes.build().encode();
  }

  static CausalProcessor<byte[], byte[]> node(String... topics) {
    CausalProcessor<byte[], byte[]> node =
        CausalProcessor.named(NODE).serdes(Serdes.ByteArray(), Serdes.ByteArray());
    for (String topic : topics) {
      node = node.topic(topic);
    }
    return node;
  }

  static ProcessorSupplier<byte[], byte[], byte[], byte[]> node(
      Map<String, Uuid> topicIds, String... topics) {
    return node(topics).directory(TopicDirectory.fixed(topicIds)).processing(Forwarding::new);
  }

  /** Forwards what it gets, unchanged. */
  static final class Forwarding extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
    @Override
    public void process(Record<byte[], byte[]> record) {
      context().forward(record);
    }
  }

  static Processor<byte[], byte[], byte[], byte[]> plain() {
    return new Forwarding();
  }
}
