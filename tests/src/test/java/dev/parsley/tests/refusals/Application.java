package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.Cluster;
import dev.parsley.tests.harness.Directories;
import dev.parsley.tests.harness.InProcessBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.streams.KafkaStreams;

/**
 * One application on a broker: its topics, its code, what it was fed, and the instance that runs.
 * Topics are named without the application's own prefix. For one test thread.
 */
final class Application implements AutoCloseable {

  /** A record that was fed, and what it was said to be caused by. */
  record Fed(String topic, int partition, long offset, Causes causes) {
    String origin() {
      return topic + "-" + partition + "@" + offset;
    }
  }

  final Cluster cluster;
  final Operator operator = new Operator(this);
  final Code code = new Code();
  final List<Fed> fed = new ArrayList<>();
  final StateTopic changelog;
  String applicationId = "refusals-" + UUID.randomUUID();

  private final String prefix = applicationId;
  private final String output = prefix + ".output";
  private final Map<String, String> settings = new HashMap<>();
  private final Path base;
  private CausalStreams running;
  private Path stateDirectory;

  /** On the broker that tests share. */
  Application(String... topics) {
    this(InProcessBroker.shared(), topics);
  }

  Application(InProcessBroker broker, String... topics) {
    cluster = new Cluster(broker.bootstrapServers());
    changelog = new StateTopic(this);
    base = newDirectory();
    stateDirectory = base;
    cluster.createTopic(output, 1);
    for (String topic : topics) {
      createTopic(topic, 1);
      code.topics.add(topic(topic));
    }
  }

  String topic(String name) {
    return prefix + "." + name;
  }

  void createTopic(String name, int partitions) {
    cluster.createTopic(topic(name), partitions);
  }

  ChannelId channel(String name, int partition) {
    return new ChannelId(cluster.topicId(topic(name)), partition);
  }

  /** Being caused by a position on a topic's first partition. */
  Causes after(String name, long position) {
    return Causes.of(channel(name, 0), position);
  }

  Fed feed(String name, String value) {
    return feed(name, 0, value, Causes.none());
  }

  Fed feed(String name, String value, Causes causes) {
    return feed(name, 0, value, causes);
  }

  Fed feed(String name, int partition, String value, Causes causes) {
    final ProducerRecord<byte[], byte[]> record = record(name, partition, value);
    causes.writeTo(record.headers());
    final Fed one = new Fed(topic(name), partition, cluster.send(record).offset(), causes);
    fed.add(one);
    return one;
  }

  /** A record with a causes header that nobody can read; its position. It is not counted as fed. */
  long feedUndecodable(String name) {
    final ProducerRecord<byte[], byte[]> record = record(name, 0, "undecodable");
    record.headers().add(Causes.HEADER, new byte[] {2, 0});
    return cluster.send(record).offset();
  }

  private ProducerRecord<byte[], byte[]> record(String name, int partition, String value) {
    return new ProducerRecord<>(
        topic(name), partition, null, value.getBytes(StandardCharsets.UTF_8));
  }

  /** A setting that every later instance has. */
  void set(String key, String value) {
    settings.put(key, value);
  }

  Path stateDirectory() {
    return stateDirectory;
  }

  /** Where later instances keep their state. */
  void setStateDirectory(Path directory) {
    stateDirectory = directory;
  }

  void deleteLocalState() {
    Directories.delete(stateDirectory.resolve(applicationId));
  }

  Map<String, Object> settings(Map<String, ?> more) {
    final Map<String, Object> all = new HashMap<>();
    all.put("application.id", applicationId);
    all.put("bootstrap.servers", cluster.bootstrapServers());
    all.put("state.dir", stateDirectory.toString());
    all.put("commit.interval.ms", 50);
    all.put("heartbeat.interval.ms", 500);
    all.put("producer.transaction.timeout.ms", 5_000);
    all.put("fetch.max.wait.ms", 50);
    all.put("parsley.directory.timeout.ms", 20_000);
    all.putAll(settings);
    all.putAll(more);
    return all;
  }

  CausalStreams.Builder instance(Map<String, ?> more) {
    return CausalStreams.builder(code.topology(output), settings(more));
  }

  String output() {
    return output;
  }

  /** Starts an instance and waits until it runs. */
  void run() {
    run(instance(Map.of()));
  }

  CausalStreams run(CausalStreams.Builder instance) {
    running = instance.build();
    running.start();
    Await.until(
        () -> {
          requireNoFailure();
          return running.state() == KafkaStreams.State.RUNNING;
        },
        "the instance runs");
    return running;
  }

  private void requireNoFailure() {
    if (running != null) {
      running
          .failure()
          .ifPresent(
              failure -> {
                throw new AssertionError("the instance has stopped", failure);
              });
    }
  }

  /** Starts an instance that must be refused, before the start or while it runs. */
  RefusalException refused(RefusalReason reason) throws InterruptedException {
    return refused(reason, Map.of());
  }

  RefusalException refused(RefusalReason reason, Map<String, ?> more) throws InterruptedException {
    return refused(reason, instance(more));
  }

