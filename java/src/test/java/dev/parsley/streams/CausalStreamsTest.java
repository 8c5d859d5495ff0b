package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.LogAndSkipOnInvalidTimestamp;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the launcher decides without a broker. Nothing listens where these settings point to. */
class CausalStreamsTest {

  @TempDir static Path stateDirectory;

  @ParameterizedTest
  @CsvSource({
    "processing.guarantee,at_least_once",
    "auto.offset.reset,earliest",
    "consumer.auto.offset.reset,latest",
    "main.consumer.auto.offset.reset,earliest",
    "main.consumer.auto.offset.reset,by_duration:PT1H",
    "group.protocol,streams",
    "main.consumer.isolation.level,read_uncommitted",
    "restore.consumer.isolation.level,read_uncommitted",
  })
  void shouldRefuseASettingThatContradictsIt(String key, String value) {
    final RefusalException refusal = refusedWith(sourceAndNode("orders"), Map.of(key, value));
    assertTrue(refusal.getMessage().contains(key + " is '" + value + "'"), refusal.getMessage());
  }

  @Test
  void shouldRefuseWhatPassesOverRecords() {
    for (Map.Entry<String, Class<?>> handler :
        Map.<String, Class<?>>of(
                "deserialization.exception.handler", LogAndContinueExceptionHandler.class,
                "default.deserialization.exception.handler", LogAndContinueExceptionHandler.class,
                "processing.exception.handler", LogAndContinueProcessingExceptionHandler.class,
                "default.timestamp.extractor", LogAndSkipOnInvalidTimestamp.class)
            .entrySet()) {
      for (Object value : List.of(handler.getValue(), handler.getValue().getName())) {
        final RefusalException refusal =
            refusedWith(sourceAndNode("orders"), Map.of(handler.getKey(), value));
        assertTrue(refusal.getMessage().contains(handler.getKey()), refusal.getMessage());
      }
    }
  }

  @Test
  void shouldRefuseASourceWithAResetOfItsOwn() {
    for (AutoOffsetReset reset : List.of(AutoOffsetReset.earliest(), AutoOffsetReset.latest())) {
      final Topology topology = new Topology();
      topology.addSource(reset, "source", "orders");
      topology.addProcessor("node", causal("shipments"), "source");
      final RefusalException refusal = refusedWith(topology, Map.of());
      assertEquals("orders", refusal.topic().orElseThrow());
      assertTrue(refusal.getMessage().contains("parsley.first.positions"), refusal.getMessage());
    }
  }

