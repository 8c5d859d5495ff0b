package dev.parsley.tests.streams;

import dev.parsley.tests.harness.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * Feeds one history to each partition on a thread of its own, at the pace at which copies come out,
 * so that records flow for as long as a test wants to do something to the instances meanwhile.
 */
final class Feeder implements AutoCloseable {

  /** Sent and not copied yet, in one partition. More than an effect can overtake. */
  private static final int IN_FLIGHT_MAX = 150;

  private static final int CHUNK = 20;
  private static final Duration POLL = Duration.ofMillis(20);

  private final Scenario scenario;
  private final List<List<History.Event>> histories;
  private final AtomicIntegerArray copied;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final Thread thread = new Thread(this::run, "feeder");
  private volatile int sentMax = Integer.MAX_VALUE;
  private volatile boolean stopped;

  private Feeder(Scenario scenario, List<List<History.Event>> histories) {
    this.scenario = scenario;
    this.histories = histories;
    this.copied = new AtomicIntegerArray(histories.size());
  }

  /**
   * @param histories by partition. Until the feeder is done, the caller feeds nothing itself
   */
  static Feeder start(Scenario scenario, List<List<History.Event>> histories) {
    final Feeder feeder = new Feeder(scenario, histories);
    feeder.thread.start();
    return feeder;
  }

  /** Pauses each partition when so many of its events are sent; to be called again with more. */
  Feeder pauseAt(int eventsPerPartition) {
    sentMax = eventsPerPartition;
    return this;
  }

  /** Waits until so many copies are committed, over all partitions. */
  void awaitCopies(int count) {
    Await.until(
        () -> {
          requireNoFailure();
          return copies() >= count;
        },
        Await.PATIENCE,
        () -> count + " copies; there are " + copied);
  }

  boolean isDone() {
    return !thread.isAlive();
  }

  /** Waits until all is sent. */
  void awaitDone() {
    Await.until(this::isDone, Await.PATIENCE, () -> "all is fed; copied are " + copied);
    requireNoFailure();
  }

  @Override
  public void close() {
    stopped = true;
    Await.until(this::isDone, "the feeder ends");
  }

  int copies() {
    int copies = 0;
    for (int partition = 0; partition < copied.length(); partition++) {
      copies += copied.get(partition);
    }
    return copies;
  }

  private void requireNoFailure() {
    if (failure.get() != null) {
      throw new AssertionError("the feeder has failed", failure.get());
    }
  }

  private void run() {
    final int[] sent = new int[histories.size()];
    try (KafkaConsumer<byte[], byte[]> consumer = scenario.cluster.newConsumer()) {
      consumer.assign(List.of(new TopicPartition(scenario.output, 0)));
      while (!stopped && unsent(sent) > 0) {
        final List<History.Event> chunk = new ArrayList<>();
        for (int partition = 0; partition < sent.length; partition++) {
          final List<History.Event> history = histories.get(partition);
          final int room = Math.min(CHUNK, copied.get(partition) + IN_FLIGHT_MAX - sent[partition]);
          final int end =
              Math.min(
                  Math.min(history.size(), Math.max(sentMax, sent[partition])),
                  sent[partition] + Math.max(0, room));
          chunk.addAll(history.subList(sent[partition], end));
          sent[partition] = end;
        }
        scenario.feed(chunk);
        for (ConsumerRecord<byte[], byte[]> copy : consumer.poll(POLL)) {
          copied.incrementAndGet(Origin.named(copy).partition());
        }
      }
    } catch (Exception | AssertionError e) {
      failure.set(e);
    }
  }

  private int unsent(int[] sent) {
    int unsent = 0;
    for (int partition = 0; partition < sent.length; partition++) {
      unsent += histories.get(partition).size() - sent[partition];
    }
    return unsent;
  }
}
