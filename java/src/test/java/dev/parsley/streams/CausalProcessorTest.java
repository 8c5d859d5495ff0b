package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.errors.TopologyException;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What the builder of the node takes and what it says to the rest. */
class CausalProcessorTest {

  private static final ProcessorSupplier<String, String, String, String> IDLE = () -> record -> {};

  private static CausalProcessor<String, String> node() {
    return CausalProcessor.named("n").serdes(Serdes.String(), Serdes.String());
  }

  @Test
  void shouldRefuseNamesNoTopicCanHave() {
    for (String name : new String[] {null, "", "two words", "schräg", "a/b", "x".repeat(151)}) {
      assertArgument("becomes part of a topic's name", () -> CausalProcessor.named(name));
    }
  }

  @Test
  void shouldNeedATopic() {
    assertArgument("name its topics with topic(...)", () -> node().processing(IDLE));
  }

  @Test
  void shouldNeedSerdesForEachTopic() {
    assertArgument(
        "topic(\"b\", keySerde, valueSerde)",
        () -> CausalProcessor.named("n").topic("a", Serdes.String(), Serdes.String()).topic("b"));
    assertArgument("value serde", () -> node().topic("a", Serdes.String(), null));
  }

  @Test
  void shouldRefuseATopicTwice() {
    assertTopology("'a' twice", () -> node().topic("a").topic("a"));
  }

  @Test
  void shouldRefuseBudgetsThatAreNone() {
    assertArgument("not 0", () -> node().budgetBytes(0));
    assertArgument("not 2147483648", () -> node().budgetBytes(1L << 31));
  }

  @Test
  void shouldKeepTheStorePrefixToItself() {
    final StoreBuilder<?> stolen =
        Stores.keyValueStoreBuilder(
            Stores.inMemoryKeyValueStore("__parsley.mine"), Serdes.String(), Serdes.String());

    assertTopology(
        "'__parsley.mine'", () -> node().topic("a").processing(connecting(Set.of(stolen))));
    assertTopology("'__parsley.mine'", () -> node().topic("a").stores("__parsley.mine"));
  }

  @Test
  void shouldConnectItsStoreBesideThoseOfTheApplication() {
    final StoreBuilder<?> own =
        Stores.keyValueStoreBuilder(
            Stores.inMemoryKeyValueStore("own"), Serdes.String(), Serdes.String());

    final var supplier = node().topic("a").processing(connecting(Set.of(own)));

    assertEquals(
        List.of("own", CausalProcessor.storeName("n")),
        supplier.stores().stream().map(StoreBuilder::name).collect(Collectors.toList()));
    assertTrue(supplier.stores().contains(own));
    assertEquals("__parsley.n", CausalProcessor.storeName("n"));
  }

  @Test
  void shouldTakeASupplierThatConnectsNoStores() {
    final var supplier = node().topic("a").processing(connecting(null));

    assertEquals(1, supplier.stores().size());
    assertEquals(supplier.stores(), supplier.stores());
  }

  @Test
  void shouldRefuseASupplierThatSuppliesOneProcessorTwice() {
    final Processor<String, String, String, String> shared = record -> {};
    final ProcessorSupplier<String, String, String, String> sharing = () -> shared;
    final var supplier = node().topic("a").processing(sharing);
    supplier.get();

    assertArgument("a new processor at each call", supplier::get);
  }

  @Test
  void shouldRefuseASupplierThatSuppliesNothing() {
    final ProcessorSupplier<String, String, String, String> empty = () -> null;

    assertArgument("never null", () -> node().topic("a").processing(empty).get());
  }

  @Test
  void shouldCompactTheChangelogAndKeepTombstonesForThirtyDays() {
    final StoreBuilder<?> store = node().topic("a").processing(IDLE).stores().iterator().next();

    assertTrue(store.loggingEnabled());
    assertEquals("compact", store.logConfig().get("cleanup.policy"));
    assertEquals("2592000000", store.logConfig().get("delete.retention.ms"));
    assertThrows(UnsupportedOperationException.class, store::withLoggingDisabled);
  }

  @Test
  void shouldLetTheUserSetChangelogConfigs() {
    final StoreBuilder<?> store = node().topic("a").processing(IDLE).stores().iterator().next();

    store.withLoggingEnabled(Collections.singletonMap("segment.bytes", "1048576"));

    assertEquals("1048576", store.logConfig().get("segment.bytes"));
  }

  private static ProcessorSupplier<String, String, String, String> connecting(
      Set<StoreBuilder<?>> stores) {
    return new ProcessorSupplier<>() {
      @Override
      public Processor<String, String, String, String> get() {
        return record -> {};
      }

      @Override
      public Set<StoreBuilder<?>> stores() {
        return stores;
      }
    };
  }

  private static void assertArgument(String part, Executable call) {
    final String message = assertThrows(IllegalArgumentException.class, call).getMessage();
    assertTrue(message.contains(part), message);
  }

  private static void assertTopology(String part, Executable call) {
    final String message = assertThrows(TopologyException.class, call).getMessage();
    assertTrue(message.contains(part), message);
  }
}