  @Test
  void shouldRefuseADslSourceWithAResetOfItsOwn() {
    final StreamsBuilder builder = new StreamsBuilder();
    builder.stream(
            "orders",
            Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())
                .withOffsetResetPolicy(AutoOffsetReset.latest()))
        .process(causal("shipments"));
    assertEquals("orders", refusedWith(builder.build(), Map.of()).topic().orElseThrow());
  }

  @Test
  void shouldTakeASourceThatResetsToNone() {
    final Topology topology = new Topology();
    topology.addSource(AutoOffsetReset.none(), "source", "orders");
    topology.addProcessor("node", causal("shipments"), "source");
    CausalStreams.of(topology, settings(Map.of())).close();
  }

  @Test
  void shouldRefuseATopicPatternAboveANode() {
    final Topology topology = new Topology();
    topology.addSource("source", Pattern.compile("orders-.*"));
    topology.addProcessor("node", causal("shipments"), "source");
    final RefusalException refusal = refusedWith(topology, Map.of());
    assertTrue(refusal.getMessage().contains("orders-.*"), refusal.getMessage());
  }

  @Test
  void shouldRefuseANodeAboveANode() {
    final Topology topology = sourceAndNode("orders");
    topology.addProcessor("below", causal("below"), "node");
    final RefusalException refusal = refusedWith(topology, Map.of());
    assertTrue(refusal.getMessage().contains("'shipments'"), refusal.getMessage());
  }

  @Test
  void shouldRefuseARepartitionTopicAboveANode() {
    final StreamsBuilder builder = new StreamsBuilder();
    builder.stream("orders", Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
        .repartition()
        .process(causal("shipments"));
    final RefusalException refusal = refusedWith(builder.build(), Map.of());
    assertTrue(refusal.getMessage().contains("-repartition"), refusal.getMessage());
  }

  @Test
  void shouldRefuseATopologyWithoutANode() {
    final Topology topology = new Topology();
    topology.addSource("source", "orders");
    final Properties settings = settings(Map.of());
    assertThrows(IllegalArgumentException.class, () -> CausalStreams.of(topology, settings));
  }

  @Test
  void shouldRefuseUnknownSettingsOfOurs() {
    final Properties settings = settings(Map.of("parsley.budget", "1"));
    final Topology topology = sourceAndNode("orders");
    final ConfigException error =
        assertThrows(ConfigException.class, () -> CausalStreams.of(topology, settings));
    assertTrue(error.getMessage().contains("parsley.budget.bytes"), error.getMessage());
  }

  @Test
  void shouldSayThatTheApplicationIdIsMissing() {
    final Topology topology = sourceAndNode("orders");
    final Map<String, Object> settings = Map.of("bootstrap.servers", "127.0.0.1:1");
    final ConfigException error =
        assertThrows(ConfigException.class, () -> CausalStreams.of(topology, settings));
    assertTrue(error.getMessage().contains("application.id"), error.getMessage());
  }

  @Test
  void shouldReadDefaultsOfProperties() {
    final Properties withDefaults = new Properties(settings(Map.of("group.protocol", "streams")));
    final Topology topology = sourceAndNode("orders");
    assertThrows(RefusalException.class, () -> CausalStreams.of(topology, withDefaults));
  }

  @Test
  void shouldSayThatTheBrokersDoNotAnswerAndStayStopped() throws Exception {
    final CausalStreams streams =
        CausalStreams.of(
            sourceAndNode("orders"), settings(Map.of("parsley.directory.timeout.ms", "300")));
    final Exception error = assertThrows(RuntimeException.class, streams::start);
    assertTrue(error.getMessage().contains("parsley.directory.timeout.ms"), error.getMessage());
    assertEquals(error, streams.failure().orElseThrow());
    assertTrue(streams.refusal().isEmpty());
    assertEquals(KafkaStreams.State.NOT_RUNNING, streams.state());
    streams.awaitStopped();
    assertThrows(IllegalStateException.class, streams::start);
    streams.close();
  }

  private static RefusalException refusedWith(Topology topology, Map<String, ?> more) {
    final Properties settings = settings(more);
    final RefusalException refusal =
        assertThrows(RefusalException.class, () -> CausalStreams.of(topology, settings));
    assertEquals(RefusalReason.SUBSTRATE_MISCONFIGURED, refusal.reason());
    return assertInstanceOf(RefusalException.class, refusal);
  }

  private static Topology sourceAndNode(String topic) {
    final Topology topology = new Topology();
    topology.addSource("source", topic);
    topology.addProcessor("node", causal("shipments"), "source");
    return topology;
  }

  private static Properties settings(Map<String, ?> more) {
    final Map<String, Object> all = new HashMap<>(more);
    all.put("application.id", "app");
    all.put("bootstrap.servers", "127.0.0.1:1");
    all.put("state.dir", stateDirectory.toString());
    final Properties properties = new Properties();
    properties.putAll(all);
    return properties;
  }

  /** As much of a causal node as the launcher can see of one: a store with the reserved prefix. */
  private static ProcessorSupplier<byte[], byte[], byte[], byte[]> causal(String name) {
    return new ProcessorSupplier<>() {
      @Override
      public Processor<byte[], byte[], byte[], byte[]> get() {
        return new Processor<>() {
          @Override
          public void process(Record<byte[], byte[]> record) {}
        };
      }

      @Override
      public Set<StoreBuilder<?>> stores() {
        return Set.of(
            Stores.keyValueStoreBuilder(
                Stores.inMemoryKeyValueStore("__parsley." + name),
                Serdes.Bytes(),
                Serdes.ByteArray()));
      }
    };
  }
}
