package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory.Topic;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.streams.errors.StreamsException;

/**
 * What we ask the brokers, and how long we go on asking: an unanswered request is sent again until
 * the time is over, and "there is no such topic" is believed only when it was answered several
 * times, since a broker that has just started, or has not yet heard of a new topic, says so too.
 *
 * <p>Safe for use by several threads, as {@link Admin} is.
 */
final class BrokerQuestions {

  /** How often in a row "no such topic" must be answered before it is believed. */
  static final int UNKNOWN_ANSWERS_MIN = 4;

  private static final long BACKOFF_MS_MIN = 100;
  private static final long BACKOFF_MS_MAX = 1_000;
  private static final int REQUEST_MS_MAX = 30_000;

  private final Admin admin;
  private final long timeoutMs;
  // Completed by stop(), so that a thread that waits to ask again does not wait on.
  private final CompletableFuture<Void> stopped = new CompletableFuture<>();

  BrokerQuestions(Admin admin, long timeoutMs) {
    this.admin = admin;
    this.timeoutMs = timeoutMs;
  }

  /** Where a partition's log begins and ends; the end is that of all records, committed or not. */
  record LogRange(long start, long end) {
    boolean isEmpty() {
      return start >= end;
    }
  }

  /** Makes every question that is still waiting fail. */
  void stop() {
    stopped.complete(null);
  }

  Map<String, Topic> describe(Set<String> names) {
    final Map<String, Topic> found = new HashMap<>();
    new Rounds("describe topics") {
      @Override
      Map<String, KafkaFuture<TopicDescription>> ask(Collection<String> asked, int requestMs) {
        return admin
            .describeTopics(
                TopicCollection.ofTopicNames(asked),
                new DescribeTopicsOptions().timeoutMs(requestMs))
            .topicNameValues();
      }

      @Override
      void answered(String name, TopicDescription description) {
        final Uuid id = description.topicId();
        if (id == null || id.equals(Uuid.ZERO_UUID)) {
          throw new RefusalException(
              RefusalReason.SUBSTRATE_MISCONFIGURED,
              "the brokers give this topic no id; they must run Kafka 2.8 or later in full",
              null,
              name,
              null,
              null,
              null);
        }
        found.put(name, new Topic(id, description.partitions().size()));
      }
    }.run(names);
    return found;
  }

  Set<Uuid> gone(Set<Uuid> topicIds) {
    final Map<String, Uuid> byText = new HashMap<>();
    topicIds.forEach(id -> byText.put(id.toString(), id));
    final Set<Uuid> gone = new HashSet<>();
    new Rounds("describe topics by id") {
      @Override
      Map<String, KafkaFuture<TopicDescription>> ask(Collection<String> asked, int requestMs) {
        final List<Uuid> ids = asked.stream().map(byText::get).toList();
        final Map<String, KafkaFuture<TopicDescription>> answers = new HashMap<>();
        admin
            .describeTopics(
                TopicCollection.ofTopicIds(ids), new DescribeTopicsOptions().timeoutMs(requestMs))
            .topicIdValues()
            .forEach((id, answer) -> answers.put(id.toString(), answer));
        return answers;
      }

      @Override
      void confirmedUnknown(String text) {
        gone.add(byText.get(text));
      }

      // A topic of others that we may not look at exists, as far as we can tell.
      @Override
      boolean mayIgnore(Throwable failure) {
        return failure instanceof AuthorizationException;
      }
    }.run(byText.keySet());
    return gone;
  }

  /** Offsets with their metadata; waits for transactions that are about to commit some. */
  Map<TopicPartition, OffsetAndMetadata> committed(String group, Set<TopicPartition> partitions) {
    if (partitions.isEmpty()) {
      return Map.of();
    }
    final Map<TopicPartition, OffsetAndMetadata> answer =
        retry(
            "read the committed offsets of group " + group,
            requestMs ->
                admin
                    .listConsumerGroupOffsets(
                        Map.of(
                            group, new ListConsumerGroupOffsetsSpec().topicPartitions(partitions)),
                        new ListConsumerGroupOffsetsOptions()
                            .requireStable(true)
                            .timeoutMs(requestMs))
                    .partitionsToOffsetAndMetadata(group),
            Map.of());
    final Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>(answer);
    committed.values().removeIf(offset -> offset == null || offset.offset() < 0);
    return committed;
  }

  Map<TopicPartition, LogRange> logRanges(Set<TopicPartition> partitions) {
    if (partitions.isEmpty()) {
      return Map.of();
    }
    final Map<TopicPartition, Long> starts = logStarts(partitions);
    final Map<TopicPartition, ListOffsetsResultInfo> ends =
        logOffsets(partitions, OffsetSpec.latest());
    final Map<TopicPartition, LogRange> ranges = new HashMap<>();
    for (TopicPartition partition : partitions) {
      ranges.put(partition, new LogRange(starts.get(partition), ends.get(partition).offset()));
    }
    return ranges;
  }

