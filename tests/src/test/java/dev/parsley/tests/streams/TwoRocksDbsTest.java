package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.Directories;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;

/**
 * The application's own store is on the RocksDB that Kafka Streams brings, the ordering store on
 * ours, in one process and one task.
 */
class TwoRocksDbsTest {

  private static final int RECORDS = 200;

  @WithBothStoreModes
  void shouldKeepTheApplicationsStoreBesideTheOrderingStore(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      final Path directory = scenario.newDirectory();
      final CausalStreams first = scenario.run(directory);
      for (int number = 0; number < RECORDS; number++) {
        scenario.feed("payments", Payload.awkward(number), scenario.after("orders", number));
      }
      for (int number = 0; number < RECORDS; number++) {
        scenario.feed("orders", Payload.awkward(number), Causes.none());
      }
      scenario.awaitCopies(2 * RECORDS);
      scenario.awaitAllRead();
      scenario.stop(first);
      final Map<String, Long> expected = contents(scenario.copies());

      final CausalStreams second = scenario.run(directory);
      assertEquals(expected, contents(second));
      scenario.stop(second);
      Directories.delete(directory);
      final CausalStreams third = scenario.run(directory);
      assertEquals(expected, contents(third));
      scenario.requireCausal();
    }
  }

  private static Map<String, Long> contents(List<ConsumerRecord<byte[], byte[]>> copies) {
    final Map<String, Long> contents = new TreeMap<>();
    for (ConsumerRecord<byte[], byte[]> copy : copies) {
      contents.put(Origin.named(copy).toString(), contents.size() + 1L);
    }
    contents.put(CopyingNode.COUNT_KEY, (long) copies.size());
    return contents;
  }

  private static Map<String, Long> contents(CausalStreams streams) {
    final Map<String, Long> contents = new TreeMap<>();
    try (KeyValueIterator<String, Long> rows =
        streams
            .kafkaStreams()
            .store(
                StoreQueryParameters.fromNameAndType(
                    CopyingNode.STORE, QueryableStoreTypes.<String, Long>keyValueStore()))
            .all()) {
      while (rows.hasNext()) {
        final KeyValue<String, Long> row = rows.next();
        contents.put(row.key, row.value);
      }
    }
    return contents;
  }
}
