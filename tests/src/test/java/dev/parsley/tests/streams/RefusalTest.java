package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * A refusal is told to the user's handler and to the launcher, stops the client and loses nothing.
 */
class RefusalTest {

  private final Queue<Throwable> told = new ConcurrentLinkedQueue<>();

  @WithBothStoreModes
  void shouldStopAtAHeaderThatCannotBeDecodedAndGoOnBehindIt(boolean transactionalStores)
      throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      final Path directory = scenario.newDirectory();
      final CausalStreams before = scenario.run(directory);
      scenario.feed("payments", Payload.awkward(5), scenario.after("orders", 2));
      scenario.feed("orders", Payload.awkward(0), Causes.none());
      scenario.changelog.awaitHeld(1);
      scenario.awaitAllRead();
      scenario.stop(before);

      final ProducerRecord<byte[], byte[]> bad =
          scenario.record("orders", Payload.awkward(1), Causes.none());
      bad.headers().add(Causes.HEADER, new byte[] {2, 0});
      assertEquals(1, scenario.cluster.send(bad).offset());
      scenario.feed("orders", Payload.awkward(2), Causes.none());

      final RefusalException refusal = requireRefusal(scenario, directory, Map.of());
      assertEquals(RefusalReason.UNDECODABLE_METADATA, refusal.reason());
      assertEquals(Optional.of(scenario.channel("orders")), refusal.channel());
      assertEquals(Optional.of(scenario.topic("orders")), refusal.topic());
      assertEquals(OptionalLong.of(1), refusal.position());
      assertEquals(1, scenario.copied().size());
      assertEquals(1, scenario.changelog.rowsOf(Changelog.HELD).size());
      // It comes again until somebody decides what becomes of the record.
      assertEquals(
          RefusalReason.UNDECODABLE_METADATA,
          requireRefusal(scenario, directory, Map.of()).reason());

      scenario.moveGroup(Map.of("orders", 2L));
      scenario.run(directory);
      final List<ConsumerRecord<byte[], byte[]>> good =
          scenario.fed().stream()
              .filter(
                  record ->
                      !record.topic().equals(scenario.topic("orders")) || record.offset() != 1)
              .toList();
      scenario.requireCausal(good);
    }
  }

  @WithBothStoreModes
  void shouldGoOnWithALargerBudget(boolean transactionalStores) throws Exception {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments", "others")) {
      final Path directory = scenario.newDirectory();
      scenario.feed("payments", Payload.awkward(4), scenario.after("orders", 0));
      final CausalStreams before = scenario.run(directory);
      scenario.changelog.awaitHeld(1);
      scenario.awaitAllRead();
      scenario.stop(before);
      scenario.feed("others", Payload.awkward(0), Causes.none());
      scenario.feed(
          "payments",
          Payload.awkward(6),
          scenario.after("orders", 0).plus(scenario.channel("others"), 0));
      scenario.feed("orders", Payload.awkward(1), Causes.none());

      // A header with two topics of one partition each takes 54 bytes.
      final RefusalException refusal =
          requireRefusal(scenario, directory, Map.of("parsley.budget.bytes", "53"));
      assertEquals(RefusalReason.METADATA_BUDGET_EXCEEDED, refusal.reason());
      assertTrue(refusal.getMessage().contains("the budget is 53"), refusal.getMessage());
      assertEquals(0, scenario.copied().size());

      scenario.run(directory);
      scenario.requireCausal();
    }
  }

  private RefusalException requireRefusal(
      Scenario scenario, Path directory, Map<String, String> more) throws InterruptedException {
    told.clear();
    final CausalStreams refused =
        scenario
            .instance(directory, more)
            .uncaughtExceptionHandler(
                thrown -> {
                  told.add(thrown);
                  return StreamThreadExceptionResponse.REPLACE_THREAD;
                })
            .build();
    scenario.start(refused);
    assertTrue(refused.awaitStopped(Await.PATIENCE));
    assertEquals(KafkaStreams.State.ERROR, refused.state());
    scenario.stop(refused);
    final RefusalException refusal = refused.refusal().orElseThrow();
    assertEquals(1, told.size());
    assertSame(refusal, refusalIn(told.element()));
    return refusal;
  }

  private static Throwable refusalIn(Throwable thrown) {
    Throwable cause = thrown;
    while (cause != null && !(cause instanceof RefusalException)) {
      cause = cause.getCause();
    }
    return cause;
  }
}
