package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.kafka.clients.admin.NewPartitions;

/** Received topics that are deleted, made again, widened, left out, or not there. */
class TopicRefusalTest {

  @BrokerTest
  @Reaches(RefusalReason.CHANNEL_IDENTITY_CHANGED)
  void shouldStartOverWhenATopicWasMadeAgain() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      final Application.Fed gone = app.feed("orders", "a");
      app.feed("payments", "b", app.after("orders", 0));
      app.run();
      app.requireDelivered(app.fed);
      final ChannelId old = app.channel("orders", 0);
      remake(app, "orders");

      final RefusalException refusal = app.refused(RefusalReason.CHANNEL_IDENTITY_CHANGED);
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertTrue(refusal.getMessage().contains(old.toString()), refusal.getMessage());
      app.operator.startOver(refusal);
      app.fed.remove(gone);
      app.feed("orders", "c");
      app.feed("payments", "d", app.after("orders", 0));
      app.run();
      app.requireDelivered(app.fed, 2);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.CHANNEL_REMOVED_WITH_HELD_MESSAGES)
  void shouldLetATopicGoOnceNothingOfItIsHeld() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      app.code.topics.remove(app.topic("payments"));
      final RefusalException refusal =
          app.refused(RefusalReason.CHANNEL_REMOVED_WITH_HELD_MESSAGES);
      assertEquals(Optional.of(app.channel("payments", 0)), refusal.channel());
      assertEquals(OptionalLong.of(0), refusal.position());
      app.code.topics.add(app.topic("payments"));
      app.feed("orders", "c");
      app.run();
      app.requireDelivered(app.fed);

      app.code.topics.remove(app.topic("payments"));
      app.run();
      app.feed("orders", "d");
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES)
  void shouldStartOverWithoutADeletedTopicAndFindItsRecordsInTheChangelog() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      final var channel = app.channel("payments", 0);
      app.cluster.deleteTopic(app.topic("payments"));
      final RefusalException refusal =
          app.refused(RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES);
      assertEquals(Optional.of(app.topic("payments")), refusal.topic());
      assertEquals(Optional.of(channel), refusal.channel());
      assertEquals(OptionalLong.of(0), refusal.position());
      final byte[] row = app.changelog.held().get(0).value();
      assertTrue(new String(row, StandardCharsets.ISO_8859_1).contains("held"));

      final int before = app.delivered().size();
      app.code.topics.remove(app.topic("payments"));
      app.operator.startOver(refusal);
      app.run();
      app.requireDelivered(app.fedTo("orders"), before);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.TASK_WIDTH_CHANGED)
  void shouldGoOnUnderANewNameWhenTheWidestTopicWasWidened() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      widen(app, "orders", 3);
      final RefusalException refusal = app.refused(RefusalReason.TASK_WIDTH_CHANGED);
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertTrue(refusal.getMessage().contains("has 3 partitions"), refusal.getMessage());
      final int before = app.delivered().size();
      app.applicationId = "refusals-" + UUID.randomUUID();
      app.feed("orders", "c");
      app.feed("orders", 2, "on a new partition", Causes.none());
      app.run();
      app.requireDelivered(app.fed, before);
    }
  }

  @BrokerTest
  void shouldReadAPartitionThatANarrowerTopicGotFromItsStart() throws Exception {
    try (Application app = new Application("orders")) {
      app.createTopic("wide", 2);
      app.code.topics.add(app.topic("wide"));
      app.feed("orders", "a");
      app.feed("wide", 1, "b", Causes.none());
      app.run();
      app.requireDelivered(app.fed);
      widen(app, "orders", 2);
      app.feed("orders", 1, "c", Causes.of(app.channel("wide", 1), 0));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.SUBSTRATE_MISCONFIGURED)
  void shouldGoOnOnceAMissingTopicIsMade() throws Exception {
    try (Application app = new Application("orders")) {
      app.code.topics.add(app.topic("payments"));
      final RefusalException refusal = app.refused(RefusalReason.SUBSTRATE_MISCONFIGURED);
      assertEquals(Optional.of(app.topic("payments")), refusal.topic());
      assertTrue(refusal.advice().contains("a topic"), refusal.advice());
      app.createTopic("payments", 1);
      app.feed("orders", "a");
      app.feed("payments", "b", app.after("orders", 0));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.SUBSTRATE_MISCONFIGURED)
  void shouldFindAForgottenTopicBeforeItAsksTheBrokers() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.code.topics.remove(app.topic("payments"));
      app.code.forgotten.add(app.topic("payments"));
      final RefusalException refusal =
          app.refused(
              RefusalReason.SUBSTRATE_MISCONFIGURED,
              Map.of("bootstrap.servers", "localhost:1")); // Nobody there.
      assertTrue(refusal.getMessage().contains(app.topic("payments")), refusal.getMessage());
      app.code.forgotten.clear();
      app.code.topics.add(app.topic("payments"));
      app.feed("orders", "a");
      app.feed("payments", "b", app.after("orders", 0));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  private static void remake(Application app, String name) {
    app.cluster.deleteTopic(app.topic(name));
    app.createTopic(name, 1);
  }

  private static void widen(Application app, String name, int partitions) throws Exception {
    final String topic = app.topic(name);
    app.cluster
        .admin()
        .createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions)))
        .all()
        .get();
    Await.until(
        () ->
            app.cluster
                    .admin()
                    .describeTopics(List.of(topic))
                    .topicNameValues()
                    .get(topic)
                    .get()
                    .partitions()
                    .size()
                == partitions,
        "the partitions are known");
  }
}
