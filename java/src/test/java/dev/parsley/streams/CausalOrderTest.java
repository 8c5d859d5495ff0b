package dev.parsley.streams;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.ORDERS_HEX;
import static dev.parsley.streams.internal.CausalDriver.OUTPUT;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS_HEX;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static dev.parsley.streams.internal.CausalDriver.stampOf;
import static dev.parsley.streams.internal.CausalDriver.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.internal.CausalDriver;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;

/** What the application's processor sees, in which order, and what its records carry. */
class CausalOrderTest {

  /** Forwards what it gets. */
  private static class Forwarding extends ContextualProcessor<String, String, String, String> {
    @Override
    public void process(Record<String, String> record) {
      context().forward(record);
    }
  }

  @Test
  void shouldHoldAnEffectUntilItsCauseIsDelivered() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(PAYMENTS, "payment of order 1", afterOrder(1));
      driver.pipe(ORDERS, "order 0", null);
      assertEquals(List.of("order 0"), driver.sentValues());

      driver.pipe(ORDERS, "order 1", null);

      assertEquals(List.of("order 1", "payment of order 1"), driver.sentValues());
    }
  }

  @Test
  void shouldDeliverAnEffectThatComesAfterItsCauseAtOnce() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(ORDERS, "order 0", Causes.none());
      driver.pipe(PAYMENTS, "payment of order 0", afterOrder(0));

      assertEquals(List.of("order 0", "payment of order 0"), driver.sentValues());
    }
  }

  @Test
  void shouldReleaseAChainOfHoldsWithItsFirstCause() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(PAYMENTS, "payment 0", afterOrder(0));
      driver.pipe(PAYMENTS, "payment 1", afterOrder(1));
      driver.pipe(PAYMENTS, "payment 2", null);
      assertEquals(List.of(), driver.sentValues());

      driver.pipe(ORDERS, "order 0", null);
      assertEquals(List.of("order 0", "payment 0"), driver.sentValues());

      driver.pipe(ORDERS, "order 1", Causes.of(CausalDriver.PAYMENTS_0, 0));
      assertEquals(List.of("order 1", "payment 1", "payment 2"), driver.sentValues());
    }
  }

  @Test
  void shouldIgnoreCausesOnTopicsItDoesNotReceive() {
    final ChannelId elsewhere = new ChannelId(Uuid.randomUuid(), 3);
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(ORDERS, "order 0", Causes.of(elsewhere, 77));

      assertEquals(List.of("order 0"), driver.sentValues());
    }
  }

  @Test
  void shouldStampWhatIsForwardedWithEverythingItDependsOn() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(ORDERS, "order 0", null);
      driver.pipe(PAYMENTS, "payment 0", afterOrder(0));
      driver.pipe(ORDERS, "order 1", null);

      final List<String> stamps =
          driver.sent().stream().map(CausalDriver::stampOf).collect(Collectors.toList());

      assertEquals(
          List.of(
              "0101" + ORDERS_HEX + "0100" + "0000000000000000",
              "0102"
                  + (ORDERS_HEX + "0100" + "0000000000000000")
                  + (PAYMENTS_HEX + "0100" + "0000000000000000"),
              "0102"
                  + (ORDERS_HEX + "0100" + "0000000000000001")
                  + (PAYMENTS_HEX + "0100" + "0000000000000000")),
          stamps);
    }
  }

  @Test
  void shouldStampWithTheCausesOfRecordsStillHeld() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(PAYMENTS, "payment of order 5", afterOrder(5));
      driver.pipe(ORDERS, "order 0", null);

      assertEquals(
          "0101" + ORDERS_HEX + "0100" + "0000000000000005", stampOf(driver.sent().get(0)));
    }
  }

  /** Around the length up to which they go another way into the engine. */
  @Test
  void shouldTakeInCausesOfAnyLength() {
    final Uuid elsewhere = new Uuid(1, 1);
    for (int partitions : new int[] {100, 1_645, 1_646, 1_647, 10_000}) {
      final Causes.Builder wide = Causes.builder().add(CausalDriver.ORDERS_0, 1);
      for (int partition = 0; partition < partitions; partition++) {
        wide.add(new ChannelId(elsewhere, partition), partition);
      }
      try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
        driver.pipe(PAYMENTS, "payment of order 1", wide.build());
        driver.pipe(ORDERS, "order 0", null);
        driver.pipe(ORDERS, "order 1", null);

        final List<TestRecord<byte[], byte[]>> sent = driver.sent();
        final String before = CausalDriver.hex(wide.build().encode());
        assertEquals(before, stampOf(sent.get(0)), partitions + " partitions");
        assertEquals(before, stampOf(sent.get(1)), partitions + " partitions");
        assertEquals("payment of order 1", CausalDriver.text(sent.get(2).value()));
        final Causes after = wide.add(CausalDriver.PAYMENTS_0, 0).build();
        assertEquals(CausalDriver.hex(after.encode()), stampOf(sent.get(2)));
      }
    }
  }

  @Test
  void shouldGiveReleasedRecordsTheirOwnMetadataTimestampAndHeaders() {
    final List<String> seen = new ArrayList<>();
    final ProcessorSupplier<String, String, String, String> recording =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<String, String> record) {
                final RecordMetadata metadata = context().recordMetadata().orElseThrow();
                seen.add(
                    metadata.topic()
                        + "-"
                        + metadata.partition()
                        + "@"
                        + metadata.offset()
                        + " at "
                        + record.timestamp()
                        + " "
                        + names(record.headers())
                        + " "
                        + record.value());
              }
            };
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(recording))) {
      driver.pipe(PAYMENTS, utf8("k"), utf8("p"), afterOrder(0), 500, header("x"), header("y"));
      driver.pipe(ORDERS, utf8("k"), utf8("o"), null, 900, header("z"));

      assertEquals(List.of("orders-0@0 at 900 [z] o", "payments-0@0 at 500 [x, y] p"), seen);
    }
  }

  @Test
  void shouldKeepTheOrderOfHeadersAndPutTheStampLast() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(Forwarding::new))) {
      driver.pipe(
          ORDERS, utf8("k"), utf8("v"), Causes.none(), 1, header("b"), header("a"), header("b"));

      assertEquals(List.of("b", "a", "b", Causes.HEADER), names(driver.sent().get(0).headers()));
    }
  }

  @Test
  void shouldTellNullFromEmptyForHeldRecords() {
    final List<String> seen = new ArrayList<>();
    final ProcessorSupplier<String, String, String, String> recording =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<String, String> record) {
                final Header header = record.headers().lastHeader("h");
                final String content =
                    header == null ? "absent" : header.value() == null ? "null" : "empty";
                seen.add("[" + record.key() + "] [" + record.value() + "] " + content);
              }
            };
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(recording))) {
      final Header none = new RecordHeader("h", null);
      final Header empty = new RecordHeader("h", new byte[0]);
      driver.pipe(PAYMENTS, null, null, afterOrder(0), 1, none);
      driver.pipe(PAYMENTS, new byte[0], new byte[0], null, 1, empty);
      driver.pipe(PAYMENTS, null, new byte[0], null, 1);
      driver.pipe(PAYMENTS, new byte[0], null, null, 1);
      assertEquals(List.of(), seen);

      driver.pipe(ORDERS, "order", null);

      assertEquals(
          List.of(
              "[key] [order] absent",
              "[null] [null] null",
              "[] [] empty",
              "[null] [] absent",
              "[] [null] absent"),
          seen);
    }
  }

  @Test
  void shouldReadEachTopicWithItsOwnSerdes() {
    final ProcessorSupplier<Object, Object, String, String> printing =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<Object, Object> record) {
                final String types =
                    record.key().getClass().getSimpleName()
                        + " "
                        + record.value().getClass().getSimpleName();
                context().forward(record.withKey("k").withValue(types));
              }
            };
    final ProcessorSupplier<byte[], byte[], String, String> node =
        CausalProcessor.named("n")
            .typed(Object.class, Object.class)
            .topic(ORDERS, Serdes.String(), Serdes.Long())
            .topic(PAYMENTS, Serdes.Integer(), Serdes.ByteArray())
            .directory(CausalDriver.directory())
            .processing(printing);
    try (CausalDriver driver = CausalDriver.of(node)) {
      driver.pipe(ORDERS, utf8("k"), new byte[8], null, 1);
      driver.pipe(PAYMENTS, new byte[4], new byte[1], null, 1);

      assertEquals(List.of("String Long", "Integer byte[]"), driver.sentValues());
    }
  }

  @Test
  void shouldHideOurHeadersFromDeserializers() {
    final List<List<String>> seen = new ArrayList<>();
    final Deserializer<String> spying =
        new Deserializer<>() {
          @Override
          public String deserialize(String topic, byte[] data) {
            throw new AssertionError("a deserializer is given the headers");
          }

          @Override
          public String deserialize(String topic, Headers headers, byte[] data) {
            seen.add(names(headers));
            return new StringDeserializer().deserialize(topic, data);
          }
        };
    final var spied = Serdes.serdeFrom(new StringSerializer(), spying);
    final var node =
        CausalProcessor.named("n")
            .serdes(spied, spied)
            .topic(ORDERS)
            .topic(PAYMENTS)
            .directory(CausalDriver.directory())
            .processing(Forwarding::new);
    try (CausalDriver driver = CausalDriver.of(node)) {
      driver.pipe(PAYMENTS, utf8("k"), utf8("v"), afterOrder(0), 1, header("parsley.other"));
      driver.pipe(ORDERS, utf8("k"), utf8("v"), Causes.none(), 1, header("own"));

      assertEquals(List.of(List.of("own"), List.of("own"), List.of(), List.of()), seen);
    }
  }

  @Test
  void shouldHideOurHeadersFromTheSerdesOfTheApplicationsStores() {
    final List<List<String>> seen = new ArrayList<>();
    final Deserializer<String> plain = new StringDeserializer();
    final var spied =
        Serdes.serdeFrom(
            new Serializer<String>() {
              @Override
              public byte[] serialize(String topic, String data) {
                return utf8(data);
              }

              @Override
              public byte[] serialize(String topic, Headers headers, String data) {
                seen.add(names(headers));
                return utf8(data);
              }
            },
            plain);
    final StoreBuilder<KeyValueStore<String, String>> store =
        Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("last"), Serdes.String(), spied)
            .withLoggingDisabled();
    try (CausalDriver driver =
        CausalDriver.of(CausalDriver.node().processing(new Storing(store)))) {
      driver.pipe(PAYMENTS, utf8("k"), utf8("p"), afterOrder(0), 1, header("held"));
      driver.pipe(ORDERS, utf8("k"), utf8("o"), Causes.none(), 1, header("own"));

      assertEquals(List.of(List.of("own"), List.of("held")), seen);
    }
  }

  /** Puts each record into a store that its supplier connects. */
  private static final class Storing implements ProcessorSupplier<String, String, String, String> {
    private final StoreBuilder<KeyValueStore<String, String>> store;

    Storing(StoreBuilder<KeyValueStore<String, String>> store) {
      this.store = store;
    }

    @Override
    public Set<StoreBuilder<?>> stores() {
      return Set.of(store);
    }

    @Override
    public ContextualProcessor<String, String, String, String> get() {
      return new ContextualProcessor<>() {
        @Override
        public void process(Record<String, String> record) {
          final KeyValueStore<String, String> last = context().getStateStore(store.name());
          final String before = last.get(record.key());
          last.put(record.key(), record.value());
          context().forward(record.withValue(before + "," + record.value()));
        }
      };
    }
  }

  @Test
  void shouldConnectTheStoresOfTheApplicationsSupplier() {
    final StoreBuilder<KeyValueStore<String, String>> store =
        Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore("last"), Serdes.String(), Serdes.String());
    try (CausalDriver driver =
        CausalDriver.of(CausalDriver.node().processing(new Storing(store)))) {
      driver.pipe(ORDERS, "order 0", null).pipe(ORDERS, "order 1", null);

      assertEquals(List.of("null,order 0", "order 0,order 1"), driver.sentValues());
    }
  }

  @Test
  void shouldReachStoresThatWereNamedToTheBuilder() {
    final var store =
        Stores.keyValueStoreBuilder(
            Stores.inMemoryKeyValueStore("last"), Serdes.String(), Serdes.String());
    final ProcessorSupplier<String, String, String, String> storing =
        () -> new Storing(store).get(); // Connects nothing itself.
    final var topology =
        CausalDriver.topology(CausalDriver.node().stores("last").processing(storing))
            .addStateStore(store, "node");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(ORDERS, "order 0", null);

      assertEquals(List.of("null,order 0"), driver.sentValues());
    }
  }

  @Test
  void shouldStampWhatPunctuatorsForward() {
    final ProcessorSupplier<String, String, String, String> ticking =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void init(ProcessorContext<String, String> context) {
                super.init(context);
                context.schedule(
                    Duration.ofSeconds(1),
                    PunctuationType.WALL_CLOCK_TIME,
                    now -> context.forward(new Record<>("k", "tick", now)));
              }

              @Override
              public void process(Record<String, String> record) {}
            };
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(ticking))) {
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1));
      driver.pipe(ORDERS, "order 0", null);
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1));

      final List<TestRecord<byte[], byte[]>> sent = driver.sent();

      assertEquals("0100", stampOf(sent.get(0)));
      assertEquals("0101" + ORDERS_HEX + "0100" + "0000000000000000", stampOf(sent.get(1)));
    }
  }

  @Test
  void shouldForwardToOneChildByName() {
    final ProcessorSupplier<String, String, String, String> routing =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<String, String> record) {
                context().forward(record, record.value());
              }
            };
    final var topology =
        CausalDriver.topology(CausalDriver.node().processing(routing))
            .addSink("other", "other-out", new StringSerializer(), new StringSerializer(), "node");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(ORDERS, "other", null).pipe(ORDERS, "sink", null);

      assertEquals(List.of("sink"), driver.sentValues());
      final List<TestRecord<byte[], byte[]>> other = driver.sent("other-out");
      assertEquals(1, other.size());
      assertEquals("0101" + ORDERS_HEX + "0100" + "0000000000000000", stampOf(other.get(0)));
    }
  }

  @Test
  void shouldWorkInTheDslAndKeepTheStampThroughIt() {
    final StreamsBuilder builder = new StreamsBuilder();
    builder.stream(List.of(ORDERS, PAYMENTS), Causal.consumed())
        .process(CausalDriver.node().processing(Forwarding::new))
        .mapValues(value -> value + "!")
        .filter((key, value) -> !value.isEmpty())
        .selectKey((key, value) -> value)
        .to(OUTPUT, Causal.produced(Serdes.String(), Serdes.String()));
    try (CausalDriver driver = CausalDriver.of(builder.build())) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0)).pipe(ORDERS, "order", null);

      final List<TestRecord<byte[], byte[]>> sent = driver.sent();

      assertArrayEquals(utf8("order!"), sent.get(0).key());
      assertArrayEquals(utf8("payment!"), sent.get(1).key());
      assertEquals(
          "0102"
              + (ORDERS_HEX + "0100" + "0000000000000000")
              + (PAYMENTS_HEX + "0100" + "0000000000000000"),
          stampOf(sent.get(1)));
    }
  }

  @Test
  void shouldKeepTheStampWhenAChildReplacesTheHeaders() {
    final ProcessorSupplier<String, String, String, String> replacing =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<String, String> record) {
                context().forward(record.withHeaders(new RecordHeaders().add(header("new"))));
              }
            };
    final var topology =
        Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS)
            .addProcessor("node", CausalDriver.node().processing(Forwarding::new), "source")
            .addProcessor("child", replacing, "node")
            .addSink("sink", OUTPUT, new StringSerializer(), new StringSerializer(), "child");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(ORDERS, utf8("k"), utf8("v"), null, 1, header("old"));

      assertEquals(List.of("new", Causes.HEADER), names(driver.sent().get(0).headers()));
    }
  }

  @Test
  void shouldLeaveTheRecordAsItWasToOtherChildrenOfTheSource() {
    final List<String> seen = new ArrayList<>();
    final Serializer<byte[]> spying =
        new Serializer<>() {
          @Override
          public byte[] serialize(String topic, byte[] data) {
            throw new AssertionError("a serializer is given the headers");
          }

          @Override
          public byte[] serialize(String topic, Headers headers, byte[] data) {
            seen.add(names(headers).toString());
            return data;
          }
        };
    final var store =
        Stores.keyValueStoreBuilder(
            Stores.inMemoryKeyValueStore("spied"),
            Serdes.ByteArray(),
            Serdes.serdeFrom(spying, new ByteArrayDeserializer()));
    final ProcessorSupplier<byte[], byte[], Void, Void> sibling =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void process(Record<byte[], byte[]> record) {
                final RecordMetadata metadata = context().recordMetadata().orElseThrow();
                seen.add(metadata.topic() + "@" + metadata.offset());
                final KeyValueStore<byte[], byte[]> spied = context().getStateStore("spied");
                spied.put(record.key(), record.value());
              }
            };
    final var topology =
        CausalDriver.topology(CausalDriver.node().processing(Forwarding::new))
            .addProcessor("sibling", sibling, "source")
            .addStateStore(store, "sibling");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0)).pipe(ORDERS, "order", Causes.none());
      driver.pipe(ORDERS, "order", Causes.none());

      final String causes = List.of(Causes.HEADER).toString();
      assertEquals(List.of("payments@0", causes, "orders@0", causes, "orders@1", causes), seen);
    }
  }

  @Test
  void shouldWriteNoHoldToTheChangelogWhenNothingIsHeld() {
    final var node = CausalDriver.node().processing(Forwarding::new);
    try (CausalDriver driver =
        CausalDriver.of(
            CausalDriver.topology(node),
            settings -> {
              settings.put("application.id", "app");
              return settings;
            })) {
      for (int position = 0; position < 20; position++) {
        driver.pipe(ORDERS, "order", null).pipe(PAYMENTS, "payment", afterOrder(position));
      }

      final List<TestRecord<byte[], byte[]>> changes =
          driver.sent("app-__parsley.shipments-changelog");

      final String tags =
          changes.stream()
              .map(change -> String.valueOf((char) change.key()[0]))
              .distinct()
              .sorted()
              .collect(Collectors.joining());
      assertEquals("cfnpv", tags);
      // The driver commits after every record, which changes fedUpTo and frontier of its channel,
      // and for a payment the past of its cause. The first commit has version and two names.
      assertEquals(3 + 20 * (2 + 3), changes.size());
    }
  }

  @Test
  void shouldPutAHoldIntoTheChangelogAndTakeItOutAgain() {
    final var node = CausalDriver.node().processing(Forwarding::new);
    try (CausalDriver driver =
        CausalDriver.of(
            CausalDriver.topology(node),
            settings -> {
              settings.put("application.id", "app");
              return settings;
            })) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0)).pipe(ORDERS, "order", null);

      final List<TestRecord<byte[], byte[]>> holds =
          driver.sent("app-__parsley.shipments-changelog").stream()
              .filter(change -> change.key()[0] == 'h')
              .collect(Collectors.toList());

      assertEquals(2, holds.size());
      assertEquals(
          "68" + PAYMENTS_HEX + "00000000" + "0000000000000000",
          CausalDriver.hex(holds.get(0).key()));
      assertEquals(2, holds.get(0).value()[0]);
      final String row = new String(holds.get(0).value(), StandardCharsets.ISO_8859_1);
      assertTrue(row.contains(Causes.HEADER), "all headers are held, ours too");
      assertNull(holds.get(1).value());
    }
  }

  @Test
  void shouldAskTheApplicationsSupplierOncePerProcessor() {
    final List<Forwarding> supplied = new ArrayList<>();
    final ProcessorSupplier<byte[], byte[], String, String> node =
        CausalDriver.node()
            .processing(
                () -> {
                  supplied.add(new Forwarding());
                  return supplied.get(supplied.size() - 1);
                });

    final Object first = node.get();
    final Object second = node.get();

    assertEquals(2, supplied.size());
    assertEquals(2, Stream.of(first, second).distinct().count());
    assertEquals(node.stores(), node.stores());
  }

  private static Header header(String name) {
    return new RecordHeader(name, new byte[] {1});
  }

  private static List<String> names(Headers headers) {
    final List<String> names = new ArrayList<>();
    headers.forEach(header -> names.add(header.key()));
    return names;
  }
}
