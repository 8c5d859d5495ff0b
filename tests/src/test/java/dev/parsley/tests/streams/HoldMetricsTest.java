package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.Await;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.kafka.common.Metric;
import org.junit.jupiter.api.Test;

/** The node's metrics as a monitoring system reads them from a client. */
class HoldMetricsTest {

  @Test
  void shouldTellWhatIsHeldThroughTheClientsMetrics() {
    try (Scenario scenario = Scenario.of(false, "orders", "payments")) {
      final CausalStreams streams = scenario.run(scenario.newDirectory());
      scenario.feed("payments", Payload.of("first"), scenario.after("orders", 0));
      scenario.feed("payments", Payload.of("second"), scenario.after("orders", 0));
      await(streams, "held-count", scenario.topic("payments"), 2);
      assertEquals(0, value(streams, "held-count", scenario.topic("orders")));
      Await.until(
          () -> value(streams, "head-age-ms", scenario.topic("payments")) > 0,
          "the first held record ages");

      scenario.feed("orders", Payload.of("cause"), Causes.none());
      scenario.awaitCopies(3);
      await(streams, "held-count", scenario.topic("payments"), 0);
      assertEquals(2, value(streams, "held-total", null));
      assertEquals(2, value(streams, "released-total", null));
      assertTrue(value(streams, "head-wait-ms-max", null) > 0);

      assertTrue(ours(streams).findAny().isPresent());
      streams.close();
      assertTrue(ours(streams).findAny().isEmpty());
    }
  }

  private static void await(CausalStreams streams, String name, String topic, double expected) {
    Await.until(
        () -> value(streams, name, topic) == expected,
        Await.PATIENCE,
        () -> name + " is " + value(streams, name, topic) + ", and not " + expected);
  }

  /** NaN while there is no such metric, as before the task runs. */
  private static double value(CausalStreams streams, String name, String topic) {
    return ours(streams)
        .filter(metric -> metric.metricName().name().equals(name))
        .filter(metric -> Objects.equals(metric.metricName().tags().get("topic"), topic))
        .mapToDouble(metric -> (double) metric.metricValue())
        .findAny()
        .orElse(Double.NaN);
  }

  private static Stream<? extends Metric> ours(CausalStreams streams) {
    return streams.kafkaStreams().metrics().values().stream()
        .filter(metric -> metric.metricName().group().equals("stream-parsley-metrics"));
  }
}
