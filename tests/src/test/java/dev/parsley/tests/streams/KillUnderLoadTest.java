package dev.parsley.tests.streams;

import dev.parsley.tests.harness.ChildJvm;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * One instance that is killed again and again at its work and started on what the last one left on
 * disk, which is then somewhere behind the changelog.
 */
class KillUnderLoadTest {

  private static final long SEED = 20_261_203;
  private static final int EVENTS = 1_500;
  private static final int DISPLACEMENT = 80;
  private static final int KILLS = 3;

  /** So small that rows reach the disk all the time, and not only when a store is closed. */
  private static final Map<String, String> SMALL_BUFFERS =
      Map.of("parsley.write.buffer.bytes", "65536");

  @WithBothStoreModes
  void shouldKeepOrderThroughKillsAtWork(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "late")) {
      final List<History.Event> history =
          History.overtaking(
              scenario.topicIds("orders", "payments"), 0, EVENTS, DISPLACEMENT, SEED);
      final long last = History.lastOffset(history, scenario.topic("orders"));
      for (int number = 0; number < 8; number++) { // Held through all of it.
        scenario.feed("late", Payload.awkward(number), scenario.after("orders", last));
      }
      final Path directory = scenario.newDirectory();
      ChildJvm child = scenario.runChild(directory, SMALL_BUFFERS);
      scenario.changelog.awaitHeld(8);
      try (Feeder feeder = Feeder.start(scenario, List.of(history))) {
        for (int kill = 1; kill <= KILLS; kill++) {
          feeder.awaitCopies(kill * EVENTS / (KILLS + 1));
          child.kill();
          child = scenario.runChild(directory, SMALL_BUFFERS);
        }
        feeder.awaitDone();
      }
      scenario.requireCausal();
    }
  }
}