  /** The first offset that each log still has, or would take next when it is empty. */
  Map<TopicPartition, Long> logStarts(Set<TopicPartition> partitions) {
    final Map<TopicPartition, Long> starts = new HashMap<>();
    if (!partitions.isEmpty()) {
      logOffsets(partitions, OffsetSpec.earliest())
          .forEach((partition, answer) -> starts.put(partition, answer.offset()));
    }
    return starts;
  }

  private Map<TopicPartition, ListOffsetsResultInfo> logOffsets(
      Set<TopicPartition> partitions, OffsetSpec spec) {
    final Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
    partitions.forEach(partition -> specs.put(partition, spec));
    return retry(
        "read the log ranges of " + partitions,
        requestMs ->
            admin
                .listOffsets(
                    specs,
                    new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED).timeoutMs(requestMs))
                .all(),
        null);
  }

  private interface Request<T> {
    KafkaFuture<T> send(int requestMs);
  }

  /** One request, sent again while its failure may pass; an unknown group has {@code ifNone}. */
  private <T> T retry(String what, Request<T> request, T ifNone) {
    final Deadline deadline = new Deadline(what);
    while (true) {
      try {
        return deadline.await(request.send(deadline.requestMs()));
      } catch (ExecutionException e) {
        if (ifNone != null && e.getCause() instanceof GroupIdNotFoundException) {
          return ifNone;
        }
        if (!(e.getCause() instanceof RetriableException)) {
          throw deadline.failed(e.getCause());
        }
        deadline.pause(e.getCause());
      } catch (TimeoutException e) {
        deadline.pause(e);
      }
    }
  }

  /** Asks about several topics, those without an answer again, until each has one. */
  private abstract class Rounds {

    private final String what;

    Rounds(String what) {
      this.what = what;
    }

    abstract Map<String, KafkaFuture<TopicDescription>> ask(
        Collection<String> asked, int requestMs);

    void answered(String asked, TopicDescription description) {}

    void confirmedUnknown(String asked) {}

    boolean mayIgnore(Throwable failure) {
      return false;
    }

    final void run(Set<String> all) {
      final Set<String> open = new HashSet<>(all);
      final Map<String, Integer> unknownAnswers = new HashMap<>();
      final Deadline deadline = new Deadline(what + " " + all);
      while (!open.isEmpty()) {
        Throwable last = null;
        final Map<String, KafkaFuture<TopicDescription>> answers =
            ask(new ArrayList<>(open), deadline.requestMs());
        for (Map.Entry<String, KafkaFuture<TopicDescription>> answer : answers.entrySet()) {
          final String asked = answer.getKey();
          try {
            answered(asked, deadline.await(answer.getValue()));
            open.remove(asked);
          } catch (ExecutionException e) {
            last = e.getCause();
            if (isUnknownTopic(last)) {
              if (unknownAnswers.merge(asked, 1, Integer::sum) >= UNKNOWN_ANSWERS_MIN) {
                confirmedUnknown(asked);
                open.remove(asked);
              }
            } else if (mayIgnore(last)) {
              open.remove(asked);
            } else if (last instanceof RetriableException) {
              unknownAnswers.remove(asked); // Only answers in a row count.
            } else {
              throw deadline.failed(last);
            }
          } catch (TimeoutException e) {
            last = e;
            unknownAnswers.remove(asked);
          }
        }
        if (!open.isEmpty()) {
          deadline.pause(last);
        }
      }
    }
  }

  private static boolean isUnknownTopic(Throwable failure) {
    return failure instanceof UnknownTopicOrPartitionException
        || failure instanceof UnknownTopicIdException;
  }

  /** The end of one question, and the growing pauses before it. */
  private final class Deadline {

    private final String what;
    private final long endNanos;
    private long backoffMs = BACKOFF_MS_MIN;

    Deadline(String what) {
      this.what = what;
      this.endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    }

    private long leftMs() {
      return TimeUnit.NANOSECONDS.toMillis(endNanos - System.nanoTime());
    }

    int requestMs() {
      return (int) Math.max(1, Math.min(REQUEST_MS_MAX, leftMs()));
    }

    <T> T await(KafkaFuture<T> answer) throws ExecutionException, TimeoutException {
      try {
        return answer.get(Math.max(1, leftMs()), TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        throw new InterruptException(e);
      }
    }

    /** Waits before the next try; throws when there is no time for one, or we were stopped. */
    void pause(Throwable last) {
      if (leftMs() <= backoffMs) {
        throw failed(last);
      }
      try {
        stopped.get(backoffMs, TimeUnit.MILLISECONDS);
        throw failed(last);
      } catch (TimeoutException pauseIsOver) {
        backoffMs = Math.min(BACKOFF_MS_MAX, 2 * backoffMs);
      } catch (ExecutionException e) {
        throw new IllegalStateException(e);
      } catch (InterruptedException e) {
        throw new InterruptException(e);
      }
    }

    StreamsException failed(Throwable last) {
      return new StreamsException(
          "Could not "
              + what
              + " ("
              + (stopped.isDone() ? "closed meanwhile" : "within " + timeoutMs + " ms at most")
              + "). Check the connection and the rights of the application; the time is set by"
              + " parsley.directory.timeout.ms. Last answer: "
              + last,
          last);
    }
  }
}
