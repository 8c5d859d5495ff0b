package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.Directories;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * What an instance holds when it ends is held by the next one, and delivered as it was received.
 */
class RestartWithHoldsTest {

  private static final int HELD = 24;

  @WithBothStoreModes
  void shouldKeepHoldsThroughACleanRestartWithoutReadingTheChangelog(boolean transactionalStores) {
    try (Scenario scenario = scenario(transactionalStores)) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      feedHolds(scenario);
      scenario.stop(before);

      assertEquals(0, restoredByNext(scenario, directory));
      releaseHolds(scenario);
    }
  }

  @WithBothStoreModes
  void shouldRestoreHoldsWhenTheStateDirectoryIsGone(boolean transactionalStores) {
    try (Scenario scenario = scenario(transactionalStores)) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      feedHolds(scenario);
      scenario.stop(before);
      Directories.delete(directory);

      assertTrue(restoredByNext(scenario, directory) >= HELD);
      releaseHolds(scenario);
    }
  }

  @WithBothStoreModes
  void shouldMoveHoldsToAnotherInstance(boolean transactionalStores) {
    try (Scenario scenario = scenario(transactionalStores)) {
      final CausalStreams first = scenario.run(scenario.newDirectory());
      feedHolds(scenario);
      scenario.start(scenario.instance(scenario.newDirectory()).build());
      scenario.stop(first);
      releaseHolds(scenario);
    }
  }

  @WithBothStoreModes
  void shouldKeepHoldsThroughAKill(boolean transactionalStores) {
    try (Scenario scenario = scenario(transactionalStores)) {
      final Path directory = scenario.newDirectory();
      final ChildJvm child = scenario.runChild(directory, Map.of());
      feedHolds(scenario);
      child.kill();
      assertTrue(Files.exists(directory));

      scenario.run(directory);
      releaseHolds(scenario);
    }
  }

  @WithBothStoreModes
  void shouldMoveHoldsOfAKilledInstanceInTheMiddleOfItsWork(boolean transactionalStores) {
    try (Scenario scenario = scenario(transactionalStores)) {
      final ChildJvm child = scenario.runChild(scenario.newDirectory(), Map.of());
      feedHolds(scenario);
      // Its transaction of these records stays open, and only the broker's timeout ends it.
      for (int number = 0; number < 50; number++) {
        scenario.feed("others", Payload.awkward(number), Causes.none());
      }
      child.kill();

      scenario.run(scenario.newDirectory());
      releaseHolds(scenario);
    }
  }

  private static Scenario scenario(boolean transactionalStores) {
    return Scenario.of(transactionalStores, "orders", "payments", "shipments", "others");
  }

  /** Feeds records of every shape that wait for one order, and waits until that is committed. */
  private static void feedHolds(Scenario scenario) {
    scenario.feed("orders", Payload.awkward(0), Causes.none());
    for (int number = 0; number < HELD / 2; number++) {
      scenario.feed("payments", Payload.awkward(number), scenario.after("orders", 1));
      scenario.feed("shipments", Payload.awkward(number), scenario.after("payments", number));
    }
    scenario.changelog.awaitHeld(HELD);
    scenario.awaitAllRead();
    assertEquals(1, scenario.copied().size());
  }

  /** Starts the next instance, and returns how many ordering rows it read back. */
  private static long restoredByNext(Scenario scenario, Path directory) {
    final AtomicLong rows = new AtomicLong();
    final CausalStreams next = scenario.instance(directory).build();
    next.kafkaStreams().setGlobalStateRestoreListener(new Counting(scenario, rows));
    scenario.run(next);
    return rows.get();
  }

  /** The restarted instance delivers nothing by itself, and all of it once the order comes. */
  private static void releaseHolds(Scenario scenario) {
    final Map<ByteBuffer, byte[]> before = heldRows(scenario);
    assertEquals(HELD, before.size());
    scenario.feed("others", Payload.awkward(7), Causes.none());
    scenario.awaitAllRead();
    assertTrue(
        scenario.copied().stream()
            .map(Origin::topic)
            .noneMatch(topic -> topic.equals(scenario.topic("payments"))));
    final Map<ByteBuffer, byte[]> after = heldRows(scenario);
    assertEquals(before.keySet(), after.keySet());
    after.forEach(
        (key, row) -> assertEquals(ByteBuffer.wrap(before.get(key)), ByteBuffer.wrap(row)));

    scenario.feed("orders", Payload.awkward(1), Causes.none());
    scenario.requireCausal();
    assertEquals(Map.of(), heldRows(scenario));
  }

  private static Map<ByteBuffer, byte[]> heldRows(Scenario scenario) {
    return scenario.changelog.rows(0).entrySet().stream()
        .filter(row -> row.getKey().get(0) == Changelog.HELD)
        .collect(
            Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue, (a, b) -> b, TreeMap::new));
  }

  private record Counting(Scenario scenario, AtomicLong rows) implements StateRestoreListener {
    @Override
    public void onRestoreStart(TopicPartition partition, String store, long from, long to) {}

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
      if (partition.topic().equals(scenario.changelog.topic())) {
        rows.addAndGet(count);
      }
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {}
  }
}
