package dev.parsley.tests.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
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
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.ProcessingExceptionHandler;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;

/** What the launcher refuses when it looks at the brokers, and what it does when a client fails. */
class LauncherChecksTest {

  private static final byte[] ROW_KEY = {'v'};
  private static final byte[] ROW_VALUE = {2};

  @Test
  void shouldRefuseWhenTheChangelogIsGone() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 2);
      readOne(fixture, orders, 1);
      fixture.cluster.deleteTopic(fixture.changelog());

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.ORDERING_STATE_LOST, refusal.reason());
      assertEquals(Optional.of(new ChannelId(fixture.topicIds.get(orders), 1)), refusal.channel());
      assertEquals(OptionalLong.of(1), refusal.position());
      assertTrue(refusal.getMessage().contains("does not exist"), refusal.getMessage());
    }
  }

  @Test
  void shouldRefuseWhenATasksChangelogIsEmpty() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 2);
      readOne(fixture, orders, 1);
      remakeChangelog(fixture, 2);
      // Another task's state does not stand in for that of task 1.
      fixture.cluster.send(new ProducerRecord<>(fixture.changelog(), 0, ROW_KEY, ROW_VALUE));

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.ORDERING_STATE_LOST, refusal.reason());
      assertTrue(refusal.getMessage().contains("partition 1 of"), refusal.getMessage());
      assertTrue(refusal.getMessage().contains("is empty"), refusal.getMessage());
    }
  }

  @Test
  void shouldNotTakeAbortedRecordsForState() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      readOne(fixture, fixture.topic("orders", 1), 0);
      remakeChangelog(fixture, 1);
      fixture.cluster.sendAborted(
          List.of(new ProducerRecord<>(fixture.changelog(), 0, ROW_KEY, ROW_VALUE)));
      assertEquals(RefusalReason.ORDERING_STATE_LOST, refusedStart(fixture).reason());
    }
  }

  @Test
  void shouldWaitForATransactionThatIsAboutToCommitState() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      readOne(fixture, fixture.topic("orders", 1), 0);
      remakeChangelog(fixture, 1);
      try (KafkaProducer<byte[], byte[]> other =
              fixture.cluster.newProducer(
                  Map.of("transactional.id", fixture.applicationId + "-other"));
          CausalStreams streams = fixture.instance(Map.of()).build()) {
        other.initTransactions();
        other.beginTransaction();
        other.send(new ProducerRecord<>(fixture.changelog(), 0, ROW_KEY, ROW_VALUE));
        other.flush();
        final CompletableFuture<Void> start = CompletableFuture.runAsync(streams::start);
        assertThrows(TimeoutException.class, () -> start.get(2, TimeUnit.SECONDS));
        other.commitTransaction();
        start.get(30, TimeUnit.SECONDS);
        fixture.awaitRunning(streams);
      }
    }
  }

  @Test
  void shouldRefuseWhenATopicGotMorePartitions() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      fixture.topic("payments", 1);
      readOne(fixture, orders, 0);
      fixture
          .cluster
          .admin()
          .createPartitions(Map.of(orders, NewPartitions.increaseTo(3)))
          .all()
          .get();
      Await.until(
          () ->
              fixture
                      .cluster
                      .admin()
                      .describeTopics(List.of(orders))
                      .allTopicNames()
                      .get()
                      .get(orders)
                      .partitions()
                      .size()
                  == 3,
          "the partitions are known");

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.TASK_WIDTH_CHANGED, refusal.reason());
      assertEquals(Optional.of(orders), refusal.topic());
      assertTrue(refusal.getMessage().contains("for 1 tasks"), refusal.getMessage());
      assertTrue(refusal.getMessage().contains("3 partitions"), refusal.getMessage());
    }
  }

  @Test
  void shouldRefuseWhenATopicIsGoneThatRecordsAreHeldOf() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 2);
      fixture.topic("payments", 2);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 1, "a");
      fixture.feed(orders, 1, "hold b");
      fixture.feed(orders, 1, "hold c");
      first.close();
      fixture.cluster.deleteTopic(orders);

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES, refusal.reason());
      assertEquals(Optional.of(orders), refusal.topic());
      assertEquals(Optional.of(new ChannelId(fixture.topicIds.get(orders), 1)), refusal.channel());
      assertTrue(refusal.getMessage().contains("holds 2 records"), refusal.getMessage());
    }
  }

  @Test
  void shouldSayThatATopicIsMissing() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      fixture.cluster.deleteTopic(orders);
      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.SUBSTRATE_MISCONFIGURED, refusal.reason());
      assertEquals(Optional.of(orders), refusal.topic());
    }
  }

  @Test
  void shouldStopTheClientWhateverTheUsersHandlerAnswers() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final Queue<Throwable> told = new ConcurrentLinkedQueue<>();
      final Queue<KafkaStreams.State> states = new ConcurrentLinkedQueue<>();
      final CausalStreams streams =
          fixture
              .instance(Map.of())
              .uncaughtExceptionHandler(
                  thrown -> {
                    told.add(thrown);
                    return StreamThreadExceptionResponse.REPLACE_THREAD;
                  })
              .stateListener((now, before) -> states.add(now))
              .build();
      fixture.run(streams);
      fixture.send(orders, 0, "fail");
      assertTrue(streams.awaitStopped(Await.PATIENCE), "it stops");
      assertEquals(KafkaStreams.State.ERROR, streams.state());
      assertEquals(1, told.size());
      assertEquals(told.peek(), streams.failure().orElseThrow());
      assertEquals(Optional.empty(), streams.refusal());
      assertTrue(states.contains(KafkaStreams.State.RUNNING), states.toString());
      assertTrue(states.contains(KafkaStreams.State.ERROR), states.toString());
      streams.close();
      streams.close();
    }
  }

  @Test
  void shouldRefuseAnExceptionHandlerWhenItAnswersToGoOn() throws Exception {
    final RefusalException refusal = failureWith(ResumingHandler.class).refusal().orElseThrow();
    assertEquals(RefusalReason.SUBSTRATE_MISCONFIGURED, refusal.reason());
    assertTrue(
        refusal.getMessage().contains(ResumingHandler.class.getName()), refusal.getMessage());
    assertInstanceOf(IllegalArgumentException.class, refusal.getCause());
  }

  @Test
  void shouldTakeAnExceptionHandlerThatFails() throws Exception {
    final CausalStreams streams = failureWith(FailingHandler.class);
    assertEquals(Optional.empty(), streams.refusal());
    assertTrue(streams.failure().isPresent());
  }

  private static CausalStreams failureWith(Class<?> handler) throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams streams =
          fixture.run(Map.of("processing.exception.handler", handler.getName()));
      fixture.send(orders, 0, "fail");
      assertTrue(streams.awaitStopped(Await.PATIENCE), "it stops");
      return streams;
    }
  }

  /** Reads one record in an instance of its own, so that the group and the state have something. */
  private static void readOne(LauncherFixture fixture, String topic, int partition)
      throws Exception {
    final CausalStreams streams = fixture.run(Map.of());
    fixture.feed(topic, partition, "a");
    streams.close();
  }

  private static void remakeChangelog(LauncherFixture fixture, int partitions) {
    fixture.cluster.deleteTopic(fixture.changelog());
    fixture.cluster.createTopic(
        fixture.changelog(), partitions, Map.of("cleanup.policy", "compact"));
  }

  private static RefusalException refusedStart(LauncherFixture fixture) {
    try (CausalStreams streams = fixture.instance(Map.of()).build()) {
      final RefusalException refusal = assertThrows(RefusalException.class, streams::start);
      assertEquals(Optional.of(refusal), streams.refusal());
      return refusal;
    }
  }

  /** Answers to pass over the record. */
  public static final class ResumingHandler implements ProcessingExceptionHandler {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public Response handleError(
        ErrorHandlerContext context, Record<?, ?> record, Exception failure) {
      return Response.resume();
    }
  }

  /** Answers to fail, as it must. */
  public static final class FailingHandler implements ProcessingExceptionHandler {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public Response handleError(
        ErrorHandlerContext context, Record<?, ?> record, Exception failure) {
      return Response.fail();
    }
  }
}
