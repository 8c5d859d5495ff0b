package dev.parsley.tests.faults;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.streams.Origin;
import dev.parsley.tests.streams.Scenario;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Sends a {@link Load} to each partition on a thread of its own, at the pace at which committed
 * copies come out, for as long as somebody wants to break something meanwhile.
 */
final class Feed implements AutoCloseable {

  /** How the records of an application come about. */
  enum Kind {
    PLAIN,
    /** With bursts of aborted records between them. */
    WITH_ABORTED_BURSTS,
    /** Their times jump by days, back and forth. */
    WITH_JUMPING_TIMES
  }

  /** Sent and not copied, in one partition; more than what waits for records that are not sent. */
  private static final int IN_FLIGHT_MAX = Load.DISPLACEMENT + 60;

  private static final int CHUNK = 10;
  private static final int LATE_MAX = 200;
  private static final Duration POLL = Duration.ofMillis(20);
  private static final long MINUTE_MS = Duration.ofMinutes(1).toMillis();
  private static final long DAY_MS = Duration.ofDays(1).toMillis();

  private final Scenario scenario;
  private final Kind kind;
  private final Tally tally;
  private final Random random;
  private final List<Load> loads;
  private final KafkaProducer<byte[], byte[]> producer;
  private final AtomicIntegerArray copied; // late ones left out
  private final String late;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final Thread thread = new Thread(this::run, "feed");
  private final Map<Load.Step, Future<RecordMetadata>> sending = new HashMap<>();
  private long timeMs = System.currentTimeMillis();
  private volatile boolean ending;
  private volatile boolean stopped;
  private volatile int sent;
  private volatile int allCopied;

  private Feed(
      Scenario scenario, List<String> topics, int partitions, Kind kind, Tally tally, long seed) {
    this.scenario = scenario;
    this.kind = kind;
    this.tally = tally;
    this.random = new Random(seed);
    this.loads = new ArrayList<>(); // filled by start
    this.copied = new AtomicIntegerArray(partitions);
    this.late = topics.get(topics.size() - 1);
    this.producer =
        scenario.cluster.newProducer(Map.of("linger.ms", 5, "request.timeout.ms", 5_000));
  }

  /**
   * @param topics full names; the last one is for records that are late
   */
  static Feed start(
      Scenario scenario, List<String> topics, int partitions, Kind kind, Tally tally, long seed) {
    final Feed feed = new Feed(scenario, topics, partitions, kind, tally, seed);
    // Every partition takes as long to its end as its late records wait.
    final int lateMax = Math.max(LATE_MAX / partitions, Load.DISPLACEMENT);
    for (int partition = 0; partition < partitions; partition++) {
      final boolean bursts = kind == Kind.WITH_ABORTED_BURSTS;
      feed.loads.add(
          new Load(topics, scenario.topicIds, partition, lateMax, bursts, seed + partition));
    }
    feed.thread.start();
    return feed;
  }

  /** Committed copies of all partitions so far, those of late records left out. */
  int copies() {
    requireNoFailure();
    return IntStream.range(0, copied.length()).map(copied::get).sum();
  }

  /** The same by partition. */
  int[] copiesByPartition() {
    requireNoFailure();
    return IntStream.range(0, copied.length()).map(copied::get).toArray();
  }

  /** Brings the histories to their ends. */
  void end() {
    ending = true;
  }

  /** Whether the histories are at their ends and all of their records are copied. */
  boolean isDone() {
    requireNoFailure();
    return !thread.isAlive();
  }

  String progress() {
    return allCopied + " of " + sent + " records are copied";
  }

  @Override
  public void close() {
    stopped = true;
    Await.until(() -> !thread.isAlive(), "the feed ends");
  }

  private void requireNoFailure() {
    if (failure.get() != null) {
      throw new AssertionError("the feed has failed", failure.get());
    }
  }

  private void run() {
    final int[] sentByPartition = new int[loads.size()]; // late ones left out
    boolean drained = false;
    try (producer;
        KafkaConsumer<byte[], byte[]> consumer = scenario.cluster.newConsumer()) {
      consumer.assign(List.of(new TopicPartition(scenario.output, 0)));
      while (!stopped && !(drained && allCopied >= sent)) {
        if (ending) {
          loads.forEach(Load::end);
        }
        drained = true;
        for (int partition = 0; partition < sentByPartition.length; partition++) {
          int room =
              Math.min(CHUNK, copied.get(partition) + IN_FLIGHT_MAX - sentByPartition[partition]);
          boolean more = true;
          while (room > 0 && more) {
            final Load.Step step = loads.get(partition).next();
            more = step != null;
            if (more) {
              send(step);
            }
            if (more && !step.late() && !step.isBurst()) {
              sentByPartition[partition]++;
              room--;
            }
          }
          drained &= !more;
        }
        settle();
        for (ConsumerRecord<byte[], byte[]> copy : consumer.poll(POLL)) {
          final Origin origin = Origin.named(copy);
          allCopied++;
          if (!origin.topic().equals(late)) {
            copied.incrementAndGet(origin.partition());
          }
        }
      }
    } catch (Exception | AssertionError e) {
      failure.set(e);
    }
  }

  private void send(Load.Step step) throws Exception {
    if (step.isBurst()) {
      settle(); // What comes after the burst must lie behind it.
      final List<ProducerRecord<byte[], byte[]>> burst =
          Stream.generate(
                  () ->
                      new ProducerRecord<byte[], byte[]>(
                          step.topic(), step.partition(), null, new byte[100]))
              .limit(step.abortedCount())
              .toList();
      requirePlace(step, scenario.cluster.sendAborted(burst).get(0));
      // The abort is answered before its marker is written.
      final TopicPartition where = new TopicPartition(step.topic(), step.partition());
      final long behind = step.offset() + step.abortedCount() + 1;
      Await.until(() -> endOf(where) == behind, "the marker of a burst at " + behind);
      tally.fault(Tally.ABORTED_BURST);
    } else {
      sending.put(
          step,
          producer.send(
              step.payload().to(step.topic(), step.partition(), nextTimeMs(), step.causes())));
      sent++;
    }
  }

  private long endOf(TopicPartition where) throws Exception {
    return scenario
        .cluster
        .admin()
        .listOffsets(Map.of(where, OffsetSpec.latest()))
        .partitionResult(where)
        .get()
        .offset();
  }

  private void settle() throws Exception {
    producer.flush();
    for (Map.Entry<Load.Step, Future<RecordMetadata>> entry : sending.entrySet()) {
      requirePlace(entry.getKey(), entry.getValue().get());
    }
    sending.clear();
  }

  private static void requirePlace(Load.Step step, RecordMetadata place) {
    if (place.offset() != step.offset()) {
      throw new AssertionError(step + " was written at " + place.offset());
    }
  }

  /** Jumps stay below the hour that brokers take a record to be ahead of them. */
  private long nextTimeMs() {
    if (kind == Kind.WITH_JUMPING_TIMES && random.nextInt(50) == 0) {
      final long now = System.currentTimeMillis();
      timeMs =
          switch (random.nextInt(4)) {
            case 0 -> random.nextInt(1_000); // 1970
            case 1 -> now - random.nextInt(400) * DAY_MS;
            case 2 -> now + random.nextInt(50) * MINUTE_MS;
            default -> now;
          };
      tally.fault(Tally.TIME_JUMP);
    }
    return timeMs++;
  }
}
