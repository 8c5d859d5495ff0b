package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.Cluster;
import dev.parsley.tests.harness.Directories;
import dev.parsley.tests.harness.InProcessBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.streams.KafkaStreams;

/**
 * One application with a {@link CopyingNode} on the shared broker: its topics, its instances here
 * and in child JVMs, and what it was fed. For one test thread.
 */
public final class Scenario implements AutoCloseable {

  /** Short, because a killed member's partitions wait so long for their next owner. */
  private static final int SESSION_TIMEOUT_MS = 2_000;

  public final Cluster cluster;
  public final String applicationId = "streams-" + UUID.randomUUID();
  public final Map<String, Uuid> topicIds = new TreeMap<>();
  public final String output = applicationId + ".output";
  final Changelog changelog;

  /** Whatever time its records tell: the brokers' retention judges by it. */
  private static final Map<String, String> KEPT = Map.of("retention.ms", "-1");

  private final boolean transactionalStores;
  private final KafkaProducer<byte[], byte[]> producer;
  private final List<CausalStreams> instances = new ArrayList<>();
  private final List<ChildJvm> children = new ArrayList<>();
  private final List<Path> directories = new ArrayList<>();
  private long clockMs = System.currentTimeMillis();

  /** An application that receives topics of one partition each. */
  static Scenario of(boolean transactionalStores, String... topics) {
    return new Scenario(transactionalStores, 1, topics);
  }

  /**
   * @param topics names without the application's own prefix
   */
  Scenario(boolean transactionalStores, int partitions, String... topics) {
    this(InProcessBroker.shared().bootstrapServers(), transactionalStores, partitions, topics);
  }

  /** An application on brokers of the test's own. */
  public Scenario(
      String bootstrapServers, boolean transactionalStores, int partitions, String... topics) {
    this.transactionalStores = transactionalStores;
    this.cluster = new Cluster(bootstrapServers);
    this.changelog = new Changelog(cluster, applicationId);
    this.producer = cluster.newProducer(Map.of("linger.ms", 5));
    for (String name : topics) {
      topicIds.put(topic(name), cluster.createTopic(topic(name), partitions, KEPT));
    }
    cluster.createTopic(output, 1, KEPT);
  }

  /** The full name of a topic. */
  public String topic(String name) {
    return applicationId + "." + name;
  }

  /** The full names and ids of some of the topics. */
  Map<String, Uuid> topicIds(String... names) {
    final Map<String, Uuid> some = new TreeMap<>();
    for (String name : names) {
      some.put(topic(name), topicIds.get(topic(name)));
    }
    return some;
  }

  /** The channel of a topic's first partition. */
  ChannelId channel(String name) {
    return new ChannelId(topicIds.get(topic(name)), 0);
  }

  /** Being caused by a position on a topic's first partition. */
  Causes after(String name, long position) {
    return Causes.of(channel(name), position);
  }

  /** A record for a topic's first partition. Each is stamped a little later than the one before. */
  ProducerRecord<byte[], byte[]> record(String name, Payload payload, Causes causes) {
    return payload.to(topic(name), 0, clockMs++, causes);
  }

  /** Sends a record and returns its offset. */
  long feed(String name, Payload payload, Causes causes) {
    return cluster.send(record(name, payload, causes)).offset();
  }

  /** Sends events in their order, which must land at the offsets they were made for. */
  void feed(Collection<History.Event> events) throws Exception {
    final Map<History.Event, Future<RecordMetadata>> sent = new HashMap<>();
    for (History.Event event : events) {
      sent.put(
          event,
          producer.send(
              event.payload().to(event.topic(), event.partition(), clockMs++, event.causes())));
    }
    producer.flush();
    for (Map.Entry<History.Event, Future<RecordMetadata>> entry : sent.entrySet()) {
      assertEquals(entry.getKey().offset(), entry.getValue().get().offset());
    }
  }

