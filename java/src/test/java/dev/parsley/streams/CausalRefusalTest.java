package dev.parsley.streams;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.ORDERS_0;
import static dev.parsley.streams.internal.CausalDriver.OUTPUT;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS_0;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static dev.parsley.streams.internal.CausalDriver.utf8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.internal.CausalDriver;
import dev.parsley.streams.internal.Refusals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.processor.LogAndSkipOnInvalidTimestamp;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Each refusal that a test driver can bring about, as it reaches the application. */
class CausalRefusalTest {

  /** An application whose step is given by the test. */
  private static ProcessorSupplier<String, String, String, String> application(
      Consumer<ProcessorContext<String, String>> step) {
    return () ->
        new ContextualProcessor<>() {
          @Override
          public void process(Record<String, String> record) {
            step.accept(context());
          }
        };
  }

  private static final ProcessorSupplier<String, String, String, String> IDLE =
      application(context -> {});

  private static final ProcessorSupplier<String, String, String, String> FORWARDING =
      application(context -> context.forward(new Record<>("k", "v", 1)));

  /** Version, count, topic id, count, partition, position. */
  private static final long CAUSES_OF_ONE_BYTES = 1 + 1 + 16 + 1 + 1 + 8;

  @Test
  void shouldRefuseACausesHeaderThatDoesNotDecode() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(IDLE))) {
      final RecordHeaders headers = new RecordHeaders();
      headers.add(Causes.HEADER, new byte[] {1, 0, 0});

      final RefusalException refusal =
          refused(
              RefusalReason.UNDECODABLE_METADATA,
              () -> driver.pipe(ORDERS, new TestRecord<>(null, null, headers, 1L)));

      assertEquals(Optional.of(ORDERS_0), refusal.channel());
      assertEquals(Optional.of(ORDERS), refusal.topic());
      assertEquals(OptionalLong.of(0), refusal.position());
    }
  }

  @Test
  void shouldRefuseACausesHeaderWithoutValue() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(IDLE))) {
      final RecordHeaders headers = new RecordHeaders();
      headers.add(Causes.HEADER, null);

      refused(
          RefusalReason.UNDECODABLE_METADATA,
          () -> driver.pipe(ORDERS, new TestRecord<>(null, null, headers, 1L)));
    }
  }

  @Test
  void shouldRefuseATopicThatIsNotDeclaredAndSayHow() {
    final CausalProcessor<String, String> node =
        CausalProcessor.named("shipments")
            .serdes(Serdes.String(), Serdes.String())
            .topic(ORDERS)
            .directory(CausalDriver.directory());
    try (CausalDriver driver = CausalDriver.of(node.processing(FORWARDING))) {
      driver.pipe(ORDERS, "order 0", null);

      final RefusalException refusal =
          refused(
              RefusalReason.SUBSTRATE_MISCONFIGURED,
              () -> driver.pipe(PAYMENTS, "payment 0", null));

      assertEquals(Optional.of(PAYMENTS), refusal.topic());
      assertTrue(refusal.getMessage().contains(".topic(\"payments\")"), refusal.getMessage());
    }
  }

  @Test
  void shouldRefuseACausesHeaderThatComesTwice() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(IDLE))) {
      final RecordHeaders headers = new RecordHeaders();
      headers.add(Causes.HEADER, Causes.none().encode());
      headers.add(Causes.HEADER, Causes.none().encode());

      refused(
          RefusalReason.UNDECODABLE_METADATA,
          () -> driver.pipe(ORDERS, new TestRecord<>(null, null, headers, 1L)));
    }
  }

  @Test
  void shouldRefuseCausesBeyondTheBudget() {
    final var node = CausalDriver.node().budgetBytes(CAUSES_OF_ONE_BYTES).processing(IDLE);
    try (CausalDriver driver = CausalDriver.of(node)) {
      driver.pipe(ORDERS, "as wide as the budget", Causes.none());

      final RefusalException refusal =
          refused(
              RefusalReason.METADATA_BUDGET_EXCEEDED,
              () ->
                  driver.pipe(
                      ORDERS, "wider", afterOrder(0).plus(new ChannelId(Uuid.randomUuid(), 1), 1)));

      assertEquals(OptionalLong.of(CAUSES_OF_ONE_BYTES), refusal.bound());
      assertEquals(OptionalLong.of(1), refusal.position());
      assertEquals(Optional.of(ORDERS_0), refusal.channel());
    }
  }

  @Test
  void shouldTakeTheBudgetFromTheSettings() {
    refused(
        RefusalReason.METADATA_BUDGET_EXCEEDED,
        () -> {
          try (CausalDriver driver =
              CausalDriver.of(
                  CausalDriver.topology(CausalDriver.node().processing(IDLE)),
                  with(ParsleyConfig.BUDGET_BYTES, CAUSES_OF_ONE_BYTES - 1))) {
            driver.pipe(ORDERS, "order", null);
          }
        });
  }

  @Test
  void shouldRefuseARecordTheDeserializerCannotRead() {
    final var node =
        CausalProcessor.named("n")
            .typed(String.class, Long.class)
            .topic(ORDERS, Serdes.String(), Serdes.Long())
            .topic(PAYMENTS, Serdes.String(), Serdes.Long())
            .directory(CausalDriver.directory())
            .processing(
                () ->
                    new ContextualProcessor<String, Long, String, String>() {
                      @Override
                      public void process(Record<String, Long> record) {}
                    });
    try (CausalDriver driver = CausalDriver.of(node)) {
      driver.pipe(PAYMENTS, utf8("k"), new byte[3], afterOrder(0), 1);

      // The order is fine; the payment it releases is not, and the refusal is about the payment.
      final RefusalException refusal =
          refused(
              RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE,
              () -> driver.pipe(ORDERS, utf8("k"), new byte[8], null, 1));

      assertEquals(Optional.of(PAYMENTS_0), refusal.channel());
      assertEquals(Optional.of(PAYMENTS), refusal.topic());
      assertEquals(OptionalLong.of(0), refusal.position());
      assertTrue(refusal.getCause().getMessage().contains("8"), refusal.getCause().getMessage());
    }
  }

  @Test
  void shouldRefuseARecordTheGuardedSerializerCannotWrite() {
    final Serializer<String> failing =
        (topic, data) -> {
          throw new IllegalStateException("cannot write " + data);
        };
    try (CausalDriver driver = CausalDriver.of(withSink(FORWARDING, Causal.serializer(failing)))) {

      final RefusalException refusal =
          refused(
              RefusalReason.APPLICATION_PAYLOAD_UNSERIALIZABLE,
              () -> driver.pipe(ORDERS, "order", null));

      assertEquals(Optional.of(OUTPUT), refusal.topic());
      assertEquals("cannot write v", refusal.getCause().getMessage());
    }
  }

  @Test
  void shouldRefuseReservedHeadersTheApplicationForwards() {
    final var reserving =
        application(
            context ->
                context.forward(
                    new Record<>("k", "v", 1, new RecordHeaders().add("parsley.x", new byte[0]))));
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(reserving))) {
      refused(RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldRefuseReservedHeadersThatAnUnguardedSerializerAdds() {
    try (CausalDriver driver = CausalDriver.of(withSink(FORWARDING, addingHeader(Causes.HEADER)))) {
      refused(RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldRefuseToSendWithoutTheStampThatANodeBehindTookOff() {
    refusedBehindTheNode(record -> new Record<>(record.key(), record.value(), record.timestamp()));
    refusedBehindTheNode(
        record -> {
          final Record<String, String> copy =
              new Record<>(record.key(), record.value(), record.timestamp(), record.headers());
          copy.headers().remove(Causes.HEADER);
          return copy;
        });
    refusedBehindTheNode(
        record -> {
          final Record<String, String> copy =
              new Record<>(record.key(), record.value(), record.timestamp(), record.headers());
          copy.headers().add(Causes.HEADER, Causes.none().encode());
          return copy;
        });
    refusedBehindTheNode(
        record -> {
          final Record<String, String> copy =
              new Record<>(record.key(), record.value(), record.timestamp(), record.headers());
          copy.headers().add("parsley.mine", new byte[0]);
          return copy;
        });
  }

  private static void refusedBehindTheNode(UnaryOperator<Record<String, String>> change) {
    final Topology topology =
        Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS)
            .addProcessor("node", CausalDriver.node().processing(FORWARDING), "source")
            .addProcessor(
                "behind",
                () ->
                    new ContextualProcessor<String, String, String, String>() {
                      @Override
                      public void process(Record<String, String> record) {
                        context().forward(change.apply(record));
                      }
                    },
                "node")
            .addSink(
                "sink",
                OUTPUT,
                Causal.serializer(new StringSerializer()),
                Causal.serializer(new StringSerializer()),
                "behind");
    try (CausalDriver driver = CausalDriver.of(topology)) {
      refused(
          RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", Causes.none()));
    }
  }

  @Test
  void shouldRefuseReservedHeadersThatAGuardedSerializerAdds() {
    try (CausalDriver driver =
        CausalDriver.of(withSink(FORWARDING, Causal.serializer(addingHeader("parsley.y"))))) {
      refused(RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldLetSerializersAddHeadersOfTheirOwnAndHideOurs() {
    final List<String> seen = new ArrayList<>();
    final Serializer<String> adding = addingHeader("schema");
    final Serializer<String> spying =
        new Serializer<>() {
          @Override
          public byte[] serialize(String topic, String data) {
            throw new AssertionError("a serializer is given the headers");
          }

          @Override
          public byte[] serialize(String topic, Headers headers, String data) {
            headers.forEach(header -> seen.add(header.key()));
            return adding.serialize(topic, headers, data);
          }
        };
    try (CausalDriver driver = CausalDriver.of(withSink(FORWARDING, Causal.serializer(spying)))) {
      driver.pipe(ORDERS, "order", null);

      final Headers sent = driver.sent().get(0).headers();

      assertEquals(List.of(), seen);
      assertEquals(1, sent.lastHeader("schema").value().length);
      assertEquals(Causes.HEADER, sent.toArray()[0].key());
    }
  }

  @Test
  void shouldRefuseTakingTheStampOff() {
    final Serializer<String> removing =
        new Serializer<>() {
          @Override
          public byte[] serialize(String topic, String data) {
            throw new AssertionError("a serializer is given the headers");
          }

          @Override
          public byte[] serialize(String topic, Headers headers, String data) {
            headers.remove(Causes.HEADER);
            return utf8(data);
          }
        };
    try (CausalDriver driver = CausalDriver.of(withSink(FORWARDING, removing))) {
      refused(RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldRefuseTheOrderingStoreToTheApplication() {
    for (String store : List.of("__parsley.shipments", "other")) {
      final var asking = application(context -> context.getStateStore(store));
      try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(asking))) {
        final RefusalException refusal =
            refused(
                RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE,
                () -> driver.pipe(ORDERS, "order", null));
        assertTrue(refusal.getMessage().contains("'" + store + "'"), refusal.getMessage());
      }
    }
  }

  @Test
  void shouldRaiseASwallowedRefusalAgainAfterTheStep() {
    final var swallowing =
        application(
            context -> {
              try {
                context.getStateStore("other");
              } catch (RuntimeException swallowed) {
                // As applications do.
              }
            });
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(swallowing))) {
      refused(
          RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldRaiseARefusalSwallowedBetweenSinkAndApplication() {
    final var swallowing =
        application(
            context -> {
              try {
                context.forward(new Record<>("k", "v", 1));
              } catch (RuntimeException swallowed) {
                // As applications do.
              }
            });
    try (CausalDriver driver =
        CausalDriver.of(withSink(swallowing, Causal.serializer(addingHeader("parsley.x"))))) {
      refused(RefusalReason.RESERVED_HEADER_USED, () -> driver.pipe(ORDERS, "order", null));
    }
  }

  @Test
  void shouldRaiseASwallowedRefusalAgainAfterAPunctuation() {
    final ProcessorSupplier<String, String, String, String> ticking =
        () ->
            new ContextualProcessor<>() {
              @Override
              public void init(ProcessorContext<String, String> context) {
                super.init(context);
                context.schedule(
                    Duration.ofSeconds(1),
                    PunctuationType.WALL_CLOCK_TIME,
                    now -> {
                      try {
                        context.getStateStore("other");
                      } catch (RuntimeException swallowed) {
                        // As applications do.
                      }
                    });
              }

              @Override
              public void process(Record<String, String> record) {}
            };
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(ticking))) {
      refused(
          RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE,
          () -> driver.driver().advanceWallClockTime(Duration.ofSeconds(1)));
    }
  }

  @Test
  void shouldRaiseARefusalSwallowedByAChildBeforeTheCommit() {
    final ProcessorSupplier<String, String, String, String> child =
        () ->
            new ContextualProcessor<>() {
              private Headers kept;

              @Override
              public void init(ProcessorContext<String, String> context) {
                super.init(context);
                context.schedule(
                    Duration.ofSeconds(1),
                    PunctuationType.WALL_CLOCK_TIME,
                    now -> {
                      try {
                        kept.add("parsley.late", new byte[0]);
                      } catch (RuntimeException swallowed) {
                        // As applications do.
                      }
                    });
              }

              @Override
              public void process(Record<String, String> record) {
                kept = record.headers();
              }
            };
    final Topology topology =
        Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS)
            .addProcessor("node", CausalDriver.node().processing(FORWARDING), "source")
            .addProcessor("child", child, "node");
    final CausalDriver driver = CausalDriver.of(topology);
    driver.pipe(ORDERS, "order", null);

    refused(
        RefusalReason.RESERVED_HEADER_USED,
        () -> driver.driver().advanceWallClockTime(Duration.ofSeconds(1)));
    refused(RefusalReason.RESERVED_HEADER_USED, driver::close); // It would commit, too.
  }

  @Test
  void shouldLetTheFirstRefusalWin() {
    final List<RefusalException> raised = new ArrayList<>();
    final var swallowing =
        application(
            context -> {
              for (String store : List.of("first", "second")) {
                try {
                  context.getStateStore(store);
                } catch (RefusalException swallowed) {
                  raised.add(swallowed);
                }
              }
            });
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(swallowing))) {
      final RefusalException refusal =
          refused(
              RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE,
              () -> driver.pipe(ORDERS, "order", null));

      assertTrue(refusal.getMessage().contains("'first'"), refusal.getMessage());
      assertSame(refusal, raised.get(0));
      assertSame(refusal, raised.get(1));
    }
  }

  @Test
  void shouldCommitNothingAfterARefusal() {
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(IDLE))) {
      final RecordHeaders headers = new RecordHeaders();
      headers.add(Causes.HEADER, null);
      final TestRecord<byte[], byte[]> record = new TestRecord<>(null, null, headers, 1L);
      final RefusalException first =
          refused(RefusalReason.UNDECODABLE_METADATA, () -> driver.pipe(ORDERS, record));

      // The wall clock makes the driver commit, which flushes the store.
      final RefusalException atCommit =
          refused(
              RefusalReason.UNDECODABLE_METADATA,
              () -> {
                driver.pipe(ORDERS, "order", null);
              });

      assertSame(first, atCommit);
    }
  }

  @Test
  void shouldTakeNoStepAfterOneThatFailedHalfWay() {
    final RuntimeException failure = new IllegalStateException("of the application");
    final List<String> seen = new ArrayList<>();
    final ProcessorSupplier<String, String, String, String> failing =
        () ->
            record -> {
              seen.add(record.value());
              throw failure;
            };
    try (CausalDriver driver = CausalDriver.of(CausalDriver.node().processing(failing))) {
      assertSame(failure, rootOf(() -> driver.pipe(ORDERS, "first", Causes.none())));
      assertSame(failure, rootOf(() -> driver.pipe(ORDERS, "second", Causes.none())));
    }
    assertEquals(List.of("first"), seen);
  }

  private static Throwable rootOf(Executable step) {
    Throwable failure = assertThrows(Throwable.class, step);
    while (failure.getCause() != null) {
      failure = failure.getCause();
    }
    return failure;
  }

  @Test
  void shouldRefuseToStartWithoutExactlyOnce() {
    final RefusalException refusal =
        refusedAtStart(with(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, "at_least_once"));

    assertTrue(refusal.getMessage().contains("'at_least_once'"), refusal.getMessage());
    assertTrue(refusal.getMessage().contains("'exactly_once_v2'"), refusal.getMessage());
  }

  @Test
  void shouldRefuseWhatPassesOverRecords() {
    refusedAtStart(
        with(
            StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG,
            LogAndContinueProcessingExceptionHandler.class));
    refusedAtStart(
        with(
            StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG,
            LogAndContinueExceptionHandler.class.getName()));
    refusedAtStart(
        with(
            StreamsConfig.DEFAULT_TIMESTAMP_EXTRACTOR_CLASS_CONFIG,
            LogAndSkipOnInvalidTimestamp.class));
  }

  @Test
  void shouldRefuseToBeFedOtherTopicsThanItDeclares() {
    final RefusalException refusal =
        refusedAtStart(
            with(ParsleyConfig.FED_TOPICS, Map.of("shipments", Set.of(ORDERS, "refunds"))));

    assertTrue(refusal.getMessage().contains("refunds"), refusal.getMessage());
  }

  @Test
  void shouldStartWhenItIsFedWhatItDeclares() {
    CausalDriver.of(
            CausalDriver.topology(CausalDriver.node().processing(IDLE)),
            with(ParsleyConfig.FED_TOPICS, Map.of("shipments", Set.of(ORDERS, PAYMENTS))))
        .close();
  }

  @Test
  void shouldRefuseUnknownSettingsOfOurs() {
    assertThrows(
        ConfigException.class,
        () ->
            CausalDriver.of(
                CausalDriver.topology(CausalDriver.node().processing(IDLE)),
                with("parsley.budget", "1")));
  }

  @Test
  void shouldRefuseATopicWithoutId() {
    final TopicDirectory withoutIds =
        TopicDirectory.fixed(Map.of(ORDERS, Uuid.ZERO_UUID, PAYMENTS, PAYMENTS_0.topicId()));

    final RefusalException refusal =
        refused(
            RefusalReason.SUBSTRATE_MISCONFIGURED,
            () ->
                CausalDriver.of(CausalDriver.node().directory(withoutIds).processing(IDLE))
                    .close());

    assertEquals(Optional.of(ORDERS), refusal.topic());
  }

  @Test
  void shouldRefuseATopicThatDoesNotExist() {
    final TopicDirectory withoutPayments = TopicDirectory.fixed(Map.of(ORDERS, ORDERS_0.topicId()));

    final RefusalException refusal =
        refused(
            RefusalReason.SUBSTRATE_MISCONFIGURED,
            () ->
                CausalDriver.of(CausalDriver.node().directory(withoutPayments).processing(IDLE))
                    .close());

    assertEquals(Optional.of(PAYMENTS), refusal.topic());
  }

  @Test
  void shouldSayWhichTopicIsMissingOnTheBuilder() {
    final var ordersOnly =
        CausalProcessor.named("n")
            .serdes(Serdes.String(), Serdes.String())
            .topic(ORDERS)
            .directory(CausalDriver.directory())
            .processing(IDLE);
    try (CausalDriver driver = CausalDriver.of(ordersOnly)) {
      final Throwable failure =
          assertThrows(RuntimeException.class, () -> driver.pipe(PAYMENTS, "payment", null));

      Throwable root = failure;
      while (root.getCause() != null) {
        root = root.getCause();
      }
      assertTrue(root.getMessage().contains(".topic(\"payments\")"), root.getMessage());
    }
  }

  private static RefusalException refusedAtStart(UnaryOperator<java.util.Properties> settings) {
    return refused(
        RefusalReason.SUBSTRATE_MISCONFIGURED,
        () ->
            CausalDriver.of(CausalDriver.topology(CausalDriver.node().processing(IDLE)), settings)
                .close());
  }

  private static UnaryOperator<java.util.Properties> with(String key, Object value) {
    return settings -> {
      settings.put(key, value);
      return settings;
    };
  }

  private static RefusalException refused(RefusalReason reason, Executable step) {
    final Throwable failure = assertThrows(Throwable.class, step);
    final RefusalException refusal =
        Refusals.in(failure).orElseThrow(() -> new AssertionError("no refusal", failure));
    assertEquals(reason, refusal.reason());
    return refusal;
  }

  private static Topology withSink(
      ProcessorSupplier<String, String, String, String> application, Serializer<String> values) {
    return Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS)
        .addProcessor("node", CausalDriver.node().processing(application), "source")
        .addSink("sink", OUTPUT, new StringSerializer(), values, "node");
  }

  private static Serializer<String> addingHeader(String name) {
    return new Serializer<>() {
      @Override
      public byte[] serialize(String topic, String data) {
        throw new AssertionError("a serializer is given the headers");
      }

      @Override
      public byte[] serialize(String topic, Headers headers, String data) {
        headers.add(name, new byte[] {1});
        return utf8(data);
      }
    };
  }
}
