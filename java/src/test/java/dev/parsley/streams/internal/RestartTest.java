package dev.parsley.streams.internal;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.ORDERS_0;
import static dev.parsley.streams.internal.CausalDriver.OUTPUT;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS_0;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causal;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.zip.CRC32;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.junit.jupiter.api.Test;

/**
 * A task that is closed and initialised again on the same processor object and store. A record of
 * the topic "restart" makes it so here.
 */
class RestartTest {

  private static final String RESTART = "restart";

  /** A directory whose answers the test changes between two initialisations. */
  private static final class ChangingDirectory implements TopicDirectory {
    final Map<String, Topic> topics = new HashMap<>();
    final Map<TopicPartition, Long> committed = new HashMap<>();
    final Set<Uuid> gone = new HashSet<>();
    final List<Set<Uuid>> askedIfGone = new ArrayList<>();
    boolean closed;

    ChangingDirectory() {
      topics.put(ORDERS, new Topic(ORDERS_0.topicId(), 1));
      topics.put(PAYMENTS, new Topic(PAYMENTS_0.topicId(), 1));
    }

    @Override
    public Map<String, Topic> describe(Set<String> names) {
      final Map<String, Topic> answer = new HashMap<>(topics);
      answer.keySet().retainAll(names);
      return answer;
    }

    @Override
    public Set<Uuid> gone(Set<Uuid> topicIds) {
      askedIfGone.add(topicIds);
      final Set<Uuid> answer = new HashSet<>(topicIds);
      answer.retainAll(gone);
      return answer;
    }

    @Override
    public Map<TopicPartition, Long> committed(Set<TopicPartition> partitions) {
      final Map<TopicPartition, Long> answer = new HashMap<>(committed);
      answer.keySet().retainAll(partitions);
      return answer;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  /** Forwards what it gets and writes down its life. */
  private final class Application implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;

    @Override
    public void init(ProcessorContext<String, String> opened) {
      context = opened;
      life.add("init");
      if (failAtInit) {
        throw new IllegalStateException("as told");
      }
    }

    @Override
    public void process(Record<String, String> record) {
      life.add(record.value());
      final RecordMetadata metadata = context.recordMetadata().orElseThrow();
      places.add(metadata.topic() + "-" + metadata.partition() + "@" + metadata.offset());
      context.forward(record);
    }

    @Override
    public void close() {
      life.add("close");
    }
  }

  private final ChangingDirectory directory = new ChangingDirectory();
  private final List<String> life = new ArrayList<>();
  private final List<String> places = new ArrayList<>();
  private boolean failAtInit;

  private CausalDriver driver() {
    final ProcessorSupplier<byte[], byte[], String, String> node =
        CausalDriver.node().directory(directory).processing(Application::new);
    final ProcessorSupplier<byte[], byte[], String, String> restartable =
        new ProcessorSupplier<>() {
          @Override
          public Processor<byte[], byte[], String, String> get() {
            return new Restartable(node.get());
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return node.stores();
          }
        };
    return CausalDriver.of(
        Causal.addSource(new Topology(), "source", ORDERS, PAYMENTS, RESTART)
            .addProcessor("node", restartable, "source")
            .addSink("sink", OUTPUT, new StringSerializer(), new StringSerializer(), "node"));
  }

  private static final class Restartable implements Processor<byte[], byte[], String, String> {
    private final Processor<byte[], byte[], String, String> node;
    private ProcessorContext<String, String> context;

    Restartable(Processor<byte[], byte[], String, String> node) {
      this.node = node;
    }

    @Override
    public void init(ProcessorContext<String, String> opened) {
      context = opened;
      node.init(opened);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      if (context.recordMetadata().orElseThrow().topic().equals(RESTART)) {
        node.close();
        node.init(context);
      } else {
        node.process(record);
      }
    }

    @Override
    public void close() {
      node.close();
    }
  }

  @Test
  void shouldKeepHoldsThroughARestart() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment 0", afterOrder(0)).pipe(PAYMENTS, "payment 1", null);

