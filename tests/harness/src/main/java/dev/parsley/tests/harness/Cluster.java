package dev.parsley.tests.harness;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What tests ask of a running cluster, in calls that return when the work is done: topics, records
 * in (plain, in a transaction, in an aborted transaction) and committed records out. Keys and
 * values are bytes. For one thread at a time.
 */
public final class Cluster implements AutoCloseable {

  private static final Duration POLL = Duration.ofMillis(100);

  private final String bootstrapServers;
  private final Admin admin;
  private KafkaProducer<byte[], byte[]> producer; // created when first needed
  private KafkaProducer<byte[], byte[]> transactional; // created when first needed

  public Cluster(String bootstrapServers) {
    this.bootstrapServers = bootstrapServers;
    this.admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers));
  }

  public String bootstrapServers() {
    return bootstrapServers;
  }

  public Admin admin() {
    return admin;
  }

  /** Creates a topic with the brokers' default number of replicas and returns its id. */
  public Uuid createTopic(String name, int partitions) {
    return createTopic(name, partitions, Map.of());
  }

  public Uuid createTopic(String name, int partitions, Map<String, String> configs) {
    return create(new NewTopic(name, Optional.of(partitions), Optional.empty()).configs(configs));
  }

  /** Creates a topic of one partition on the broker with this node id. */
  public Uuid createTopicOn(int nodeId, String name) {
    return create(new NewTopic(name, Map.of(0, List.of(nodeId))));
  }

  private Uuid create(NewTopic topic) {
    final Uuid id =
        get(() -> admin.createTopics(List.of(topic)).topicId(topic.name()).get(), "create topic");
    // The answer comes from the controller; brokers learn of the topic a moment later.
    Await.until(() -> topicExists(topic.name()), "topic " + topic.name() + " is known");
    return id;
  }

  /** Deletes a topic and returns when brokers no longer know it. */
  public void deleteTopic(String name) {
    get(() -> admin.deleteTopics(List.of(name)).all().get(), "delete topic");
    Await.until(() -> !topicExists(name), "topic " + name + " is gone");
  }

  public boolean topicExists(String name) {
    return get(() -> admin.listTopics().names().get().contains(name), "list topics");
  }

  public Uuid topicId(String name) {
    return get(
        () -> admin.describeTopics(List.of(name)).topicNameValues().get(name).get().topicId(),
        "describe topic");
  }

  /** The offsets that a group has committed; empty for a group that nobody has heard of. */
  public Map<TopicPartition, Long> committedOffsets(String group) {
    final Map<TopicPartition, OffsetAndMetadata> committed =
        get(
            () -> admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(),
            "list offsets");
    final Map<TopicPartition, Long> offsets = new HashMap<>();
    committed.forEach(
        (partition, offset) -> {
          if (offset != null) {
            offsets.put(partition, offset.offset());
          }
        });
    return offsets;
  }

  /** Sends one record outside of transactions and returns its place. */
  public RecordMetadata send(ProducerRecord<byte[], byte[]> record) {
    if (producer == null) {
      producer = newProducer(Map.of(ProducerConfig.LINGER_MS_CONFIG, 0));
    }
    final var sent = producer.send(record);
    producer.flush();
    return get(sent::get, "send");
  }

  /**
   * Sends records in one committed transaction, which leaves a marker on each partition touched.
   */
  public List<RecordMetadata> sendInTransaction(List<ProducerRecord<byte[], byte[]>> records) {
    final KafkaProducer<byte[], byte[]> inTransaction = transactional();
    inTransaction.beginTransaction();
    final List<RecordMetadata> places = sendAll(inTransaction, records);
    inTransaction.commitTransaction();
    return places;
  }

  /** Writes records and aborts: they take positions in the log that no committed reader sees. */
  public List<RecordMetadata> sendAborted(List<ProducerRecord<byte[], byte[]>> records) {
    final KafkaProducer<byte[], byte[]> inTransaction = transactional();
    inTransaction.beginTransaction();
    final List<RecordMetadata> places = sendAll(inTransaction, records);
    inTransaction.abortTransaction();
    return places;
  }

  /** A producer for tests that drive it themselves; they close it. */
  public KafkaProducer<byte[], byte[]> newProducer(Map<String, ?> configs) {
    final Properties properties = new Properties();
    properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.putAll(configs);
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** A consumer of committed records with no group and no partitions yet; its user closes it. */
  public KafkaConsumer<byte[], byte[]> newConsumer() {
    final Properties properties = new Properties();
    properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    // A close waits for the fetch that is on its way, 500 ms by default where nothing new comes.
    properties.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 20);
    // A broker that stands still is not waited for longer than the others need to replace it.
    properties.put(ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    return new KafkaConsumer<>(
        properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /**
   * Every record of a topic that is committed now, each partition from its start, in offset order
   * within a partition.
   */
  public List<ConsumerRecord<byte[], byte[]>> readCommitted(String topic) {
    try (KafkaConsumer<byte[], byte[]> consumer = consumerOf(topic)) {
      // Under read_committed the end is the last stable offset, so open transactions do not block.
      final Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
      final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
      while (ends.entrySet().stream()
          .anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        consumer.poll(POLL).forEach(records::add);
      }
      records.removeIf(
          record -> record.offset() >= ends.get(new TopicPartition(topic, record.partition())));
      return records;
    }
  }

  /**
   * Waits until a topic has at least this many committed records and returns all there are then.
   */
  public List<ConsumerRecord<byte[], byte[]>> awaitRecords(String topic, int countMin) {
    return awaitRecords(topic, records -> records.size() >= countMin, countMin + " records");
  }

  /** Waits until the committed records of a topic satisfy a condition, and returns them. */
  public List<ConsumerRecord<byte[], byte[]>> awaitRecords(
      String topic, Predicate<List<ConsumerRecord<byte[], byte[]>>> condition, String description) {
    final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer = consumerOf(topic)) {
      Await.until(
          () -> {
            consumer.poll(POLL).forEach(records::add);
            return condition.test(records);
          },
          Await.PATIENCE,
          () -> description + " on " + topic + "; there are " + records.size());
    }
    return records;
  }

  @Override
  public void close() {
    if (producer != null) {
      producer.close(Duration.ZERO);
    }
    if (transactional != null) {
      transactional.close(Duration.ZERO);
    }
    admin.close(Duration.ZERO);
  }

  private KafkaConsumer<byte[], byte[]> consumerOf(String topic) {
    final KafkaConsumer<byte[], byte[]> consumer = newConsumer();
    final List<TopicPartition> partitions =
        consumer.partitionsFor(topic).stream()
            .map(info -> new TopicPartition(topic, info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
    return consumer;
  }

  private KafkaProducer<byte[], byte[]> transactional() {
    if (transactional == null) {
      transactional =
          newProducer(
              Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "harness-" + UUID.randomUUID()));
      transactional.initTransactions();
    }
    return transactional;
  }

  private static List<RecordMetadata> sendAll(
      KafkaProducer<byte[], byte[]> producer, List<ProducerRecord<byte[], byte[]>> records) {
    final var sent = records.stream().map(producer::send).toList();
    producer.flush(); // An abort would otherwise drop what has not left yet.
    return sent.stream().map(future -> get(future::get, "send")).toList();
  }

  /** An answer of Kafka's futures, whose checked exceptions are failures of the test. */
  private interface Answer<T> {
    T get() throws ExecutionException, InterruptedException;
  }

  private static <T> T get(Answer<T> answer, String what) {
    try {
      return answer.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("could not " + what, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted: " + what, e);
    }
  }
}
