package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import dev.parsley.streams.TopicDirectory;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The topics as the brokers tell of them. All tasks of an application in this process, and its
 * launcher, share one admin client: each acquires a directory of its own, and the client is closed
 * with the last one.
 */
public final class BrokerTopicDirectory implements TopicDirectory {

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

  /** Two applications with one id on different clusters are two. */
  private record Key(String applicationId, String bootstrapServers) {}

  // Guarded by itself. Tasks have no object in common but the class, so the sharing is by process.
  private static final Map<Key, Shared> SHARED = new HashMap<>();

  private final Shared shared;
  private final AtomicBoolean closed = new AtomicBoolean();

  private BrokerTopicDirectory(Shared shared) {
    this.shared = shared;
  }

  /**
   * A directory over the application's admin client, which is made if this is the first.
   *
   * @param appConfigs the application's settings, as the processor context shows them
   */
  public static TopicDirectory acquire(String applicationId, Map<String, Object> appConfigs) {
    return acquire(applicationId, appConfigs, Admin::create);
  }

  /** As above, with the application's own way to make a client. */
  static BrokerTopicDirectory acquire(
      String applicationId,
      Map<String, Object> appConfigs,
      Function<Map<String, Object>, Admin> adminFactory) {
    final Key key = new Key(applicationId, bootstrapServers(appConfigs));
    synchronized (SHARED) {
      Shared shared = SHARED.get(key);
      if (shared == null) {
        final Admin admin = adminFactory.apply(adminConfigs(applicationId, appConfigs));
        shared = new Shared(key, admin, ParsleyConfig.of(appConfigs).directoryTimeoutMs());
        SHARED.put(key, shared);
      }
      shared.users++;
      return new BrokerTopicDirectory(shared);
    }
  }

  @Override
  public Map<String, Topic> describe(Set<String> names) {
    return questions().describe(names);
  }

  @Override
  public Set<Uuid> gone(Set<Uuid> topicIds) {
    return questions().gone(topicIds);
  }

  @Override
  public Map<TopicPartition, Long> committed(Set<TopicPartition> partitions) {
    final Map<TopicPartition, Long> offsets = new HashMap<>();
    committedWithMetadata(partitions)
        .forEach((partition, offset) -> offsets.put(partition, offset.offset()));
    return offsets;
  }

  /** As {@link #committed}, with what was committed beside the offsets. */
  Map<TopicPartition, OffsetAndMetadata> committedWithMetadata(Set<TopicPartition> partitions) {
    return questions().committed(shared.key.applicationId, partitions);
  }

  /** Everything else the launcher and the nodes want to know. */
  BrokerQuestions questions() {
    if (closed.get()) {
      throw new IllegalStateException("the topic directory is closed");
    }
    return shared.questions;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      shared.release();
    }
  }

  private static String bootstrapServers(Map<String, Object> appConfigs) {
    final Object servers = appConfigs.get(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG);
    if (servers instanceof Iterable<?> list) {
      final StringBuilder joined = new StringBuilder();
      list.forEach(server -> joined.append(joined.length() == 0 ? "" : ",").append(server));
      return joined.toString();
    }
    return String.valueOf(servers).replaceAll("\\s*,\\s*", ",").trim();
  }

  /** What Kafka Streams would give its own admin client, under a client id of ours. */
  private static Map<String, Object> adminConfigs(
      String applicationId, Map<String, Object> appConfigs) {
    final Map<String, Object> configs = new HashMap<>(appConfigs);
    configs.keySet().removeIf(key -> key.startsWith(ParsleyConfig.PREFIX));
    return new QuietStreamsConfig(configs).getAdminConfigs(applicationId + "-parsley-directory");
  }

  private static final class Shared {
    private final Key key;
    private final Admin admin;
    private final BrokerQuestions questions;
    private int users; // Guarded by SHARED.

    Shared(Key key, Admin admin, long timeoutMs) {
      this.key = key;
      this.admin = admin;
      this.questions = new BrokerQuestions(admin, timeoutMs);
    }

    void release() {
      synchronized (SHARED) {
        users--;
        if (users > 0) {
          return;
        }
        SHARED.remove(key);
      }
      questions.stop();
      admin.close(CLOSE_TIMEOUT); // Outside the lock: it may wait for a broker that is away.
    }
  }
}
