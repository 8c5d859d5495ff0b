package dev.parsley.benches;

import dev.parsley.streams.CausalProcessor;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.TopicDirectory;
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

  private Workload() {}

  /** Sixteen causes elsewhere, one of which moves with every record. */
  static byte[] causes(long moving) {
    final Causes.Builder causes = Causes.builder();
    for (int partition = 0; partition < CAUSES; partition++) {
      causes.add(new ChannelId(ELSEWHERE, partition), partition == 7 ? moving : 1_000);
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
