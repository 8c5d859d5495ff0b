package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.apache.kafka.streams.KafkaStreams;

/**
 * A step that is not committed leaves no trace, and the same feed then gives the same deliveries.
 */
class AbortedTransactionTest {

  /** Longer than any test: nothing is committed but at the end. */
  private static final Map<String, String> NO_COMMITS =
      Map.of("commit.interval.ms", "300000", "producer.transaction.timeout.ms", "600000");

  @WithBothStoreModes
  void shouldLeaveNoTraceWhenTheProcessorThrowsAfterForwarding(boolean transactionalStores)
      throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "shipments")) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      feedBeginning(scenario);
      scenario.stop(before);
      final Map<ByteBuffer, byte[]> rows = scenario.changelog.rows(0);
      final var offsets = scenario.cluster.committedOffsets(scenario.applicationId);

      feedRest(scenario);
      final Queue<Origin> failing = new ConcurrentLinkedQueue<>();
      final CausalStreams failed =
          scenario.start(instance(scenario, directory, NO_COMMITS, thrower(failing, 4)));
      assertTrue(failed.awaitStopped(Await.PATIENCE));
      assertEquals(KafkaStreams.State.ERROR, failed.state());
      assertTrue(failed.refusal().isEmpty());
      assertEquals("told to fail", rootOf(failed.failure().orElseThrow()).getMessage());
      scenario.stop(failed);
      assertEquals(4, failing.size());

      assertEquals(1, scenario.copied().size());
      assertSameRows(rows, scenario.changelog.rows(0));
      assertEquals(offsets, scenario.cluster.committedOffsets(scenario.applicationId));

      final Queue<Origin> repeated = new ConcurrentLinkedQueue<>();
      scenario.run(instance(scenario, directory, Map.of(), repeated::add));
      scenario.requireCausal();
      assertEquals(List.copyOf(failing), List.copyOf(repeated).subList(0, failing.size()));
    }
  }

  @WithBothStoreModes
  void shouldLeaveNoTraceOfRowsThatWereFlushedForACommitThatFailed(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "shipments")) {
      final FencedClients clients = new FencedClients();
      final Queue<Origin> attempts = new ConcurrentLinkedQueue<>();
      final CausalStreams instance =
          scenario.run(
              CausalStreams.builder(
                      CopyingNode.topology(scenario.topics(), scenario.output, attempts::add),
                      scenario.settings(scenario.newDirectory()))
                  .clientSupplier(clients)
                  .build());
      feedBeginning(scenario);

      // The task is closed and initialised again on the same processor object, twice.
      clients.failNextCommits(2);
      feedRest(scenario);
      Await.until(() -> clients.failuresLeft() == 0, "both commits have failed");
      scenario.awaitCopies(scenario.fed().size());
      assertTrue(
          attempts.size() > scenario.fed().size(),
          () -> "some deliveries were undone: " + attempts);
      assertTrue(instance.failure().isEmpty());
      scenario.requireCausal();
      assertEquals(List.of(), scenario.changelog.rowsOf(Changelog.HELD));
    }
  }

  @WithBothStoreModes
  void shouldForgetWhatAKilledInstanceHadNotCommitted(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "shipments")) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      feedBeginning(scenario);
      scenario.stop(before);

      feedRest(scenario);
      final ChildJvm child = scenario.runChild(directory, NO_COMMITS);
      child.awaitLine(ChildInstance.COPIED + 4, Await.PATIENCE);
      child.kill();
      assertEquals(1, scenario.copied().size());

      scenario.run(directory);
      scenario.requireCausal();
    }
  }

  /** Leaves one order delivered and one record of each other topic held, all of it committed. */
  private static void feedBeginning(Scenario scenario) {
    scenario.feed("orders", Payload.awkward(0), Causes.none());
    scenario.feed("payments", Payload.awkward(4), scenario.after("orders", 1));
    scenario.feed("shipments", Payload.awkward(5), scenario.after("payments", 1));
    scenario.changelog.awaitHeld(2);
    scenario.awaitAllRead();
  }

  /** Releases what is held, and holds and releases more. */
  private static void feedRest(Scenario scenario) {
    scenario.feed("payments", Payload.awkward(1), scenario.after("orders", 2));
    scenario.feed("orders", Payload.awkward(2), Causes.none());
    scenario.feed("shipments", Payload.awkward(6), scenario.after("orders", 3));
    scenario.feed("orders", Payload.awkward(3), Causes.none());
    scenario.feed("orders", Payload.awkward(7), Causes.none());
  }

  private static CausalStreams instance(
      Scenario scenario, Path directory, Map<String, String> more, Consumer<Origin> afterForward) {
    final Map<String, String> settings = scenario.settings(directory);
    settings.putAll(more);
    return CausalStreams.of(
        CopyingNode.topology(scenario.topics(), scenario.output, afterForward), settings);
  }

  private static Consumer<Origin> thrower(Queue<Origin> copied, int countMax) {
    return origin -> {
      copied.add(origin);
      if (copied.size() == countMax) {
        throw new IllegalArgumentException("told to fail");
      }
    };
  }

  private static void assertSameRows(
      Map<ByteBuffer, byte[]> expected, Map<ByteBuffer, byte[]> actual) {
    final Map<ByteBuffer, ByteBuffer> left = new TreeMap<>();
    final Map<ByteBuffer, ByteBuffer> right = new TreeMap<>();
    expected.forEach((key, value) -> left.put(key, ByteBuffer.wrap(value)));
    actual.forEach((key, value) -> right.put(key, ByteBuffer.wrap(value)));
    assertEquals(left, right);
  }

  private static Throwable rootOf(Throwable failure) {
    return failure.getCause() == null ? failure : rootOf(failure.getCause());
  }
}
