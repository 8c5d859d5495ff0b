package dev.parsley.tests.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalProcessor;
import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.TopicDirectory;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.Cluster;
import dev.parsley.tests.harness.InProcessBroker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The README's samples, compiled and run. The lines between the marks are the README's own, which a
 * test compares; its imports are those of this file.
 */
class ReadmeTest {

  private static final String SOURCE =
      "tests/src/test/java/dev/parsley/tests/readme/ReadmeTest.java";

  @TempDir static Path stateDirectory;

  /** What a user has already. */
  static final class ShipmentProcessor extends ContextualProcessor<String, String, String, String> {
    @Override
    public void process(Record<String, String> record) {
      context().forward(record.withValue("ship after " + record.value()));
    }
  }

  @Test
  void shouldDeliverTheCauseFirstInTheReadmesExample() {
    final Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "shipping");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "127.0.0.1:1"); // Nothing listens there.
    settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
    // README begins: node
    CausalProcessor<String, String> node =
        CausalProcessor.named("shipments")
            .serdes(Serdes.String(), Serdes.String())
            .topic("orders")
            .topic("payments");
    // README ends
    // README begins: driver
    Uuid ordersId = Uuid.randomUuid();
    Uuid paymentsId = Uuid.randomUuid();
    node.directory(TopicDirectory.fixed(Map.of("orders", ordersId, "payments", paymentsId)));
    // README ends
    // README begins: node
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(List.of("orders", "payments"), Causal.consumed())
        .process(node.processing(ShipmentProcessor::new))
        .to("shipments", Causal.produced(Serdes.String(), Serdes.String()));
    CausalStreams streams = CausalStreams.of(builder.build(), settings);
    // README ends
    streams.close(); // It was not started: there are no brokers here.
    // README begins: driver
    settings.put("processing.guarantee", "exactly_once_v2"); // The launcher would set it.
    try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), settings)) {
      TestInputTopic<String, String> orders =
          driver.createInputTopic("orders", new StringSerializer(), new StringSerializer());
      TestInputTopic<String, String> payments =
          driver.createInputTopic("payments", new StringSerializer(), new StringSerializer());
      TestOutputTopic<String, String> shipments =
          driver.createOutputTopic("shipments", new StringDeserializer(), new StringDeserializer());

      Headers afterTheOrder = new RecordHeaders();
      Causes.of(new ChannelId(ordersId, 0), 0).writeTo(afterTheOrder); // Partition 0, offset 0.
      payments.pipeInput(new TestRecord<>("17", "payment", afterTheOrder));
      orders.pipeInput("17", "order");
      assertEquals(List.of("ship after order", "ship after payment"), shipments.readValuesToList());
    }
    // README ends
  }

  @Test
  void shouldCauseAReplyByAllThatItsSenderHasRead() throws Exception {
    try (Cluster cluster = new Cluster(InProcessBroker.shared().bootstrapServers());
        Consumer<byte[], byte[]> consumer = cluster.newConsumer();
        Producer<byte[], byte[]> producer = cluster.newProducer(Map.of())) {
      final ChannelId orders = new ChannelId(cluster.createTopic("orders", 1), 0);
      cluster.createTopic("replies", 1);
      final ChannelId elsewhere = new ChannelId(Uuid.randomUuid(), 3);
      final ProducerRecord<byte[], byte[]> order = new ProducerRecord<>("orders", new byte[1]);
      Causes.of(elsewhere, 7).writeTo(order.headers());
      cluster.send(order);
      consumer.assign(List.of(new TopicPartition("orders", 0)));
      consumer.seekToBeginning(List.of(new TopicPartition("orders", 0)));

      reply(
          cluster.admin(),
          consumer,
          Await.PATIENCE,
          producer,
          new ProducerRecord<>("replies", new byte[1]));

      final Headers sent = cluster.awaitRecords("replies", 1).get(0).headers();
      assertEquals(Causes.of(Map.of(orders, 0L, elsewhere, 7L)), Causes.from(sent));
      cluster.deleteTopic("orders");
      cluster.deleteTopic("replies");
    }
  }

  private static void reply(
      Admin admin,
      Consumer<byte[], byte[]> consumer,
      Duration timeout,
      Producer<byte[], byte[]> producer,
      ProducerRecord<byte[], byte[]> reply)
      throws ExecutionException, InterruptedException {
    // README begins: plain clients
    Map<String, Uuid> topicIds = new HashMap<>(); // Asked for once, at the start.
    admin
        .describeTopics(List.of("orders"))
        .allTopicNames()
        .get()
        .forEach((name, topic) -> topicIds.put(name, topic.topicId()));
    Causes seen = Causes.none();

    for (ConsumerRecord<?, ?> record : consumer.poll(timeout)) {
      ChannelId channel = new ChannelId(topicIds.get(record.topic()), record.partition());
      seen = seen.merge(Causes.from(record.headers())).plus(channel, record.offset());
    }
    seen.writeTo(reply.headers());
    producer.send(reply);
    // README ends
  }

  @ParameterizedTest
  @ValueSource(strings = {"node", "driver", "plain clients"})
  void shouldShowTheseLinesInTheReadme(String sample) throws IOException {
    final Path checkout = checkout();
    final List<String> source =
        Files.readAllLines(checkout.resolve(SOURCE), StandardCharsets.UTF_8);
    final List<String> shown = shown(checkout, sample);
    final List<String> code = new ArrayList<>();
    for (String line : shown) {
      if (line.startsWith("import ")) {
        assertEquals(1, source.stream().filter(line::equals).count(), line);
      } else if (!code.isEmpty() || !line.isEmpty()) {
        code.add(line);
      }
    }
    assertEquals(String.join("\n", lines(source, sample)), String.join("\n", code));
  }

  /** The README's block behind the comment that names the sample. */
  private static List<String> shown(Path checkout, String sample) throws IOException {
    final List<String> readme =
        Files.readAllLines(checkout.resolve("README.md"), StandardCharsets.UTF_8);
    final int mark = readme.indexOf("<!-- ReadmeTest: " + sample + " -->");
    assertEquals("```java", readme.get(mark + 1));
    final List<String> rest = readme.subList(mark + 2, readme.size());
    return rest.subList(0, rest.indexOf("```"));
  }

  /** The lines between a sample's marks, moved to the left edge. */
  private static List<String> lines(List<String> source, String sample) {
    final List<String> lines = new ArrayList<>();
    boolean inSample = false;
    for (String line : source) {
      if (line.strip().equals("// README begins: " + sample)) {
        inSample = true;
      } else if (line.strip().equals("// README ends")) {
        inSample = false;
      } else if (inSample) {
        lines.add(line.isEmpty() ? line : line.substring(4));
      }
    }
    return lines;
  }

  /** The directory of the checkout, wherever in it the tests are run from. */
  private static Path checkout() {
    Path directory = Path.of("").toAbsolutePath();
    while (!Files.exists(directory.resolve("README.md"))) {
      directory = directory.getParent();
    }
    return directory;
  }
}
