package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.Directories;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** State that another version wrote, or that was damaged on its way. */
class StateFormatTest {

  private static final byte[] VERSION_KEY = {'v'};
  private static final byte[] VERSION_1 = {1};
  private static final byte[] VERSION_2 = {2};
  private static final byte[] VERSION_99 = {0x63};
  private static final byte HELD_VERSION_2 = 2;

  @WithBothStoreModes
  void shouldUpgradeAStoreOfVersionOne(boolean transactionalStores) throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      writeVersionOne(scenario);
      final Path directory = scenario.newDirectory();
      final CausalStreams first = scenario.run(directory);
      scenario.feed("others", Payload.awkward(7), Causes.none());
      scenario.changelog.await(
          rows -> {
            final var version = Changelog.rowsOf(rows, Changelog.VERSION);
            final var held = Changelog.rowsOf(rows, Changelog.HELD);
            return version.size() == 1
                && version.get(0).value()[0] == VERSION_2[0]
                && held.size() == 8
                && held.stream().allMatch(row -> row.value()[0] == HELD_VERSION_2);
          },
          "version 2, with 8 held rows of it");
      scenario.stop(first);
      Directories.delete(directory); // So that the next one reads what the upgrade wrote.

      scenario.run(directory);
      scenario.feed("orders", Payload.awkward(1), Causes.none());
      scenario.requireCausal(allBut(scenario, "orders", 2));
    }
  }

  @WithBothStoreModes
  void shouldDeliverHoldsOfVersionOneAtOnce(boolean transactionalStores) throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      writeVersionOne(scenario);
      scenario.feed("orders", Payload.awkward(1), Causes.none());
      scenario.run(scenario.newDirectory());
      scenario.requireCausal(allBut(scenario, "orders", 2));
      assertEquals(List.of(), scenario.changelog.rowsOf(Changelog.HELD));
      assertEquals(VERSION_2[0], scenario.changelog.rowsOf(Changelog.VERSION).get(0).value()[0]);
    }
  }

  @WithBothStoreModes
  void shouldStopAtAStoreOfAnUnknownVersion(boolean transactionalStores) throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      writeVersionOne(scenario);
      scenario.changelog.put(VERSION_KEY, VERSION_99);
      scenario.feed("orders", Payload.awkward(1), Causes.none());
      scenario.feed("others", Payload.awkward(7), Causes.none());
      requireRefusedWithoutATrace(scenario, scenario.newDirectory());

      scenario.changelog.put(VERSION_KEY, VERSION_1);
      scenario.run(scenario.newDirectory());
      scenario.requireCausal(allBut(scenario, "orders", 2));
    }
  }

  @WithBothStoreModes
  void shouldStopAtAFlippedBitBeforeAnythingIsDelivered(boolean transactionalStores)
      throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      for (int number = 0; number < 8; number++) {
        scenario.feed("payments", Payload.awkward(number), scenario.after("orders", 0));
      }
      scenario.changelog.awaitHeld(8);
      scenario.awaitAllRead();
      scenario.stop(before);
      final ConsumerRecord<byte[], byte[]> last = scenario.changelog.rowsOf(Changelog.HELD).get(7);
      final byte[] flipped = last.value().clone();
      flipped[flipped.length / 2] ^= 0x10;
      scenario.changelog.put(last.key(), flipped);

      scenario.feed("others", Payload.awkward(7), Causes.none());
      scenario.feed("orders", Payload.awkward(1), Causes.none());
      // A damaged row comes by a rebuilt store and on top of one that is up to date.
      final RefusalException refusal = requireRefusedWithoutATrace(scenario, directory);
      assertTrue(refusal.getMessage().contains("checksum"), refusal.getMessage());
      requireRefusedWithoutATrace(scenario, scenario.newDirectory());

      scenario.changelog.put(last.key(), last.value());
      scenario.run(scenario.newDirectory());
      scenario.requireCausal();
    }
  }

  private static RefusalException requireRefusedWithoutATrace(Scenario scenario, Path directory)
      throws InterruptedException {
    final int rows = scenario.changelog.records().size();
    final var offsets = scenario.cluster.committedOffsets(scenario.applicationId);
    final CausalStreams refused = scenario.start(scenario.instance(directory).build());
    assertTrue(refused.awaitStopped(Await.PATIENCE));
    scenario.stop(refused);
    final RefusalException refusal = refused.refusal().orElseThrow();
    assertEquals(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT, refusal.reason());
    assertEquals(List.of(), scenario.copied());
    assertEquals(rows, scenario.changelog.records().size());
    final var offsetsAfter = scenario.cluster.committedOffsets(scenario.applicationId);
    offsetsAfter
        .keySet()
        .retainAll(offsets.keySet()); // The first positions of a topic that had none.
    assertEquals(offsets, offsetsAfter);
    return refusal;
  }

  /**
   * What version 1 leaves behind that has delivered two orders and holds eight payments, which wait
   * for a third order.
   */
  private static void writeVersionOne(Scenario scenario) throws Exception {
    scenario.feed("orders", Payload.of("first"), Causes.none());
    scenario.feed("orders", Payload.of("second"), Causes.none());
    for (int number = 0; number < 8; number++) {
      scenario.feed("payments", Payload.awkward(number), scenario.after("orders", 2));
    }
    scenario.cluster.createTopic(
        scenario.changelog.topic(), 1, Map.of("cleanup.policy", "compact"));
    scenario.changelog.put(VERSION_KEY, VERSION_1);
    final byte[] orders = scenario.channel("orders").toBytes();
    final byte[] payments = scenario.channel("payments").toBytes();
    scenario.changelog.put(VersionOne.name(scenario.topic("orders")), orders);
    scenario.changelog.put(VersionOne.name(scenario.topic("payments")), payments);
    scenario.changelog.put(VersionOne.key('f', orders), VersionOne.int64(1));
    scenario.changelog.put(VersionOne.key('f', payments), VersionOne.int64(7));
    scenario.changelog.put(VersionOne.key('c', orders), VersionOne.int64(2));
    for (ConsumerRecord<byte[], byte[]> record :
        scenario.cluster.readCommitted(scenario.topic("payments"))) {
      scenario.changelog.put(
          VersionOne.heldKey(payments, record.offset()), VersionOne.held(record, orders, 2));
    }
    scenario.commit(Map.of("orders", 2L, "payments", 8L));
  }

  /** All that was fed but for the first records of a topic. */
  private static List<ConsumerRecord<byte[], byte[]>> allBut(
      Scenario scenario, String name, long below) {
    final List<ConsumerRecord<byte[], byte[]>> rest = new ArrayList<>(scenario.fed());
    rest.removeIf(record -> record.topic().equals(scenario.topic(name)) && record.offset() < below);
    return rest;
  }
}
