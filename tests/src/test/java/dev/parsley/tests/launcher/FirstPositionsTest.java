package dev.parsley.tests.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.apache.kafka.streams.KafkaStreams;
import org.junit.jupiter.api.Test;

/** Where a group starts, and that it never starts past something unread. */
class FirstPositionsTest {

  @Test
  void shouldCommitTheLogStartBeforeATaskLooksForIt() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final String payments = fixture.topic("payments", 1);
      for (String value : List.of("a", "b", "c")) {
        fixture.send(orders, 0, value);
      }
      fixture.discardBefore(orders, 0, 2);

      fixture.run(Map.of());

      assertEquals(
          Map.of(new TopicPartition(orders, 0), 2L, new TopicPartition(payments, 0), 0L),
          fixture.node().committedAtInit);
      Await.until(() -> List.copyOf(fixture.node().values).equals(List.of("c")), "c is read");
    }
  }

  @Test
  void shouldStartAtTheEndWhenToldTo() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      fixture.send(orders, 0, "a");
      fixture.run(Map.of("parsley.first.positions", "latest"));
      assertEquals(1, fixture.committed(orders, 0).offset());
      fixture.feed(orders, 0, "b");
      assertEquals(List.of("b"), List.copyOf(fixture.node().values));
    }
  }

  @Test
  void shouldStartAgainBeforeAnyRecordCame() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 2);
      fixture.run(Map.of()).close();
      assertEquals(0, fixture.committed(orders, 1).offset());
      fixture.run(Map.of());
      fixture.feed(orders, 1, "a");
      assertEquals(List.of("a"), List.copyOf(fixture.node().values));
    }
  }

  @Test
  void shouldGoOnWhereTheGroupIs() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 0, "a");
      first.close();
      fixture.run(Map.of());
      fixture.feed(orders, 0, "b");
      assertEquals(List.of("b"), List.copyOf(fixture.node().values));
    }
  }

  @Test
  void shouldCommitEveryPartitionWhenInstancesStartTogether() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 4);
      final CausalStreams one = fixture.instance(Map.of()).build();
      final CausalStreams two = fixture.instance(Map.of()).build();
      final CausalStreams three = fixture.instance(Map.of()).build();
      try (one;
          two;
          three) {
        final List<Thread> starts =
            List.of(new Thread(one::start), new Thread(two::start), new Thread(three::start));
        starts.forEach(Thread::start);
        for (Thread start : starts) {
          start.join();
        }
        for (CausalStreams instance : List.of(one, two, three)) {
          fixture.awaitRunning(instance);
        }
        for (int partition = 0; partition < 4; partition++) {
          fixture.feed(orders, partition, "to " + partition);
        }
        for (CausalStreams instance : List.of(one, two, three)) {
          assertEquals(Optional.empty(), instance.failure());
        }
      }
    }
  }

  @Test
  void shouldCommitAgainWhenItsCommitWasFenced() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final AtomicInteger commits = new AtomicInteger();
      final CausalStreams streams =
          fixture.instance(Map.of()).clientSupplier(new FencedOnceSupplier(commits)).build();
      fixture.run(streams);
      fixture.feed(orders, 0, "a");
      assertEquals(2, commits.get());
      assertEquals(Optional.empty(), streams.failure());
    }
  }

  @Test
  void shouldReadFromTheLogStartWhenTheGroupWasForgotten() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 0, "a");
      fixture.feed(orders, 0, "b");
      first.close();
      fixture.deleteGroup();
      fixture.discardBefore(orders, 0, 1);

      // Asked to start at the end, but the state has been fed from here before.
      final CausalStreams second = fixture.run(Map.of("parsley.first.positions", "latest"));
      assertEquals(1, fixture.node().committedAtInit.get(new TopicPartition(orders, 0)));
      fixture.feed(orders, 0, "c");
      assertEquals(List.of("b", "c"), List.copyOf(fixture.node().values));
      second.close();

      // These first positions are no mark of a fresh group: losing the state now is noticed.
      fixture.deleteGroup();
      fixture.run(Map.of()).close();
      fixture.cluster.deleteTopic(fixture.changelog());
      assertEquals(RefusalReason.ORDERING_STATE_LOST, refusedStart(fixture).reason());
    }
  }

  @Test
  void shouldRefuseAForgottenGroupWhenUnreadRecordsAreGone() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 0, "a");
      first.close();
      fixture.deleteGroup();
      fixture.send(orders, 0, "never read");
      fixture.send(orders, 0, "b");
      fixture.discardBefore(orders, 0, 2);

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.POSITIONS_DISCARDED_UNREAD, refusal.reason());
      assertEquals(Optional.of(orders), refusal.topic());
      assertEquals(OptionalLong.of(1), refusal.position());
      assertEquals(OptionalLong.of(2), refusal.bound());
      assertEquals(null, fixture.committed(orders, 0));
    }
  }

  @Test
  void shouldRefuseWhenTheLogStartPassedTheGroup() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 0, "a");
      first.close();
      final long next = fixture.committed(orders, 0).offset();
      fixture.send(orders, 0, "never read");
      final long kept = fixture.send(orders, 0, "b");
      fixture.discardBefore(orders, 0, kept);

      final CausalStreams second = fixture.instance(Map.of()).build();
      try (second) {
        second.start();
        assertTrue(second.awaitStopped(Await.PATIENCE), "it stops");
        final RefusalException refusal = second.refusal().orElseThrow();
        assertEquals(RefusalReason.POSITIONS_DISCARDED_UNREAD, refusal.reason());
        assertEquals(
            Optional.of(new ChannelId(fixture.topicIds.get(orders), 0)), refusal.channel());
        assertEquals(OptionalLong.of(next), refusal.position());
        assertEquals(OptionalLong.of(kept), refusal.bound());
        assertEquals(KafkaStreams.State.ERROR, second.state());
        assertTrue(fixture.node().values.isEmpty());
      }
    }
  }

  @Test
  void shouldRefuseANewTopicUnderAnOldName() throws Exception {
    try (LauncherFixture fixture = new LauncherFixture()) {
      final String orders = fixture.topic("orders", 1);
      final CausalStreams first = fixture.run(Map.of());
      fixture.feed(orders, 0, "a");
      first.close();
      final Uuid old = fixture.topicIds.get(orders);
      fixture.cluster.deleteTopic(orders);
      fixture.topic("orders", 1);
      Await.until(() -> fixture.committed(orders, 0) == null, "offsets go with their topic");

      final RefusalException refusal = refusedStart(fixture);
      assertEquals(RefusalReason.CHANNEL_IDENTITY_CHANGED, refusal.reason());
      assertTrue(
          refusal.getMessage().contains(new ChannelId(old, 0).toString()), refusal.getMessage());
      assertFalse(refusal.channel().orElseThrow().topicId().equals(old));
    }
  }

  /** Kafka's own clients, but for the first commit of a main consumer: that one comes too late. */
  private static final class FencedOnceSupplier implements KafkaClientSupplier {

    private final AtomicInteger commits;

    FencedOnceSupplier(AtomicInteger commits) {
      this.commits = commits;
    }

    @Override
    public Admin getAdmin(Map<String, Object> config) {
      return Admin.create(config);
    }

    @Override
    public Producer<byte[], byte[]> getProducer(Map<String, Object> config) {
      return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override
    public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
      return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()) {
        @Override
        public void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets, Duration timeout) {
          if (commits.incrementAndGet() == 1) {
            throw new CommitFailedException();
          }
          super.commitSync(offsets, timeout);
        }
      };
    }

    @Override
    public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> config) {
      return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @Override
    public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> config) {
      return getRestoreConsumer(config);
    }
  }

  private static RefusalException refusedStart(LauncherFixture fixture) {
    try (CausalStreams streams = fixture.instance(Map.of()).build()) {
      return assertThrows(RefusalException.class, streams::start);
    }
  }
}
