package dev.parsley.streams.internal;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;

/** What the node tells among the metrics of Kafka Streams. */
class HoldMetricsTest {

  private static final class Forwarding
      extends ContextualProcessor<String, String, String, String> {
    @Override
    public void process(Record<String, String> record) {
      context().forward(record);
    }
  }

  private static CausalDriver driver() {
    return CausalDriver.of(CausalDriver.node().processing(Forwarding::new));
  }

  @Test
  void shouldCountWhatIsHeldAndReleased() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "first", afterOrder(0)).pipe(PAYMENTS, "second", afterOrder(1));
      assertEquals(2, driver.metric("held-count", PAYMENTS));
      assertEquals(0, driver.metric("held-count", ORDERS));
      assertEquals(2, driver.metric("held-total"));
      assertEquals(0, driver.metric("released-total"));
      assertTrue(driver.metric("held-rate") > 0);

      driver.pipe(ORDERS, "cause", Causes.none());
      assertEquals(1, driver.metric("held-count", PAYMENTS));
      assertEquals(1, driver.metric("released-total"));
      assertTrue(driver.metric("released-rate") > 0);

      driver.pipe(ORDERS, "cause", Causes.none());
      assertEquals(0, driver.metric("held-count", PAYMENTS));
      assertEquals(2, driver.metric("held-total"));
      assertEquals(2, driver.metric("released-total"));
    }
  }

  @Test
  void shouldNotCountARecordThatIsDeliveredAtOnce() {
    try (CausalDriver driver = driver()) {
      driver.pipe(ORDERS, "order", Causes.none()).pipe(PAYMENTS, "payment", afterOrder(0));
      assertEquals(List.of("order", "payment"), driver.sentValues());
      assertEquals(0, driver.metric("held-total"));
      assertEquals(0, driver.metric("released-total"));
      assertEquals(0, driver.metric("duplicate-total"));
    }
  }

  @Test
  void shouldTellForHowLongTheFirstHeldRecordHasBeenTheFirst() {
    try (CausalDriver driver = driver()) {
      driver.driver().advanceWallClockTime(Duration.ofMinutes(1));
      assertEquals(0, driver.metric("head-age-ms", PAYMENTS));

      driver.pipe(PAYMENTS, "first", afterOrder(0)).pipe(PAYMENTS, "second", afterOrder(1));
      driver.driver().advanceWallClockTime(Duration.ofMillis(700));
      assertEquals(700, driver.metric("head-age-ms", PAYMENTS));
      assertEquals(0, driver.metric("head-age-ms", ORDERS));

      driver.pipe(ORDERS, "cause", Causes.none()); // The second one is the first from now on.
      assertEquals(0, driver.metric("head-age-ms", PAYMENTS));
      driver.driver().advanceWallClockTime(Duration.ofMillis(300));
      assertEquals(300, driver.metric("head-age-ms", PAYMENTS));

      driver.pipe(ORDERS, "cause", Causes.none());
      assertEquals(0, driver.metric("head-age-ms", PAYMENTS));
      assertEquals(500, driver.metric("head-wait-ms-avg"));
      assertEquals(700, driver.metric("head-wait-ms-max"));
    }
  }

  @Test
  void shouldNameThreadTaskNodeAndTopicInTheTags() {
    try (CausalDriver driver = driver()) {
      final Set<String> nodeNames = new TreeSet<>();
      final Set<String> topicNames = new TreeSet<>();
      for (MetricName name : driver.metrics().keySet()) {
        assertEquals(Thread.currentThread().getName(), name.tags().get("thread-id"));
        assertEquals("0_0", name.tags().get("task-id"));
        assertEquals("shipments", name.tags().get("parsley-id"));
        final String topic = name.tags().get("topic");
        (topic == null ? nodeNames : topicNames)
            .add(topic == null ? name.name() : topic + " " + name.name());
      }
      assertEquals(
          new TreeSet<>(
              Set.of(
                  "duplicate-rate",
                  "duplicate-total",
                  "head-wait-ms-avg",
                  "head-wait-ms-max",
                  "held-rate",
                  "held-total",
                  "released-rate",
                  "released-total")),
          nodeNames);
      assertEquals(
          new TreeSet<>(
              Set.of(
                  "orders head-age-ms",
                  "orders held-count",
                  "payments head-age-ms",
                  "payments held-count")),
          topicNames);
    }
  }

  @Test
  void shouldLeaveNothingAfterClose() {
    final CausalDriver driver = driver();
    driver.pipe(PAYMENTS, "held", afterOrder(0));
    driver.close();
    assertEquals(Map.of(), driver.metrics());
  }

  @Test
  void shouldLeaveNothingAfterAnInitialisationThatFailed() {
    final ProcessorContext<?, ?>[] seen = new ProcessorContext<?, ?>[1];
    assertThrows(
        StreamsException.class,
        () -> CausalDriver.of(CausalDriver.node().processing(() -> new FailingAtInit(seen))));
    assertTrue(
        seen[0].metrics().metrics().keySet().stream()
            .noneMatch(name -> name.group().equals(HoldMetrics.GROUP)));
  }

  private record FailingAtInit(ProcessorContext<?, ?>[] seen)
      implements Processor<String, String, String, String> {
    @Override
    public void init(ProcessorContext<String, String> context) {
      seen[0] = context;
      throw new IllegalStateException("as told");
    }

    @Override
    public void process(Record<String, String> record) {}
  }

  @Test
  void shouldReplaceMetricsThatNobodyClosed() {
    final ProcessorContext<?, ?>[] seen = new ProcessorContext<?, ?>[1];
    try (CausalDriver driver =
        CausalDriver.of(CausalDriver.node().processing(() -> new ShowingContext(seen)))) {
      driver.pipe(PAYMENTS, "held", afterOrder(0));
      assertEquals(1, driver.metric("held-total"));
      try (HoldMetrics another =
          HoldMetrics.of(
              seen[0], "shipments", List.<ReceivedTopic<String, String>>of(), new long[0])) {
        assertEquals(0, driver.metric("held-total"));
        another.duplicate();
        assertEquals(1, driver.metric("duplicate-total"));
      }
    }
  }

  private record ShowingContext(ProcessorContext<?, ?>[] seen)
      implements Processor<String, String, String, String> {
    @Override
    public void init(ProcessorContext<String, String> context) {
      seen[0] = context;
    }

    @Override
    public void process(Record<String, String> record) {}
  }
}
