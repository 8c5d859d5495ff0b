package dev.parsley.demo;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalProcessor;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** What the three services do, and the topologies they do it in. */
final class Services {

  static final String ORDERS = "orders";
  static final String PAYMENTS = "payments";
  static final String SHIPMENTS = "shipments";

  /** Records that the last service of this process has processed so far. */
  static final AtomicLong PROCESSED = new AtomicLong();

  private Services() {}

  /** The processor of a service; the same one with the causal node around it and without. */
  static ProcessorSupplier<String, String, String, String> processor(String service, int life) {
    return switch (service) {
      case ORDERS -> () -> new Answer("placed");
      case PAYMENTS -> () -> new Answer("paid");
      case SHIPMENTS -> () -> new Shipments(life);
      default -> throw new IllegalArgumentException("no such service: " + service);
    };
  }

  /** The usual topology: records are processed in the order in which they arrive. */
  static Topology plain(
      ProcessorSupplier<String, String, String, String> processor, List<String> from, String to) {
    return new Topology()
        .addSource(
            "in", new StringDeserializer(), new StringDeserializer(), from.toArray(String[]::new))
        .addProcessor("service", processor, "in")
        .addSink("out", to, new StringSerializer(), new StringSerializer(), "service");
  }

  /** The same with the causal node around the processor: each record after its causes. */
  static Topology causal(
      String service,
      ProcessorSupplier<String, String, String, String> processor,
      List<String> from,
      String to) {
    CausalProcessor<String, String> node =
        CausalProcessor.named(service).serdes(Serdes.String(), Serdes.String());
    for (String topic : from) {
      node = node.topic(topic);
    }
    return Causal.addSource(new Topology(), "in", from.toArray(String[]::new))
        .addProcessor("service", node.processing(processor), "in")
        .addSink(
            "out",
            to,
            Causal.serializer(new StringSerializer()),
            Causal.serializer(new StringSerializer()),
            "service");
  }

  /** Orders and payments: one record out for each record in, under the same key. */
  private static final class Answer extends ContextualProcessor<String, String, String, String> {
    private final String verb;

    Answer(String verb) {
      this.verb = verb;
    }

    @Override
    public void process(Record<String, String> record) {
      context().forward(record.withValue(verb + " " + record.key()));
    }
  }

  /** The last service: writes down what it sees, in the order in which it sees it. */
  private static final class Shipments extends ContextualProcessor<String, String, String, String> {
    private final int life;

    Shipments(int life) {
      this.life = life;
    }

    @Override
    public void process(Record<String, String> record) {
      final RecordMetadata place = context().recordMetadata().orElseThrow();
      final Sighting sighting =
          new Sighting(
              place.topic(),
              place.offset(),
              life,
              Arrivals.microsSince(place.topic(), place.offset()));
      context().forward(record.withValue(sighting.encode()));
      PROCESSED.incrementAndGet();
    }
  }
}
