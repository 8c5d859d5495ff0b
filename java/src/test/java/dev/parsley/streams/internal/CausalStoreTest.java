package dev.parsley.streams.internal;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static dev.parsley.streams.internal.CausalDriver.hex;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.StoreBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ordering store between Kafka Streams and the native side. */
class CausalStoreTest {

  private static final ProcessorSupplier<String, String, String, String> FORWARDING =
      () ->
          new ContextualProcessor<>() {
            @Override
            public void process(Record<String, String> record) {
              context().forward(record);
            }
          };

  private static final Bytes KEY = Bytes.wrap(new byte[] {'c', 1});
  private static final Bytes NEXT_KEY = Bytes.wrap(new byte[] {'c', 2});

  /** The contexts that Kafka Streams itself made. */
  private final List<ProcessorContext<String, String>> contexts = new ArrayList<>();

  private ProcessorSupplier<byte[], byte[], String, String> node() {
    final ProcessorSupplier<byte[], byte[], String, String> node =
        CausalDriver.node().processing(FORWARDING);
    return new ProcessorSupplier<>() {
      @Override
      public Processor<byte[], byte[], String, String> get() {
        final Processor<byte[], byte[], String, String> processor = node.get();
        return new Processor<>() {
          @Override
          public void init(ProcessorContext<String, String> context) {
            contexts.add(context);
            processor.init(context);
          }

          @Override
          public void process(Record<byte[], byte[]> record) {
            processor.process(record);
          }

          @Override
          public void close() {
            processor.close();
          }
        };
      }

      @Override
      public Set<StoreBuilder<?>> stores() {
        return node.stores();
      }
    };
  }

  private CausalDriver driver(boolean transactional) {
    return CausalDriver.of(
        CausalDriver.topology(node()),
        settings -> {
          settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
          settings.put(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG, transactional);
          return settings;
        });
  }

  private static CausalStore storeOf(CausalDriver driver) {
    return assertInstanceOf(
        CausalStore.class, driver.driver().getKeyValueStore("__parsley.shipments"));
  }

  private static List<String> changelogKeys(CausalDriver driver) {
    return driver.sent("app-__parsley.shipments-changelog").stream()
        .map(change -> hex(change.key()))
        .collect(Collectors.toList());
  }

  /** Makes the driver's producer send what was written outside of its steps. */
  private static void commit(CausalDriver driver) {
    driver.driver().advanceWallClockTime(Duration.ofMillis(1));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldLeaveNothingStagedAfterACommit(boolean transactional) {
    try (CausalDriver driver = driver(transactional)) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0));
      assertEquals(0, storeOf(driver).approximateNumUncommittedBytes());

      driver.pipe(ORDERS, "order", null);

      assertEquals(List.of("order", "payment"), driver.sentValues());
      assertEquals(0, storeOf(driver).approximateNumUncommittedBytes());
    }
  }

  @Test
  void shouldHoldTheSameRowsAsItsChangelog() {
    try (CausalDriver driver = driver(false)) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0)).pipe(ORDERS, "order", null);

      final TreeMap<String, String> changelog = new java.util.TreeMap<>();
      driver
          .sent("app-__parsley.shipments-changelog")
          .forEach(
              change -> {
                if (change.value() == null) {
                  changelog.remove(hex(change.key()));
                } else {
                  changelog.put(hex(change.key()), hex(change.value()));
                }
              });
      final TreeMap<String, String> rows = new java.util.TreeMap<>();
      try (KeyValueIterator<Bytes, byte[]> all = storeOf(driver).all()) {
        all.forEachRemaining(row -> rows.put(hex(row.key.get()), hex(row.value)));
      }

      assertEquals(changelog, rows);
      assertEquals("02", rows.get("76"));
    }
  }

  @Test
  void shouldFlushBeforeThereIsACurrentRecord() {
    try (CausalDriver driver = driver(false)) {
      final CausalStore store = storeOf(driver);
      final KafkaInternals internals = KafkaInternals.of(contexts.get(0));
      internals.leave(null); // As it is between init and the first record.

      store.flushCache();
      store.flushCache(); // Nothing new.
      assertNull(internals.recordContext());
      commit(driver);
      driver.pipe(ORDERS, "order", null);

      final List<String> keys = changelogKeys(driver);

      assertEquals("76", keys.get(0));
      assertEquals(3 + 2, keys.size()); // Version and two names, then fedUpTo and frontier.
    }
  }

  @Test
  void shouldTakeTheLastFlushForCommittedAtTheNextOneWithoutTransactionalStores() {
    try (CausalDriver driver = driver(false)) {
      final CausalStore store = storeOf(driver);

      store.flushCache(); // Version and names.
      assertTrue(store.approximateNumUncommittedBytes() > 0);
      store.flushCache();

      assertEquals(0, store.approximateNumUncommittedBytes());
    }
  }

  @Test
  void shouldWaitForTheCommitWithTransactionalStores() {
    try (CausalDriver driver = driver(true)) {
      final CausalStore store = storeOf(driver);

      store.flushCache();
      store.flushCache();
      assertTrue(store.approximateNumUncommittedBytes() > 0);
      store.commit(Map.of(new TopicPartition("app-__parsley.shipments-changelog", 0), 1L));

      assertEquals(0, store.approximateNumUncommittedBytes());
    }
  }

  @Test
  void shouldFlushNothingWithoutAnExecution() {
    try (CausalDriver driver = driver(false)) {
      final CausalStore store = storeOf(driver);

      store.clearCache();
      store.clearCache();
      store.flushCache();

      assertFalse(
          driver.driver().producedTopicNames().contains("app-__parsley.shipments-changelog"));
    }
  }

  @Test
  void shouldLogWhatIsWrittenToItDirectly() {
    try (CausalDriver driver = driver(false)) {
      driver.pipe(ORDERS, "order", null);
      changelogKeys(driver);
      final CausalStore store = storeOf(driver);
      final byte[] value = {7};

      store.put(KEY, value);
      assertArrayEquals(value, store.putIfAbsent(KEY, new byte[0]));
      assertNull(store.putIfAbsent(NEXT_KEY, value));
      assertArrayEquals(value, store.delete(KEY));
      store.putAll(List.of(KeyValue.pair(KEY, value)));
      assertArrayEquals(value, store.get(KEY));
      try (KeyValueIterator<Bytes, byte[]> range = store.range(KEY, NEXT_KEY)) {
        assertEquals(KEY, range.next().key);
        assertEquals(NEXT_KEY, range.next().key);
        assertFalse(range.hasNext());
      }
      try (KeyValueIterator<Bytes, byte[]> range = store.reverseRange(KEY, NEXT_KEY)) {
        assertEquals(NEXT_KEY, range.peekNextKey());
      }
      assertTrue(store.approximateNumEntries() > 0);
      commit(driver);

      // What putIfAbsent found there already is not written again.
      assertEquals(List.of("6301", "6302", "6301", "6301"), changelogKeys(driver));
    }
  }

  @Test
  void shouldCloseMoreThanOnce() {
    final CausalStore store;
    try (CausalDriver driver = driver(false)) {
      store = storeOf(driver);
    }

    assertFalse(store.isOpen());
    store.close();
    assertThrows(InvalidStateStoreException.class, () -> store.get(KEY));
  }
}
