package dev.parsley.streams.internal;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Builds the ordering store of each task. Its changelog cannot be turned off, because it is what
 * brings held records through a restart.
 *
 * <p>Kafka Streams takes two builders of one name for a mistake, so a causal node has one and
 * always gives the same.
 */
final class CausalStoreBuilder implements StoreBuilder<CausalStore> {

  private static final String METRICS_SCOPE = "parsley";

  /**
   * How long a deleted row must be seen as deleted by someone who reads the changelog. A local copy
   * that was away for longer goes on from its offset, misses the compacted deletion, and would
   * deliver a held record a second time. The default of a day is shorter than many an outage. The
   * price is one small record for each record that was held in these days.
   */
  private static final long TOMBSTONES_KEPT_MS = TimeUnit.DAYS.toMillis(30);

  /**
   * Compaction never touches the newest segment, and a busy node writes the same few rows at each
   * commit, so the size of a segment bounds what a restore reads beyond the state itself.
   */
  private static final long SEGMENT_BYTES = 32L * 1024 * 1024;

  /**
   * A held record's row is the record, its causes once more, and a few bytes. A record that a topic
   * takes must not be one that can't be held, so this leaves room for Kafka's own limit of 1 MiB
   * and several budgets. Where topics take larger records the operator raises both this limit of
   * the changelog and {@code producer.max.request.size}.
   */
  static final int ROW_BYTES_MAX = 4 * 1024 * 1024;

  /** Most of the log is superseded rows: compact when a fifth is, not only when half is. */
  private static final String DIRTY_RATIO_MIN = "0.2";

  private final String name;
  private final Set<String> declaredTopics;
  private final Map<String, String> changelogConfig = new HashMap<>();

  /**
   * @param declaredTopics those of its node
   */
  CausalStoreBuilder(String name, Set<String> declaredTopics) {
    this.name = name;
    this.declaredTopics = Set.copyOf(declaredTopics);
    changelogConfig.put(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT);
    changelogConfig.put(TopicConfig.DELETE_RETENTION_MS_CONFIG, Long.toString(TOMBSTONES_KEPT_MS));
    changelogConfig.put(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, Integer.toString(ROW_BYTES_MAX));
    changelogConfig.put(TopicConfig.SEGMENT_BYTES_CONFIG, Long.toString(SEGMENT_BYTES));
    changelogConfig.put(TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG, DIRTY_RATIO_MIN);
  }

  /** The topics that the store's node declares, which nothing else of a topology shows. */
  Set<String> declaredTopics() {
    return declaredTopics;
  }

  @Override
  public CausalStore build() {
    final NativeKeyValueStore innermost = new NativeKeyValueStore(name);
    final KeyValueStore<Bytes, byte[]> logged =
        Stores.keyValueStoreBuilder(supplierOf(innermost), Serdes.Bytes(), Serdes.ByteArray())
            .withCachingDisabled()
            .withLoggingEnabled(changelogConfig)
            .build();
    return new CausalStore(innermost, logged);
  }

  private static KeyValueBytesStoreSupplier supplierOf(NativeKeyValueStore store) {
    return new KeyValueBytesStoreSupplier() {
      @Override
      public String name() {
        return store.name();
      }

      @Override
      public KeyValueStore<Bytes, byte[]> get() {
        return store;
      }

      @Override
      public String metricsScope() {
        return METRICS_SCOPE;
      }
    };
  }

  @Override
  public StoreBuilder<CausalStore> withCachingEnabled() {
    return this; // There is no cache in Java to be had.
  }

  @Override
  public StoreBuilder<CausalStore> withCachingDisabled() {
    return this;
  }

  @Override
  public StoreBuilder<CausalStore> withLoggingEnabled(Map<String, String> config) {
    changelogConfig.putAll(config);
    return this;
  }

  @Override
  public StoreBuilder<CausalStore> withLoggingDisabled() {
    throw new UnsupportedOperationException(
        "store " + name + " needs its changelog: held records come back from it");
  }

  @Override
  public Map<String, String> logConfig() {
    return changelogConfig;
  }

  @Override
  public boolean loggingEnabled() {
    return true;
  }

  @Override
  public String name() {
    return name;
  }
}