      driver.pipe(RESTART, "", null).pipe(RESTART, "", null);
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1));
      assertEquals(List.of("init", "close", "init", "close", "init"), life);
      driver.pipe(ORDERS, "order 0", null);

      assertEquals(List.of("order 0", "payment 0", "payment 1"), driver.sentValues());
    }
    assertEquals("close", life.get(life.size() - 1));
  }

  /** Only rows of version 1 can have one; Kafka Streams takes none. */
  @Test
  void shouldRefuseToHandOverAHeldRecordWithANegativeTimestamp() {
    final byte[] key =
        ByteBuffer.allocate(29).put((byte) 'h').put(PAYMENTS_0.toBytes()).putLong(0).array();
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment 0", afterOrder(0));
      final KeyValueStore<Bytes, byte[]> rows =
          driver.driver().getKeyValueStore("__parsley.shipments");
      final ByteBuffer row = ByteBuffer.wrap(rows.get(Bytes.wrap(key)));
      row.putLong(1 + Integer.BYTES + row.getInt(1), -1);
      final CRC32 checksum = new CRC32();
      checksum.update(key);
      checksum.update(row.array(), 0, row.capacity() - Integer.BYTES);
      row.putInt(row.capacity() - Integer.BYTES, (int) checksum.getValue());
      rows.put(Bytes.wrap(key), row.array());
      driver.pipe(RESTART, "", null);

      final Throwable thrown =
          assertThrows(RuntimeException.class, () -> driver.pipe(ORDERS, "order 0", null));

      final RefusalException refusal = Refusals.in(thrown).orElseThrow();
      assertEquals(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT, refusal.reason());
      assertEquals(Optional.of(PAYMENTS), refusal.topic());
      assertEquals(OptionalLong.of(0), refusal.position());
      assertTrue(refusal.getMessage().contains("timestamp -1"), refusal.getMessage());
    }
  }

  @Test
  void shouldTellWhatIsHeldFromBeforeARestart() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment 0", afterOrder(0)).pipe(PAYMENTS, "payment 1", null);
      driver.driver().advanceWallClockTime(Duration.ofSeconds(1));
      driver.pipe(RESTART, "", null);

      assertEquals(2, driver.metric("held-count", PAYMENTS));
      assertEquals(0, driver.metric("held-count", ORDERS));
      assertEquals(0, driver.metric("held-total"));
      assertEquals(0, driver.metric("head-age-ms", PAYMENTS));
      driver.pipe(ORDERS, "order 0", null);
      assertEquals(0, driver.metric("held-count", PAYMENTS));
    }
  }

  @Test
  void shouldDeliverWhatARestartMadeDeliverableSoonAfterAndNotFromInit() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment", afterOrder(6));
      directory.committed.put(new TopicPartition(ORDERS, 0), 7L); // So 6 was fed in another life.
      driver.pipe(RESTART, "", null);
      assertEquals(List.of("init", "close", "init"), life);

      driver.driver().advanceWallClockTime(Duration.ofMillis(10));

      assertEquals(List.of("payment"), driver.sentValues());
      // A punctuation has no place of its own; what it delivers has.
      assertEquals(List.of("payments-0@0"), places);
      driver.driver().advanceWallClockTime(Duration.ofSeconds(5));
      assertEquals(List.of(), driver.sentValues());
    }
  }

  @Test
  void shouldDeliverWhatARestartMadeDeliverableWithTheNextRecord() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment 0", afterOrder(6));
      directory.committed.put(new TopicPartition(ORDERS, 0), 7L);
      driver.pipe(RESTART, "", null);

      driver.pipe(PAYMENTS, "payment 1", null);

      assertEquals(List.of("payment 0", "payment 1"), driver.sentValues());
    }
  }

  @Test
  void shouldDropRecordsTheGroupHasCommitted() {
    try (CausalDriver driver = driver()) {
      directory.committed.put(new TopicPartition(ORDERS, 0), 2L);
      driver.pipe(RESTART, "", null);

      driver.pipe(ORDERS, "order 0", null).pipe(ORDERS, "order 1", null);
      driver.pipe(ORDERS, "order 2", null);

      assertEquals(List.of("order 2"), driver.sentValues());
      assertEquals(2, driver.metric("duplicate-total"));
    }
  }

  @Test
  void shouldRefuseATopicMadeAnewUnderItsName() {
    try (CausalDriver driver = driver()) {
      driver.pipe(ORDERS, "order", null);
      directory.topics.put(ORDERS, new TopicDirectory.Topic(Uuid.randomUuid(), 1));

      final RefusalException refusal =
          refused(RefusalReason.CHANNEL_IDENTITY_CHANGED, () -> driver.pipe(RESTART, "", null));

      assertEquals(ORDERS, refusal.topic().orElseThrow());
    }
  }

  @Test
  void shouldRefuseADeletedTopicWhileRecordsOfItAreHeld() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "payment", afterOrder(0));
      directory.topics.remove(PAYMENTS);

      final RefusalException refusal =
          refused(
              RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES,
              () -> driver.pipe(RESTART, "", null));

      assertEquals(PAYMENTS_0, refusal.channel().orElseThrow());
      assertEquals(PAYMENTS, refusal.topic().orElseThrow());
    }
  }

  @Test
  void shouldTakeADeletedTopicOfWhichNothingIsHeldAsFedToTheEnd() {
    try (CausalDriver driver = driver()) {
      driver.pipe(ORDERS, "order", null).pipe(PAYMENTS, "payment 0", afterOrder(3));
      directory.topics.remove(ORDERS);

      driver.pipe(RESTART, "", null);
      driver.pipe(PAYMENTS, "payment 1", null);

      assertEquals(List.of("order", "payment 0", "payment 1"), driver.sentValues());
    }
  }

  @Test
  void shouldDropTopicsThatAreGoneFromWhatItStamps() {
    final ChannelId elsewhere = new ChannelId(Uuid.randomUuid(), 4);
    try (CausalDriver driver = driver()) {
      driver.pipe(ORDERS, "order", Causes.of(elsewhere, 9));
      directory.gone.add(elsewhere.topicId());

      driver.pipe(RESTART, "", null).pipe(PAYMENTS, "payment", null);

      final var sent = driver.sent();
      assertEquals(Causes.of(elsewhere, 9).plus(ORDERS_0, 0), Causes.from(sent.get(0).headers()));
      assertEquals(Causes.of(ORDERS_0, 0).plus(PAYMENTS_0, 0), Causes.from(sent.get(1).headers()));
      // The received topics were described just before, so nobody asks for them again.
      assertEquals(List.of(Set.of(elsewhere.topicId())), directory.askedIfGone);
    }
  }

  @Test
  void shouldNotCloseADirectoryItWasGiven() {
    driver().close();

    assertFalse(directory.closed);
  }

  @Test
  void shouldPassOnAFailureOfTheApplicationsInit() {
    failAtInit = true;

    final Throwable failure = assertThrows(RuntimeException.class, this::driver);

    assertEquals("as told", failure.getCause().getMessage());
  }

  private static RefusalException refused(RefusalReason reason, Runnable step) {
    final Throwable failure = assertThrows(Throwable.class, step::run);
    final RefusalException refusal =
        Refusals.in(failure).orElseThrow(() -> new AssertionError("no refusal", failure));
    assertEquals(reason, refusal.reason());
    return refusal;
  }
}
