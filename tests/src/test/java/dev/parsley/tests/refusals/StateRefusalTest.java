package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A changelog that was damaged, cut, emptied or deleted, and a group that never had one. */
class StateRefusalTest {

  @BrokerTest
  @Reaches(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT)
  void shouldGoOnFromACopyOfADamagedChangelog() throws Exception {
    try (Application app = withAHeldPayment()) {
      final List<ConsumerRecord<byte[], byte[]>> copy = app.changelog.copy();
      final ConsumerRecord<byte[], byte[]> held = app.changelog.held().get(0);
      final byte[] flipped = held.value().clone();
      flipped[flipped.length / 2] ^= 0x10;
      app.changelog.put(held.key(), flipped);

      final RefusalException refusal = app.refused(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT);
      assertEquals(Optional.of(app.topic("payments")), refusal.topic());
      assertEquals(OptionalLong.of(0), refusal.position());
      // The first thing to try. It comes back, so it is the changelog.
      app.deleteLocalState();
      app.refused(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT);
      app.deleteLocalState();
      app.changelog.restore(copy);
      app.run();
      app.feed("orders", "c");
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT)
  void shouldStartOverWhenTheChangelogWasCut() throws Exception {
    try (Application app = withAHeldPayment()) {
      // The version is the first row of all, so a log that lost its head never passes for whole.
      app.changelog.discardBefore(1);
      app.deleteLocalState();
      final RefusalException refusal = app.refused(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT);
      final int before = app.delivered().size();
      app.operator.startOver(refusal);
      app.run();
      app.feed("orders", "c");
      app.requireDelivered(app.fed, before);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.ORDERING_STATE_LOST)
  void shouldGoOnFromACopyOfADeletedChangelog() throws Exception {
    try (Application app = withAHeldPayment()) {
      final List<ConsumerRecord<byte[], byte[]>> copy = app.changelog.copy();
      app.changelog.delete();
      final RefusalException refusal = app.refused(RefusalReason.ORDERING_STATE_LOST);
      assertTrue(refusal.getMessage().contains(app.changelog.name()), refusal.getMessage());
      assertTrue(refusal.getMessage().contains("does not exist"), refusal.getMessage());
      app.changelog.restore(copy);
      app.deleteLocalState();
      app.run();
      app.feed("orders", "c");
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.ORDERING_STATE_LOST)
  void shouldStartOverWhenTheChangelogWasEmptied() throws Exception {
    try (Application app = withAHeldPayment()) {
      app.changelog.discardBefore(app.changelog.end());
      final RefusalException refusal = app.refused(RefusalReason.ORDERING_STATE_LOST);
      assertTrue(refusal.getMessage().contains("is empty"), refusal.getMessage());
      final int before = app.delivered().size();
      app.operator.startOver(refusal);
      app.run();
      app.feed("orders", "c");
      app.requireDelivered(app.fed, before);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.ORDERING_STATE_LOST)
  void shouldTakeOverAGroupThatReadWithoutTheNode() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      final Application.Fed read = app.feed("orders", "read without the node");
      app.feed("orders", "b");
      app.feed("payments", "c", app.after("orders", 1));
      app.cluster
          .admin()
          .alterConsumerGroupOffsets(
              app.applicationId,
              Map.of(new TopicPartition(app.topic("orders"), 0), new OffsetAndMetadata(1)))
          .all()
          .get();
      final RefusalException refusal = app.refused(RefusalReason.ORDERING_STATE_LOST);
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertEquals(OptionalLong.of(1), refusal.position());
      app.operator.sayAdvised(refusal, "--delete-offsets");
      app.set("parsley.first.positions", "earliest," + app.topic("orders") + ":0=1");
      app.run();
      app.requireDelivered(app.allBut(read));
    }
  }

  /** Two orders are delivered, and a payment is held that waits for a third one; nothing runs. */
  static Application withAHeldPayment() {
    final Application app = new Application("orders", "payments");
    app.feed("orders", "a");
    app.feed("orders", "b");
    app.feed("payments", "held", app.after("orders", 2));
    app.run();
    app.changelog.awaitHeld(1);
    app.fed.forEach(app::awaitRead);
    app.stop();
    return app;
  }
}