  /** A new state directory, deleted at the end. */
  public Path newDirectory() {
    try {
      final Path directory = Files.createTempDirectory("parsley-streams-");
      directories.add(directory);
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The settings of an instance, all of them text so that they can be handed to a child. */
  public Map<String, String> settings(Path stateDirectory) {
    final Map<String, String> settings = new HashMap<>();
    settings.put("application.id", applicationId);
    settings.put("bootstrap.servers", cluster.bootstrapServers());
    settings.put("state.dir", stateDirectory.toString());
    settings.put("enable.transactional.statestores", Boolean.toString(transactionalStores));
    settings.put("commit.interval.ms", "100");
    settings.put("session.timeout.ms", Integer.toString(SESSION_TIMEOUT_MS));
    settings.put("heartbeat.interval.ms", "200");
    // Of a killed instance whose transactional id nobody takes over.
    settings.put("producer.transaction.timeout.ms", "4000");
    settings.put("producer.linger.ms", "5");
    settings.put("fetch.max.wait.ms", "50"); // A close waits for the fetch that is on its way.
    settings.put("parsley.directory.timeout.ms", "30000");
    return settings;
  }

  public List<String> topics() {
    return List.copyOf(topicIds.keySet());
  }

  CausalStreams.Builder instance(Path stateDirectory) {
    return instance(stateDirectory, Map.of());
  }

  /**
   * @param more settings over the usual ones
   */
  CausalStreams.Builder instance(Path stateDirectory, Map<String, String> more) {
    final Map<String, String> settings = settings(stateDirectory);
    settings.putAll(more);
    return CausalStreams.builder(CopyingNode.topology(topics(), output), settings);
  }

  /** Starts an instance and waits until it runs. */
  CausalStreams run(Path stateDirectory) {
    return run(instance(stateDirectory).build());
  }

  CausalStreams run(CausalStreams instance) {
    start(instance);
    awaitRunning(instance);
    return instance;
  }

  /** Starts an instance that may stop by itself. */
  CausalStreams start(CausalStreams instance) {
    instances.add(instance);
    instance.start();
    return instance;
  }

  static void awaitRunning(CausalStreams instance) {
    Await.until(
        () -> {
          requireNoFailure(instance);
          return instance.state() == KafkaStreams.State.RUNNING;
        },
        Await.PATIENCE,
        () -> "the instance runs; it is " + instance.state());
  }

  static void requireNoFailure(CausalStreams instance) {
    instance
        .failure()
        .ifPresent(
            failure -> {
              throw new AssertionError("the instance has stopped", failure);
            });
  }

  /** Closes an instance so that its partitions are free at once and not at its session's end. */
  void stop(CausalStreams instance) {
    instances.remove(instance);
    instance
        .kafkaStreams()
        .close(
            CloseOptions.timeout(Await.PATIENCE)
                .withGroupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP));
    instance.close();
  }

  private void stopAll() {
    List.copyOf(instances).forEach(this::stop);
  }

  /** Starts an instance in a JVM of its own and waits until it runs. */
  ChildJvm runChild(Path stateDirectory, Map<String, String> more) {
    final Map<String, String> settings = settings(stateDirectory);
    settings.putAll(more);
    final ChildJvm child = ChildInstance.start(settings, topics(), output);
    children.add(child);
    child.awaitLine(ChildInstance.RUNNING, Await.PATIENCE);
    return child;
  }

  /** Waits until the group has committed that all was read that lies in the topics now. */
  void awaitAllRead() {
    final Map<TopicPartition, Long> last = new HashMap<>();
    for (ConsumerRecord<byte[], byte[]> record : fed()) {
      last.merge(
          new TopicPartition(record.topic(), record.partition()), record.offset(), Math::max);
    }
    Await.until(
        () -> {
          instances.forEach(Scenario::requireNoFailure);
          final Map<TopicPartition, Long> committed = cluster.committedOffsets(applicationId);
          return last.entrySet().stream()
              .allMatch(end -> committed.getOrDefault(end.getKey(), 0L) > end.getValue());
        },
        Await.PATIENCE,
        () -> last + " is read; committed is " + cluster.committedOffsets(applicationId));
  }

  /** All that was committed to the received topics. */
  public List<ConsumerRecord<byte[], byte[]>> fed() {
    final List<ConsumerRecord<byte[], byte[]>> fed = new ArrayList<>();
    topicIds.keySet().forEach(topic -> fed.addAll(cluster.readCommitted(topic)));
    return fed;
  }

  /** The copies made so far. */
  public List<ConsumerRecord<byte[], byte[]>> copies() {
    return cluster.readCommitted(output);
  }

  List<Origin> copied() {
    return copies().stream().map(Origin::named).toList();
  }

  void awaitCopies(int count) {
    cluster.awaitRecords(output, count);
  }

  /** Waits until all that was fed has been copied, stops everything, and judges all of it. */
  void requireCausal() {
    requireCausal(fed());
  }

  /**
   * @param expected those of the fed records that are to be copied
   */
  void requireCausal(List<ConsumerRecord<byte[], byte[]>> expected) {
    awaitCopies(expected.size());
    awaitAllRead();
    stopAll();
    Judge.requireCausal(topicIds, expected, copies());
  }

  /**
   * Waits until every position of the group was committed by Kafka Streams, which leaves its mark.
   */
  void awaitPositionsOfKafkaStreams() throws Exception {
    Await.until(
        () ->
            cluster
                .admin()
                .listConsumerGroupOffsets(applicationId)
                .partitionsToOffsetAndMetadata()
                .get()
                .values()
                .stream()
                .noneMatch(offset -> offset.metadata().isEmpty()),
        "the positions are committed by Kafka Streams");
  }

  /** Moves the stopped group to the given offsets. */
  void moveGroup(Map<String, Long> offsetsByTopic) throws Exception {
    Await.until(
        () ->
            cluster
                .admin()
                .describeConsumerGroups(List.of(applicationId))
                .describedGroups()
                .get(applicationId)
                .get()
                .members()
                .isEmpty(),
        "the group is empty");
    commit(offsetsByTopic);
  }

  /** Commits offsets for a group that has no members, perhaps has never been. */
  void commit(Map<String, Long> offsetsByTopic) throws Exception {
    final Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    offsetsByTopic.forEach(
        (name, offset) ->
            offsets.put(new TopicPartition(topic(name), 0), new OffsetAndMetadata(offset)));
    cluster.admin().alterConsumerGroupOffsets(applicationId, offsets).all().get();
  }

  @Override
  public void close() {
    children.forEach(ChildJvm::kill);
    stopAll();
    producer.close();
    cluster.close();
    directories.forEach(Directories::delete);
  }
}
