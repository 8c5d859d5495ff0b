package dev.parsley.streams;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.OUTPUT;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static dev.parsley.streams.internal.CausalDriver.hex;
import static dev.parsley.streams.internal.CausalDriver.stampOf;
import static dev.parsley.streams.internal.CausalDriver.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.internal.CausalDriver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;

/**
 * Headers and record contexts are objects that Kafka Streams hands around and that anyone may
 * change, replace or leave out. What one user of them does is not seen by another.
 */
class SharedHeadersTest {

  private static ProcessorSupplier<String, String, String, String> processing(
      BiConsumer<ProcessorContext<String, String>, Record<String, String>> step) {
    return () ->
        new ContextualProcessor<>() {
          @Override
          public void process(Record<String, String> record) {
            step.accept(context(), record);
          }
        };
  }

  @Test
  void shouldNotShowOneChildWhatAnotherDoesToTheHeaders() {
    final List<String> seen = new ArrayList<>();
    final var topology =
        CausalDriver.topology(
                CausalDriver.node()
                    .processing(
                        processing(
                            (context, record) -> {
                              context.forward(record, "changing");
                              seen.add("after " + shown(record.headers()));
                              context.forward(record, "sink");
                            })))
            .addProcessor(
                "changing",
                processing((context, record) -> record.headers().add("b", utf8("2")).remove("a")),
                "node");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(ORDERS, utf8("k"), utf8("v"), Causes.none(), 1, header("a", "1"));

      assertEquals(List.of("after a=1"), seen);
      final TestRecord<byte[], byte[]> sent = driver.sent().get(0);
      assertEquals("a=1", shown(sent.headers()).replaceFirst(",parsley.causes=.*", ""));
      assertTrue(stampOf(sent).startsWith("0101"), stampOf(sent));
    }
  }

  @Test
  void shouldNotShowChildrenOfTheSourceWhatTheApplicationDoesToTheHeaders() {
    final List<String> seen = new ArrayList<>();
    final ProcessorSupplier<byte[], byte[], Void, Void> sibling =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<byte[], byte[]> record) {
                seen.add(shown(record.headers()));
              }
            };
    final var topology =
        CausalDriver.topology(
                CausalDriver.node()
                    .processing(
                        processing(
                            (context, record) -> record.headers().add("b", utf8("2")).remove("a"))))
            .addProcessor("sibling", sibling, "source");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(ORDERS, utf8("k"), utf8("v"), null, 1, header("a", "1"));
      driver.pipe(ORDERS, utf8("k"), utf8("v"), null, 1);

      assertEquals(List.of("a=1", ""), seen);
    }
  }

  @Test
  void shouldHoldHeadersAsTheyCameWhateverIsDoneToThoseOfOtherRecords() {
    final List<String> seen = new ArrayList<>();
    final var node =
        CausalDriver.node()
            .processing(
                processing(
                    (context, record) -> {
                      seen.add(record.value() + " " + shown(record.headers()));
                      record.headers().remove("a").add("a", utf8("changed"));
                      context.forward(record);
                    }));
    try (CausalDriver driver = CausalDriver.of(node)) {
      driver.pipe(
          PAYMENTS,
          utf8("k"),
          utf8("held"),
          afterOrder(0),
          1,
          header("a", "1"),
          header("a", "2"),
          new RecordHeader("null", null),
          new RecordHeader("empty", new byte[0]),
          header("a", "1"));
      driver.pipe(PAYMENTS, utf8("k"), utf8("behind"), null, 1, header("a", "3"));
      driver.pipe(ORDERS, utf8("k"), utf8("order"), null, 1, header("a", "4"));

      assertEquals(List.of("order a=4", "held a=1,a=2,null=null,empty=,a=1", "behind a=3"), seen);
      for (TestRecord<byte[], byte[]> sent : driver.sent()) {
        assertTrue(shown(sent.headers()).contains("a=changed"), shown(sent.headers()));
        assertTrue(stampOf(sent).startsWith("010"), stampOf(sent));
      }
    }
  }

  @Test
  void shouldKeepTheStampThroughABufferOfKafkaStreams() {
    final StreamsBuilder builder = new StreamsBuilder();
    builder.stream(List.of(ORDERS, PAYMENTS), Causal.consumed())
        .process(
            CausalDriver.node()
                .processing(processing((context, record) -> context.forward(record))))
        .toTable(Materialized.with(Serdes.String(), Serdes.String()))
        .suppress(
            Suppressed.untilTimeLimit(
                Duration.ofMillis(10), Suppressed.BufferConfig.unbounded().withLoggingDisabled()))
        .toStream()
        .to(OUTPUT, Causal.produced(Serdes.String(), Serdes.String()));
    try (CausalDriver driver = CausalDriver.of(builder.build())) {
      driver.pipe(ORDERS, utf8("1"), utf8("order"), null, 1_000, header("a", "1"));
      assertEquals(List.of(), driver.sent());
      driver.pipe(ORDERS, utf8("2"), utf8("later"), null, 2_000, header("a", "2"));

      final TestRecord<byte[], byte[]> sent = driver.sent().get(0);

      assertEquals("a=1", shown(sent.headers()).replaceFirst(",parsley.causes=.*", ""));
      assertTrue(stampOf(sent).endsWith(hex(new byte[8])), stampOf(sent)); // Of its own time.
    }
  }

  @Test
  void shouldPunctuateWithoutTheMetadataOfAnyRecord() {
    final List<String> seen = new ArrayList<>();
    final var store =
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore("ticks"), Serdes.String(), Serdes.Long());
    final ProcessorSupplier<String, String, String, String> ticking =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void init(ProcessorContext<String, String> context) {
                super.init(context);
                context.schedule(
                    Duration.ofSeconds(1), PunctuationType.WALL_CLOCK_TIME, this::tick);
              }

              private void tick(long now) {
                seen.add(
                    context()
                        .recordMetadata()
                        .map(metadata -> metadata.topic() + "@" + metadata.offset())
                        .orElse("none"));
                final KeyValueStore<String, Long> ticks = context().getStateStore("ticks");
                ticks.put("last", now);
                context().forward(new Record<>("k", "tick", now));
              }

              @Override
              public void process(Record<String, String> record) {
                context().forward(record);
              }
            };
    final var topology =
        CausalDriver.topology(CausalDriver.node().stores("ticks").processing(ticking))
            .addStateStore(store, "node");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1)); // Before any record.
      driver.pipe(PAYMENTS, "payment", afterOrder(0));
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1)); // While one is held.
      driver.pipe(ORDERS, "order", null);
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1)); // After one was released.

      assertEquals(List.of("null@-1", "null@-1", "null@-1"), seen);
      assertEquals(List.of("tick", "tick", "order", "payment", "tick"), driver.sentValues());
    }
  }

  private static Header header(String name, String value) {
    return new RecordHeader(name, utf8(value));
  }

  private static String shown(Headers headers) {
    final List<String> shown = new ArrayList<>();
    headers.forEach(header -> shown.add(header.key() + "=" + CausalDriver.text(header.value())));
    return String.join(",", shown);
  }
}
