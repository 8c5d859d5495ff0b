package dev.parsley.tests.launcher;

import dev.parsley.streams.CausalStreams;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

/** One application of its own on the shared broker: its topics, its node and its instances. */
final class LauncherFixture implements AutoCloseable {

  static final String NODE = "node";

  final Cluster cluster = new Cluster(InProcessBroker.shared().bootstrapServers());
  final String applicationId = "launcher-" + UUID.randomUUID();
  final Map<String, Uuid> topicIds = new HashMap<>();
  private final List<CausalStreams> started = new ArrayList<>();
  private final List<Path> directories = new ArrayList<>();
  private MarkingNode node;

  /** Makes a topic; its full name begins with the application's id. */
  String topic(String suffix, int partitions) {
    final String name = applicationId + "." + suffix;
    topicIds.put(name, cluster.createTopic(name, partitions));
    return name;
  }

  String changelog() {
    return applicationId + "-__parsley." + NODE + "-changelog";
  }

  /** The node of the instance made last. */
  MarkingNode node() {
    return node;
  }

  /** An instance with a state directory of its own, over all topics made so far. */
  CausalStreams.Builder instance(Map<String, ?> settings) {
    node = new MarkingNode(NODE, Map.copyOf(topicIds));
    final Topology topology = new Topology();
    topology.addSource(
        "source",
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer(),
        topicIds.keySet().toArray(new String[0]));
    topology.addProcessor("processor", node, "source");
    final Map<String, Object> all = new HashMap<>();
    all.put("application.id", applicationId);
    all.put("bootstrap.servers", cluster.bootstrapServers());
    all.put("state.dir", newDirectory().toString());
    all.put("commit.interval.ms", 100);
    all.put("session.timeout.ms", 2_000);
    all.put("heartbeat.interval.ms", 500);
    all.put("parsley.directory.timeout.ms", 20_000);
    all.putAll(settings);
    return CausalStreams.builder(topology, all);
  }

  /** Starts an instance and waits until it runs. */
  CausalStreams run(Map<String, ?> settings) {
    return run(instance(settings).build());
  }

  CausalStreams run(CausalStreams streams) {
    streams.start();
    started.add(streams);
    awaitRunning(streams);
    return streams;
  }

  void awaitRunning(CausalStreams streams) {
    Await.until(
        () -> {
          if (streams.failure().isPresent()) {
            throw new IllegalStateException(streams.failure().get());
          }
          return streams.state() == KafkaStreams.State.RUNNING;
        },
        "the instance runs");
  }

  /** Sends a record and waits until the group has committed that it was read. */
  void feed(String topic, int partition, String value) throws Exception {
    final long offset =
        cluster
            .send(
                new ProducerRecord<>(
                    topic, partition, null, value.getBytes(StandardCharsets.UTF_8)))
            .offset();
    Await.until(
        () -> {
          final OffsetAndMetadata committed = committed(topic, partition);
          return committed != null && committed.offset() > offset;
        },
        "the record " + value + " is committed");
  }

  /** Feeds nothing: sends only. */
  long send(String topic, int partition, String value) {
    return cluster
        .send(new ProducerRecord<>(topic, partition, null, value.getBytes(StandardCharsets.UTF_8)))
        .offset();
  }

  OffsetAndMetadata committed(String topic, int partition) throws Exception {
    return cluster
        .admin()
        .listConsumerGroupOffsets(applicationId)
        .partitionsToOffsetAndMetadata()
        .get()
        .get(new TopicPartition(topic, partition));
  }

  /** Moves a log's start up, as retention does. */
  void discardBefore(String topic, int partition, long offset) throws Exception {
    cluster
        .admin()
        .deleteRecords(
            Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(offset)))
        .all()
        .get();
  }

  /** Forgets where the group is; no instance may run. */
  void deleteGroup() throws Exception {
    final Admin admin = cluster.admin();
    Await.until(
        () ->
            admin
                .describeConsumerGroups(List.of(applicationId))
                .all()
                .get()
                .get(applicationId)
                .members()
                .isEmpty(),
        "the group is empty");
    admin.deleteConsumerGroups(List.of(applicationId)).all().get();
  }

  private Path newDirectory() {
    try {
      final Path directory = Files.createTempDirectory("parsley-launcher");
      directories.add(directory);
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    started.forEach(CausalStreams::close);
    cluster.close();
    directories.forEach(Directories::delete);
  }
}
