package dev.parsley.tests.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;

/** The other tests rest on these rules of the harness. */
class HarnessTest {

  @Test
  void shouldReadWhatWasCommittedAndNothingElse() {
    try (Cluster cluster = new Cluster(InProcessBroker.shared().bootstrapServers())) {
      cluster.createTopic("harness-committed", 1);
      cluster.sendInTransaction(List.of(record("harness-committed", "a")));
      cluster.sendAborted(List.of(record("harness-committed", "b")));
      cluster.send(record("harness-committed", "c"));

      final List<ConsumerRecord<byte[], byte[]>> records =
          cluster.readCommitted("harness-committed");

      assertEquals(List.of("a", "c"), records.stream().map(HarnessTest::value).toList());
      // a, its marker, b, its marker, c: the gaps that the library must live with.
      assertEquals(List.of(0L, 4L), records.stream().map(ConsumerRecord::offset).toList());
    }
  }

  @Test
  void shouldKeepCommittedRecordsThroughAKillOfTheBroker() {
    try (ChildBroker broker = ChildBroker.start()) {
      try (Cluster cluster = new Cluster(broker.bootstrapServers())) {
        cluster.createTopic("kept", 1);
        cluster.sendInTransaction(List.of(record("kept", "a")));
        cluster.awaitRecords("kept", 1);
        broker.kill();
        broker.startAgain();
        assertEquals("a", value(cluster.awaitRecords("kept", 1).get(0)));
      }
    }
  }

  @Test
  void shouldServeTopicsOnASecondBroker() {
    final BrokerSettings settings = BrokerSettings.first();
    try (InProcessBroker first = InProcessBroker.start(settings);
        InProcessBroker second = InProcessBroker.start(BrokerSettings.joining(settings, 2));
        Cluster cluster = new Cluster(first.bootstrapServers())) {
      assertFalse(second.bootstrapServers().equals(first.bootstrapServers()));
      cluster.createTopicOn(2, "on-the-second");
      cluster.sendInTransaction(List.of(record("on-the-second", "a")));
      assertEquals(1, cluster.readCommitted("on-the-second").size());
    }
  }

  @Test
  void shouldTalkToAChildInLinesUntilItIsKilled() {
    final ChildJvm child = ChildJvm.start(Echo.class, "started");
    assertEquals("started", child.awaitLine("started", Await.PATIENCE));
    child.send("ping");
    assertEquals("heard ping", child.awaitLine("heard", Await.PATIENCE));
    child.kill();
    assertFalse(child.isAlive());
    final AssertionError error =
        assertThrows(AssertionError.class, () -> child.awaitLine("more", Await.PATIENCE));
    assertTrue(error.getMessage().contains("ended with status 137"), error.getMessage());
  }

  @Test
  void shouldSayWhatWasWaitedForWhenTheTimeIsUp() {
    final AssertionError error =
        assertThrows(
            AssertionError.class,
            () -> Await.until(() -> false, Duration.ofMillis(50), "pigs fly"));
    assertTrue(error.getMessage().contains("pigs fly"), error.getMessage());
  }

  private static ProducerRecord<byte[], byte[]> record(String topic, String value) {
    return new ProducerRecord<>(topic, value.getBytes(StandardCharsets.UTF_8));
  }

  private static String value(ConsumerRecord<byte[], byte[]> record) {
    return new String(record.value(), StandardCharsets.UTF_8);
  }

  /** The child: repeats its argument, then everything it hears. */
  static final class Echo {
    public static void main(String[] arguments) {
      System.out.println(arguments[0]);
      final var scanner = new java.util.Scanner(System.in, StandardCharsets.UTF_8);
      while (scanner.hasNextLine()) {
        System.out.println("heard " + scanner.nextLine());
      }
    }
  }
}
