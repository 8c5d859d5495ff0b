package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** What somebody does to topics and changelog while the application runs. */
class WhileRunningTest {

  private static final Map<String, Object> SOON = Map.of("metadata.max.age.ms", 500);

  @BrokerTest
  @Reaches({RefusalReason.POSITIONS_DISCARDED_UNREAD, RefusalReason.CHANNEL_IDENTITY_CHANGED})
  void shouldStopWhenATopicIsMadeAgain() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      final Application.Fed gone = app.feed("orders", "a");
      app.feed("payments", "b", app.after("orders", 0));
      final ChannelId old = app.channel("orders", 0);
      final CausalStreams running = app.run(app.instance(SOON));
      app.fed.forEach(app::awaitRead);
      app.cluster.deleteTopic(app.topic("orders"));
      app.createTopic("orders", 1);
      assertTrue(running.awaitStopped(Await.PATIENCE), "it stops");
      final RefusalException cut =
          Application.met(
              RefusalReason.POSITIONS_DISCARDED_UNREAD, running.refusal().orElseThrow());
      assertEquals(OptionalLong.of(1), cut.position());
      assertEquals(OptionalLong.of(0), cut.bound());
      app.stop();

      final RefusalException refusal = app.refused(RefusalReason.CHANNEL_IDENTITY_CHANGED);
      assertTrue(refusal.getMessage().contains(old.toString()), refusal.getMessage());
      app.operator.startOver(refusal);
      app.fed.remove(gone);
      app.feed("orders", "c");
      app.run();
      app.requireDelivered(app.fed, 2);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES)
  void shouldStopWhenATopicIsDeleted() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      final CausalStreams running = app.run(app.instance(SOON));
      app.cluster.deleteTopic(app.topic("payments"));
      assertTrue(running.awaitStopped(Await.PATIENCE), "it stops");
      assertEquals(Optional.empty(), running.refusal(), () -> "" + running.failure());
      app.stop();
      final RefusalException refusal =
          app.refused(RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES);
      app.code.topics.remove(app.topic("payments"));
      app.operator.startOver(refusal);
      app.run();
      app.requireDelivered(app.fedTo("orders"), 2);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT)
  void shouldFindAChangelogThatWasEmptiedAtTheNextRebuild() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      app.run();
      final List<ConsumerRecord<byte[], byte[]>> copy = app.changelog.copy();
      app.changelog.discardBefore(app.changelog.end());
      app.awaitRead(app.feed("orders", "c"));
      app.stop();
      assertEquals(3, app.delivered().size() - 1, "the held payment went with its cause");
      final List<ConsumerRecord<byte[], byte[]>> since = app.changelog.copy();

      app.deleteLocalState();
      app.refused(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT);
      copy.addAll(since);
      app.changelog.restore(copy);
      app.deleteLocalState();
      app.run();
      app.feed("payments", "d", app.after("orders", 2));
      app.requireDelivered(app.fed);
    }
  }
}
