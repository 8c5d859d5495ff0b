package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The README's sample, compiled and run. The lines between the marks are the README's own, which a
 * test compares; what stands outside of them is what a test needs in place of brokers.
 */
class ReadmeExampleTest {

  private static final ChannelId ORDERS = new ChannelId(new Uuid(1, 1), 0);
  private static final ChannelId PAYMENTS = new ChannelId(new Uuid(2, 2), 0);

  private static final String BEGIN = "// README begins";
  private static final String END = "// README ends";
  private static final String BLOCK_BEGIN = "<!-- the lines of ReadmeExampleTest -->\n```java\n";
  private static final String BLOCK_END = "```\n";

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
    final Properties settings = settings();
    // README begins
    CausalProcessor<String, String> node =
        CausalProcessor.named("shipments")
            .serdes(Serdes.String(), Serdes.String())
            .topic("orders")
            .topic("payments");
    // README ends
    node.directory(
        TopicDirectory.fixed(Map.of("orders", ORDERS.topicId(), "payments", PAYMENTS.topicId())));
    // README begins
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(List.of("orders", "payments"), Causal.consumed())
        .process(node.processing(ShipmentProcessor::new))
        .to("shipments", Causal.produced(Serdes.String(), Serdes.String()));
    CausalStreams streams = CausalStreams.of(builder.build(), settings);
    // README ends
    streams.close(); // It was not started: there are no brokers here.

    try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), settings)) {
      final RecordHeaders afterTheOrder = new RecordHeaders();
      Causes.of(ORDERS, 0).writeTo(afterTheOrder);
      send(driver, "payments", new TestRecord<>("17", "payment", afterTheOrder));
      send(driver, "orders", new TestRecord<>("17", "order"));

      final List<TestRecord<String, String>> shipments =
          driver
              .createOutputTopic("shipments", new StringDeserializer(), new StringDeserializer())
              .readRecordsToList();
      assertEquals(
          List.of("ship after order", "ship after payment"),
          shipments.stream().map(TestRecord::value).toList());
      assertEquals(
          Causes.of(Map.of(ORDERS, 0L, PAYMENTS, 0L)), Causes.from(shipments.get(1).headers()));
    }
  }

  @Test
  void shouldShowTheseLinesInTheReadme() throws IOException {
    final Path checkout = checkout();
    final String readme = Files.readString(checkout.resolve("README.md"), StandardCharsets.UTF_8);
    final int begin = readme.indexOf(BLOCK_BEGIN) + BLOCK_BEGIN.length();
    final String shown = readme.substring(begin, readme.indexOf(BLOCK_END, begin));
    assertEquals(String.join("\n", sampleLines(checkout)) + "\n", shown);
  }

  private static Properties settings() {
    final Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "shipping");
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "127.0.0.1:1"); // Nothing listens there.
    settings.put(StreamsConfig.STATE_DIR_CONFIG, stateDirectory.toString());
    // The launcher sets it for itself; the test driver has to be told.
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    return settings;
  }

  private static void send(
      TopologyTestDriver driver, String topic, TestRecord<String, String> record) {
    driver
        .createInputTopic(topic, new StringSerializer(), new StringSerializer())
        .pipeInput(record);
  }

  /** The lines between the marks, moved to the left edge. */
  private static List<String> sampleLines(Path checkout) throws IOException {
    final Path source =
        checkout.resolve("java/src/test/java/dev/parsley/streams/ReadmeExampleTest.java");
    final List<String> lines = new ArrayList<>();
    boolean inSample = false;
    for (String line : Files.readAllLines(source, StandardCharsets.UTF_8)) {
      if (line.strip().equals(BEGIN)) {
        inSample = true;
      } else if (line.strip().equals(END)) {
        inSample = false;
      } else if (inSample) {
        lines.add(line.substring(4));
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
