package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.parsley.streams.Causes;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Effects that reach the node before their causes, and gaps where a position holds no record. */
class OvertakingTest {

  private static final long SEED = 20_261_201;
  private static final int EVENTS_PER_PARTITION = 400;
  private static final int DISPLACEMENT = 60;

  @WithBothStoreModes
  void shouldDeliverEffectsAfterTheirCauses(boolean transactionalStores) throws Exception {
    try (Scenario scenario =
        new Scenario(transactionalStores, 2, "orders", "payments", "shipments")) {
      scenario.feed(history(scenario, 0)); // One while nothing runs, the other through commits.
      scenario.run(scenario.newDirectory());
      scenario.feed(history(scenario, 1));
      scenario.requireCausal();
      // They were stamped in the order in which they were sent.
      final List<Long> sent = scenario.copies().stream().map(ConsumerRecord::timestamp).toList();
      assertNotEquals(sent.stream().sorted().toList(), sent, "nothing had overtaken its cause");
    }
  }

  @WithBothStoreModes
  void shouldHoldAnEffectThroughCommitsUntilItsCauseComes(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "shipments")) {
      scenario.run(scenario.newDirectory());
      scenario.feed("shipments", Payload.awkward(4), scenario.after("payments", 0));
      scenario.feed("payments", Payload.awkward(5), scenario.after("orders", 1));
      scenario.feed("orders", Payload.awkward(0), Causes.none());
      scenario.changelog.awaitHeld(2);
      scenario.awaitAllRead();
      assertEquals(List.of(origin(scenario, "orders", 0)), scenario.copied());

      scenario.feed("orders", Payload.awkward(1), Causes.none());
      scenario.requireCausal();
      assertEquals(
          List.of(
              origin(scenario, "orders", 0),
              origin(scenario, "orders", 1),
              origin(scenario, "payments", 0),
              origin(scenario, "shipments", 0)),
          scenario.copied());
      assertEquals(List.of(), scenario.changelog.rowsOf(Changelog.HELD));
    }
  }

  @WithBothStoreModes
  void shouldNotWaitForPositionsThatMarkersTook(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      scenario.run(scenario.newDirectory());
      // The orders will lie at 0 and 2, with markers at 1 and 3.
      scenario.feed("payments", Payload.of("after an order"), scenario.after("orders", 0));
      scenario.feed("payments", Payload.of("after its marker"), scenario.after("orders", 1));
      scenario.feed("payments", Payload.of("after both"), scenario.after("orders", 2));
      scenario.changelog.awaitHeld(3);

      assertEquals(List.of(0L), inTransaction(scenario, "orders", 1));
      scenario.awaitCopies(2);
      scenario.changelog.awaitHeld(2); // A marker is not fed, so position 1 is not settled yet.
      assertEquals(List.of(2L), inTransaction(scenario, "orders", 1));
      scenario.requireCausal();
    }
  }

  @WithBothStoreModes
  void shouldPassOverAbortedPositionsOnceALaterRecordComes(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      scenario.run(scenario.newDirectory());
      scenario.feed("orders", Payload.of("first"), Causes.none());
      scenario.cluster.sendAborted(
          List.of(scenario.record("orders", Payload.of("aborted"), Causes.none())));
      scenario.feed("payments", Payload.awkward(4), scenario.after("orders", 1));
      scenario.changelog.awaitHeld(1);
      scenario.awaitAllRead();
      assertEquals(List.of(origin(scenario, "orders", 0)), scenario.copied());

      assertEquals(3, scenario.feed("orders", Payload.of("second"), Causes.none()));
      scenario.requireCausal();
    }
  }

  @WithBothStoreModes
  void shouldKeepOrderInTransactionsThatSpanTopics(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      scenario.run(scenario.newDirectory());
      for (int round = 0; round < 5; round++) {
        final long order = 6L * round; // Two orders, two aborted ones, and a marker behind each.
        scenario.cluster.sendInTransaction(
            List.of(
                scenario.record("payments", Payload.awkward(2), scenario.after("orders", order)),
                scenario.record("orders", Payload.awkward(1), Causes.none()),
                scenario.record(
                    "orders", Payload.awkward(3), scenario.after("payments", 4L * round))));
        scenario.cluster.sendAborted(
            List.of(
                scenario.record("orders", Payload.of("aborted"), Causes.none()),
                scenario.record("orders", Payload.of("aborted"), Causes.none()),
                scenario.record("payments", Payload.of("aborted"), Causes.none())));
      }
      scenario.requireCausal();
      assertEquals(15, scenario.copied().size());
    }
  }

  @WithBothStoreModes
  void shouldTakeThePositionsThatTheGroupHasPassedAsCovered(boolean transactionalStores)
      throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      final var directory = scenario.newDirectory();
      final var before = scenario.run(directory);
      scenario.feed("orders", Payload.of("first"), Causes.none());
      scenario.cluster.sendAborted(
          List.of(scenario.record("orders", Payload.of("aborted"), Causes.none())));
      scenario.feed("payments", Payload.awkward(6), scenario.after("orders", 1));
      scenario.changelog.awaitHeld(1);
      scenario.awaitAllRead();
      scenario.stop(before);
      assertEquals(List.of(origin(scenario, "orders", 0)), scenario.copied());
      scenario.moveGroup(Map.of("orders", 3L)); // Behind the aborted record and its marker.

      scenario.run(directory); // No record comes: the restart alone makes it deliverable.
      scenario.requireCausal();
      // Its transaction has positions, which is what fences an instance that was replaced.
      scenario.awaitPositionsOfKafkaStreams();
    }
  }

  private static List<History.Event> history(Scenario scenario, int partition) {
    return History.overtaking(
        scenario.topicIds, partition, EVENTS_PER_PARTITION, DISPLACEMENT, SEED + partition);
  }

  private static Origin origin(Scenario scenario, String name, long offset) {
    return new Origin(scenario.topic(name), 0, offset);
  }

  private static List<Long> inTransaction(Scenario scenario, String name, int count) {
    return scenario
        .cluster
        .sendInTransaction(
            IntStream.range(0, count)
                .mapToObj(number -> scenario.record(name, Payload.awkward(number), Causes.none()))
                .toList())
        .stream()
        .map(place -> place.offset())
        .toList();
  }
}
