package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.internal.Refusals;
import dev.parsley.tests.harness.Await;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** What protects an application that is started with plain {@link KafkaStreams}. */
class PlainStreamsTest {

  private static final String FIRST_POSITION =
      "kafka-consumer-groups.sh --bootstrap-server <brokers> --group <application.id> --topic %s:0"
          + " --reset-offsets --to-earliest --execute";

  @BrokerTest
  @Reaches(RefusalReason.ORDERING_STATE_LOST)
  void shouldBeToldByTheNodeThatTheStateIsLost() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      hold(app);
      app.changelog.delete();
      app.deleteLocalState();
      final RefusalException refusal = refused(app, RefusalReason.ORDERING_STATE_LOST);
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertEquals(OptionalLong.of(1), refusal.position());

      awaitNoMembers(app);
      app.operator.startOver(refusal);
      sayFirstPositions(app);
      app.feed("orders", "b");
      try (Instance instance = new Instance(app)) {
        instance.awaitRunning();
        app.requireDelivered(app.fed, 1);
      }
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.POSITIONS_DISCARDED_UNREAD)
  void shouldBeToldByTheNodeThatUnreadRecordsAreGone() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      hold(app);
      final Application.Fed lost = app.feed("orders", "removed unread");
      app.feed("orders", "kept");
      app.discardBefore(app.topic("orders"), 0, lost.offset() + 1);
      final RefusalException refusal = refused(app, RefusalReason.POSITIONS_DISCARDED_UNREAD);
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertEquals(OptionalLong.of(lost.offset()), refusal.position());
      assertEquals(OptionalLong.of(lost.offset() + 1), refusal.bound());

      // Without the launcher the instance stays a member for its session, and Kafka says so.
      awaitNoMembers(app);
      app.operator.sayAdvised(refusal, "--to-earliest");
      try (Instance instance = new Instance(app)) {
        instance.awaitRunning();
        app.requireDelivered(app.allBut(lost));
      }
    }
  }

  /** The node is not even asked: Kafka Streams makes no tasks for a changelog of another width. */
  @BrokerTest
  void shouldBeStoppedByKafkaStreamsWhenTheWidthChanged() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      hold(app);
      app.cluster
          .admin()
          .createPartitions(Map.of(app.topic("orders"), NewPartitions.increaseTo(2)))
          .all()
          .get();
      final List<String> before = app.delivered();
      try (Instance instance = new Instance(app)) {
        final Throwable failure = instance.awaitFailure();
        assertEquals(Optional.empty(), Refusals.in(failure));
        assertTrue(failure.toString().contains(app.changelog.name()), failure.toString());
      }
      assertEquals(before, app.delivered());
      app.applicationId = "refusals-" + UUID.randomUUID();
      app.feed("orders", "b");
      app.run();
      app.requireDelivered(app.fed, before.size());
    }
  }

  /** An order is delivered and a payment held that waits for a second one. */
  private static void hold(Application app) {
    app.feed("orders", "a");
    app.feed("payments", "held", app.after("orders", 1));
    sayFirstPositions(app);
    try (Instance instance = new Instance(app)) {
      instance.awaitRunning();
      app.changelog.awaitHeld(1);
      app.fed.forEach(app::awaitRead);
    }
    awaitNoMembers(app);
  }

  private static void sayFirstPositions(Application app) {
    app.code.topics.forEach(topic -> app.operator.say(FIRST_POSITION.formatted(topic)));
  }

  private static void awaitNoMembers(Application app) {
    Await.until(
        () ->
            app.cluster
                .admin()
                .describeConsumerGroups(List.of(app.applicationId))
                .all()
                .get()
                .get(app.applicationId)
                .members()
                .isEmpty(),
        "the group is empty");
  }

  private static RefusalException refused(Application app, RefusalReason reason) {
    try (Instance instance = new Instance(app)) {
      final Throwable failure = instance.awaitFailure();
      return Application.met(
          reason, Refusals.in(failure).orElseThrow(() -> new AssertionError("refusal", failure)));
    }
  }

  /** A client without the launcher. */
  private static final class Instance implements AutoCloseable {

    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final KafkaStreams streams;

    Instance(Application app) {
      streams =
          new KafkaStreams(
              app.code.topology(app.output()),
              new StreamsConfig(
                  app.settings(
                      Map.of(
                          "processing.guarantee", "exactly_once_v2", "session.timeout.ms", 1500))));
      streams.setUncaughtExceptionHandler(
          thrown -> {
            failure.compareAndSet(null, thrown);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
          });
      streams.start();
    }

    void awaitRunning() {
      Await.until(
          () -> {
            if (failure.get() != null) {
              throw new AssertionError("the client has failed", failure.get());
            }
            return streams.state() == KafkaStreams.State.RUNNING;
          },
          "the client runs");
    }

    Throwable awaitFailure() {
      Await.until(() -> failure.get() != null, "the client fails");
      return failure.get();
    }

    @Override
    public void close() {
      streams.close();
    }
  }
}
