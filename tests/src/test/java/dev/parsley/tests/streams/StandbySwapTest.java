package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.streams.ThreadMetadata;

/**
 * Two instances, each with a standby of the other's task, lose one of them at a time while records
 * flow and records are held.
 */
class StandbySwapTest {

  private static final long SEED = 20_261_202;
  private static final int PARTITIONS = 2;
  private static final int EVENTS_PER_PARTITION = 1_500;
  private static final int DISPLACEMENT = 60;

  /** From here on events are kept for the kill, however long the instance took to come back. */
  private static final int LAST_PART = 900;

  private static final Map<String, String> WITH_STANDBY = Map.of("num.standby.replicas", "1");

  @WithBothStoreModes
  void shouldKeepOrderWhenTheInstancesTakeOverFromEachOther(boolean transactionalStores)
      throws Exception {
    try (Scenario scenario =
        new Scenario(transactionalStores, PARTITIONS, "orders", "payments", "late")) {
      final List<List<History.Event>> histories = new ArrayList<>();
      final Map<String, Uuid> flowing = scenario.topicIds("orders", "payments");
      for (int partition = 0; partition < PARTITIONS; partition++) {
        histories.add(
            History.overtaking(
                flowing, partition, EVENTS_PER_PARTITION, DISPLACEMENT, SEED + partition));
        // Held all the time, until the last order comes.
        final String orders = scenario.topic("orders");
        final long last = History.lastOffset(histories.get(partition), orders);
        final Causes causes =
            Causes.of(new ChannelId(scenario.topicIds.get(orders), partition), last);
        scenario.feed(
            List.of(
                new History.Event(
                    scenario.topic("late"), partition, 0, causes, Payload.awkward(4))));
      }

      final Path here = scenario.newDirectory();
      final ChildJvm child = scenario.runChild(scenario.newDirectory(), WITH_STANDBY);
      CausalStreams instance = scenario.run(scenario.instance(here, WITH_STANDBY).build());
      awaitOneTaskAndOneStandby(instance);
      scenario.changelog.awaitHeld(PARTITIONS);

      try (Feeder feeder = Feeder.start(scenario, histories).pauseAt(LAST_PART)) {
        feeder.awaitCopies(400);
        scenario.stop(instance); // The child goes on with its standby.
        feeder.awaitCopies(1_000);
        instance = scenario.run(scenario.instance(here, WITH_STANDBY).build());
        awaitOneTaskAndOneStandby(instance);
        assertFalse(scenario.changelog.rowsOf(Changelog.HELD).isEmpty());
        final int before = feeder.copies();
        feeder.pauseAt(EVENTS_PER_PARTITION);
        feeder.awaitCopies(before + 100);
        assertFalse(feeder.isDone());
        child.kill(); // The instance goes on with its own.
        feeder.awaitDone();
      }
      scenario.requireCausal();
      assertEquals(
          PARTITIONS * (EVENTS_PER_PARTITION + 1), scenario.copied().stream().distinct().count());
    }
  }

  private static void awaitOneTaskAndOneStandby(CausalStreams instance) {
    Await.until(
        () -> {
          Scenario.requireNoFailure(instance);
          final ThreadMetadata thread =
              instance.kafkaStreams().metadataForLocalThreads().iterator().next();
          return thread.activeTasks().size() == 1 && thread.standbyTasks().size() == 1;
        },
        Await.PATIENCE,
        () ->
            "one task and one standby; there are "
                + instance.kafkaStreams().metadataForLocalThreads());
  }
}
