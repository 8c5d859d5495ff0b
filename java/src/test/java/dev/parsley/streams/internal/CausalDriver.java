package dev.parsley.streams.internal;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalProcessor;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.TopicDirectory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.test.TestRecord;

/**
 * A causal node over the topics orders and payments, in a test driver: sources, node, one sink. Its
 * topic ids are those of the vectors of the wire format, of which signed order would turn around.
 */
public final class CausalDriver implements AutoCloseable {

  public static final String ORDERS = "orders";
  public static final String PAYMENTS = "payments";
  public static final String OUTPUT = "shipments";
  public static final String ORDERS_HEX = "11111111222233334444555555555555";
  public static final String PAYMENTS_HEX = "8f00000000004000800000000000000b";
  public static final ChannelId ORDERS_0 = channel(ORDERS_HEX, 0);
  public static final ChannelId PAYMENTS_0 = channel(PAYMENTS_HEX, 0);

  private final TopologyTestDriver driver;

  private CausalDriver(TopologyTestDriver driver) {
    this.driver = driver;
  }

  /** A node as every test has it, which a test may change before it is finished. */
  public static CausalProcessor<String, String> node() {
    return CausalProcessor.named("shipments")
        .serdes(Serdes.String(), Serdes.String())
        .topic(ORDERS)
        .topic(PAYMENTS)
        .directory(directory());
  }

  public static TopicDirectory directory() {
    return TopicDirectory.fixed(Map.of(ORDERS, ORDERS_0.topicId(), PAYMENTS, PAYMENTS_0.topicId()));
  }

  /** Sources of both topics, the node, and a guarded sink. */
  public static Topology topology(ProcessorSupplier<byte[], byte[], String, String> node) {
    return Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS)
        .addProcessor("node", node, "source")
        .addSink(
            "sink",
            OUTPUT,
            Causal.serializer(new StringSerializer()),
            Causal.serializer(new StringSerializer()),
            "node");
  }

  public static CausalDriver of(ProcessorSupplier<byte[], byte[], String, String> node) {
    return of(topology(node));
  }

  public static CausalDriver of(Topology topology) {
    return of(topology, settings -> settings);
  }

  public static CausalDriver of(Topology topology, UnaryOperator<Properties> settings) {
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app-" + UUID.randomUUID());
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    return new CausalDriver(new TopologyTestDriver(topology, settings.apply(properties)));
  }

  public TopologyTestDriver driver() {
    return driver;
  }

  /** A record with the given causes header, or none, at timestamp 1000 and more. */
  public CausalDriver pipe(String topic, String value, Causes causes) {
    return pipe(topic, utf8("key"), utf8(value), causes, 1000);
  }

  public CausalDriver pipe(
      String topic, byte[] key, byte[] value, Causes causes, long timestamp, Header... headers) {
    final RecordHeaders all = new RecordHeaders();
    if (headers.length > 0) {
      all.add(headers[0]); // One before the causes and the rest behind, so that order shows.
    }
    if (causes != null) {
      causes.writeTo(all);
    }
    for (int i = 1; i < headers.length; i++) {
      all.add(headers[i]);
    }
    return pipe(topic, new TestRecord<>(key, value, all, timestamp));
  }

  public CausalDriver pipe(String topic, TestRecord<byte[], byte[]> record) {
    driver
        .createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer())
        .pipeInput(record);
    return this;
  }

  /** What was sent to the output topic since the last call. */
  public List<TestRecord<byte[], byte[]>> sent() {
    return sent(OUTPUT);
  }

  public List<TestRecord<byte[], byte[]>> sent(String topic) {
    return driver
        .createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer())
        .readRecordsToList();
  }

  /** The values of {@link #sent()}. */
  public List<String> sentValues() {
    final List<String> values = new ArrayList<>();
    sent().forEach(record -> values.add(text(record.value())));
    return values;
  }

  /** The node's own metrics, without what Kafka Streams has. */
  public Map<MetricName, Metric> metrics() {
    final Map<MetricName, Metric> ours = new HashMap<>(driver.metrics());
    ours.keySet().removeIf(name -> !name.group().equals(HoldMetrics.GROUP));
    return ours;
  }

  /** The value of a metric of the node that is not told for each topic. */
  public double metric(String name) {
    return metric(name, null);
  }

  /** The value of a metric that is told for each topic. */
  public double metric(String name, String topic) {
    final List<Object> values = new ArrayList<>();
    metrics()
        .forEach(
            (found, metric) -> {
              if (found.name().equals(name) && Objects.equals(found.tags().get("topic"), topic)) {
                values.add(metric.metricValue());
              }
            });
    if (values.size() != 1) {
      throw new AssertionError(name + " of " + topic + " is there " + values.size() + " times");
    }
    return (double) values.get(0);
  }

  @Override
  public void close() {
    driver.close();
  }

  /** A cause on the orders topic. */
  public static Causes afterOrder(long position) {
    return Causes.of(ORDERS_0, position);
  }

  public static String stampOf(TestRecord<byte[], byte[]> record) {
    final Header[] headers = record.headers().toArray();
    final Header last = headers[headers.length - 1];
    return last.key().equals(Causes.HEADER) ? hex(last.value()) : "the last is " + last.key();
  }

  public static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  public static byte[] utf8(String text) {
    return text == null ? null : text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  public static String text(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, java.nio.charset.StandardCharsets.UTF_8);
  }

  private static ChannelId channel(String topicHex, int partition) {
    return new ChannelId(
        new Uuid(
            Long.parseUnsignedLong(topicHex.substring(0, 16), 16),
            Long.parseUnsignedLong(topicHex.substring(16), 16)),
        partition);
  }
}
