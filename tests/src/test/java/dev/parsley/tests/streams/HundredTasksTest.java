package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import org.junit.jupiter.api.Test;

/** An instance with a hundred tasks on one thread gives them up well within a poll interval. */
class HundredTasksTest {

  private static final int TASKS = 100;

  /** A tenth of {@code max.poll.interval.ms} unless configured. */
  private static final long CLOSE_MS_MAX = 30_000;

  @Test
  void shouldCloseAHundredTasksFarWithinAPollInterval() {
    try (Scenario scenario = new Scenario(false, TASKS, "orders", "payments")) {
      final CausalStreams instance = scenario.run(scenario.newDirectory());
      for (int partition = 0; partition < TASKS; partition++) {
        final Causes first =
            Causes.of(new ChannelId(scenario.topicIds.get(scenario.topic("orders")), partition), 0);
        scenario.cluster.send(
            Payload.awkward(partition).to(scenario.topic("payments"), partition, 1_000, first));
      }
      scenario.awaitAllRead();

      final long started = System.nanoTime();
      scenario.stop(instance);
      final long ms = (System.nanoTime() - started) / 1_000_000;

      System.out.printf(
          "closes: an instance of %d tasks, each with a held record, in %d ms%n", TASKS, ms);
      assertTrue(ms < CLOSE_MS_MAX, ms + " ms");
    }
  }
}
