package dev.parsley.tests.refusals;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalProcessor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * The application's own code: one causal node whose processor forwards each record to the output,
 * with a header that says where it was read. A developer gets one of the fields wrong and mends it.
 */
final class Code {

  static final String NODE = "node";

  /** The place that a copy was read from, {@code topic-partition@offset}. */
  static final String ORIGIN_HEADER = "test.origin";

  /** Full names of the topics that the node receives. */
  final List<String> topics = new ArrayList<>();

  /** Full names of topics that the source reads and the node does not declare. */
  final List<String> forgotten = new ArrayList<>();

  Function<byte[], String> deserializer = value -> new String(value, StandardCharsets.UTF_8);
  Function<String, byte[]> serializer = value -> value.getBytes(StandardCharsets.UTF_8);
  Consumer<ProcessorContext<String, String>> opening = context -> {};
  UnaryOperator<Record<String, String>> forwarded = record -> record;

  Topology topology(String output) {
    CausalProcessor<String, String> node =
        CausalProcessor.named(NODE).serdes(Serdes.String(), values());
    for (String topic : topics) {
      node = node.topic(topic);
    }
    final List<String> read = new ArrayList<>(topics);
    read.addAll(forgotten);
    final Topology topology = new Topology();
    Causal.addSource(topology, "source", read.toArray(new String[0]));
    return copyingTo(output, topology, node);
  }

  private Topology copyingTo(
      String output, Topology topology, CausalProcessor<String, String> node) {
    topology.addProcessor("causal", node.processing(Copying::new), "source");
    topology.addSink(
        "sink",
        output,
        Causal.serializer(Serdes.String().serializer()),
        Causal.serializer((Serializer<String>) (topic, value) -> serializer.apply(value)),
        "causal");
    return topology;
  }

  private Serde<String> values() {
    final Deserializer<String> reading = (topic, value) -> deserializer.apply(value);
    return Serdes.serdeFrom(Serdes.String().serializer(), reading);
  }

  private final class Copying implements Processor<String, String, String, String> {

    private ProcessorContext<String, String> context;

    @Override
    public void init(ProcessorContext<String, String> opened) {
      context = opened;
      opening.accept(opened);
    }

    @Override
    public void process(Record<String, String> record) {
      final var read = context.recordMetadata().orElseThrow();
      final Headers headers = new RecordHeaders(record.headers().toArray());
      headers.add(
          ORIGIN_HEADER,
          (read.topic() + "-" + read.partition() + "@" + read.offset())
              .getBytes(StandardCharsets.UTF_8));
      context.forward(forwarded.apply(record.withHeaders(headers)));
    }
  }
}