  RefusalException refused(RefusalReason reason, CausalStreams.Builder instance)
      throws InterruptedException {
    final CausalStreams refused;
    try {
      refused = instance.build();
    } catch (RefusalException e) {
      return met(reason, e);
    }
    try (refused) {
      refused.start();
      assertTrue(refused.awaitStopped(Await.PATIENCE), "it stops");
    } catch (RefusalException e) {
      return met(reason, e);
    }
    return met(
        reason,
        refused
            .refusal()
            .orElseThrow(() -> new AssertionError("no refusal", refused.failure().orElse(null))));
  }

  /**
   * Starts record by record, as the manual says, until the group's offset is the position of the
   * refused record. A commit needs a millisecond since the last one, so one start may not do.
   */
  void refusedRecordByRecord(RefusalReason reason, String name, long position)
      throws InterruptedException {
    for (int starts = 0; starts == 0 || committed(name, 0) < position; starts++) {
      assertTrue(starts < 5, () -> "each start takes the group on; it is at " + committed(name, 0));
      refused(reason, Map.of("max.poll.records", 1, "commit.interval.ms", 0));
    }
    assertEquals(position, committed(name, 0));
  }

  static RefusalException met(RefusalReason reason, RefusalException refusal) {
    assertEquals(reason, refusal.reason(), refusal.getMessage());
    Witness.met(reason);
    return refusal;
  }

  /** Stops the instance, which leaves its group so that the next one need not wait. */
  void stop() {
    if (running != null) {
      running
          .kafkaStreams()
          .close(
              CloseOptions.timeout(Await.PATIENCE)
                  .withGroupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP));
      running.close();
      running = null;
    }
  }

  long committed(String name, int partition) {
    return cluster
        .committedOffsets(applicationId)
        .getOrDefault(new TopicPartition(topic(name), partition), -1L);
  }

  /** Waits until the group has committed that a record was read. */
  void awaitRead(Fed record) {
    Await.until(
        () -> {
          requireNoFailure();
          return cluster
                  .committedOffsets(applicationId)
                  .getOrDefault(new TopicPartition(record.topic(), record.partition()), -1L)
              > record.offset();
        },
        record + " is read");
  }

  /** Moves a log's start up, as retention does. */
  void discardBefore(String fullTopic, int partition, long offset) throws Exception {
    cluster
        .admin()
        .deleteRecords(
            Map.of(new TopicPartition(fullTopic, partition), RecordsToDelete.beforeOffset(offset)))
        .all()
        .get();
  }

  /** Where each record of the output was read, in its order. */
  List<String> delivered() {
    return origins(cluster.readCommitted(output));
  }

  private static List<String> origins(List<ConsumerRecord<byte[], byte[]>> records) {
    return records.stream()
        .map(record -> record.headers().lastHeader(Code.ORIGIN_HEADER).value())
        .map(value -> new String(value, StandardCharsets.UTF_8))
        .toList();
  }

  /** All that was fed but for some. */
  List<Fed> allBut(Fed... without) {
    final List<Fed> rest = new ArrayList<>(fed);
    rest.removeAll(List.of(without));
    return rest;
  }

  /** What was fed to some of the topics. */
  List<Fed> fedTo(String... names) {
    final Set<String> topics = List.of(names).stream().map(this::topic).collect(Collectors.toSet());
    return fed.stream().filter(record -> topics.contains(record.topic())).toList();
  }

  /** Waits for, and judges, the whole output: see {@link #requireDelivered(Collection, int)}. */
  void requireDelivered(Collection<Fed> expected) {
    requireDelivered(expected, 0);
  }

  /**
   * Waits until the instance has delivered what is expected, stops it, and judges the output from
   * an index on: nothing is missing, doubled or more, each channel is in order, and no record comes
   * before one that it was caused by.
   *
   * @param from how many records the output had before; after a new start from nothing
   */
  void requireDelivered(Collection<Fed> expected, int from) {
    Await.until(
        () -> {
          requireNoFailure();
          return delivered().size() >= from + expected.size();
        },
        Await.PATIENCE,
        () -> expected.size() + " are delivered after " + from + "; there are " + delivered());
    expected.forEach(this::awaitRead);
    stop();
    final List<String> output = delivered();
    final List<String> judged = output.subList(from, output.size());
    assertEquals(
        expected.stream().map(Fed::origin).sorted().toList(),
        judged.stream().sorted().toList(),
        "delivered, each once");
    final Map<ChannelId, String> topics = new TreeMap<>();
    expected.forEach(
        record ->
            topics.put(
                new ChannelId(cluster.topicId(record.topic()), record.partition()),
                record.topic() + "-" + record.partition()));
    for (Fed effect : expected) {
      for (Fed cause : expected) {
        final boolean before =
            cause.topic().equals(effect.topic())
                    && cause.partition() == effect.partition()
                    && cause.offset() < effect.offset()
                || effect.causes().positions().entrySet().stream()
                    .anyMatch(
                        named ->
                            (cause.topic() + "-" + cause.partition())
                                    .equals(topics.get(named.getKey()))
                                && cause.offset() <= named.getValue());
        if (before) {
          assertTrue(
              judged.indexOf(cause.origin()) < judged.indexOf(effect.origin()),
              cause + " comes before " + effect + " in " + judged);
        }
      }
    }
    Witness.wentOn();
  }

  static Path newDirectory() {
    try {
      return Files.createTempDirectory("parsley-refusals-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    stop();
    cluster.close();
    Directories.delete(base);
  }
}
