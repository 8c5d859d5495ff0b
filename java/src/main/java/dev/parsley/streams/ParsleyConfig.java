package dev.parsley.streams;

import dev.parsley.streams.internal.FirstPositionsSetting;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.LambdaValidator;
import org.apache.kafka.common.config.ConfigDef.Range;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.common.config.ConfigException;

/**
 * The settings of Parsley, read from the application's own Kafka Streams settings: every key that
 * begins with {@value #PREFIX}. Immutable, so it may be shared between threads.
 */
public final class ParsleyConfig extends AbstractConfig {

  /** What every key of ours begins with. */
  public static final String PREFIX = "parsley.";

  /** Largest causes header, in bytes, that a node takes in or sends. */
  public static final String BUDGET_BYTES = "parsley.budget.bytes";

  /** Bytes a task may stage between two commits before it asks for an early one. */
  public static final String STAGED_BYTES_MAX = "parsley.staged.bytes.max";

  /** Bytes of the block cache that all ordering stores of the process share. */
  public static final String BLOCK_CACHE_BYTES = "parsley.block.cache.bytes";

  /** Bytes of write buffer that all ordering stores of the process share. */
  public static final String WRITE_BUFFER_BYTES = "parsley.write.buffer.bytes";

  /** Threads that flush and compact for all ordering stores of the process. */
  public static final String BACKGROUND_THREADS = "parsley.background.threads";

  /**
   * Where a group starts on a partition it has never read: {@code earliest} or {@code latest}, and
   * the positions of single partitions, as in {@code earliest,orders:0=17}.
   */
  public static final String FIRST_POSITIONS = "parsley.first.positions";

  /** Milliseconds that questions to the brokers may take, retries included. */
  public static final String DIRECTORY_TIMEOUT_MS = "parsley.directory.timeout.ms";

  /** Keys with this prefix are set by {@link CausalStreams} for the nodes, not by people. */
  public static final String INTERNAL_PREFIX = PREFIX + "internal.";

  /** The topics whose records reach each node: a map of node names to collections of topics. */
  static final String FED_TOPICS = INTERNAL_PREFIX + "fed.topics";

  private static final int KIB = 1024;
  private static final int MIB = 1024 * KIB;

  private static final ConfigDef DEFINITION =
      new ConfigDef()
          .define(
              BUDGET_BYTES,
              Type.LONG,
              262_144L,
              Range.between(1, Integer.MAX_VALUE),
              Importance.HIGH,
              "Largest causes header, in bytes, that a node takes in or sends. A node whose"
                  + " dependencies outgrow it stops with METADATA_BUDGET_EXCEEDED.")
          .define(
              STAGED_BYTES_MAX,
              Type.LONG,
              16L * MIB,
              Range.between(4L * KIB, Integer.MAX_VALUE),
              Importance.MEDIUM,
              "Bytes of held records and ordering state that a task may stage in memory between two"
                  + " commits. Past it the task asks for an early commit.")
          .define(
              BLOCK_CACHE_BYTES,
              Type.LONG,
              16L * MIB,
              Range.between(64L * KIB, Long.MAX_VALUE),
              Importance.LOW,
              "Bytes of the block cache that the ordering stores of the process share which were"
                  + " opened with the same cache and write buffer sizes.")
          .define(
              WRITE_BUFFER_BYTES,
              Type.LONG,
              32L * MIB,
              Range.between(64L * KIB, Long.MAX_VALUE),
              Importance.LOW,
              "Bytes of write buffer that the ordering stores of the process share which were"
                  + " opened with the same cache and write buffer sizes.")
          .define(
              BACKGROUND_THREADS,
              Type.INT,
              2,
              Range.between(1, 64),
              Importance.LOW,
              "Threads that flush and compact for all ordering stores of the process. The largest"
                  + " number that was asked for holds.")
          .define(
              FIRST_POSITIONS,
              Type.STRING,
              "earliest",
              LambdaValidator.with(
                  (key, value) -> FirstPositionsSetting.parse((String) value),
                  () -> "earliest or latest, then topic:partition=position for single partitions"),
              Importance.MEDIUM,
              "Where the group starts on a partition it has no committed offset for. A partition"
                  + " that the ordering state already knows is always taken up from the log's"
                  + " start, so that nothing is passed over unread. Single partitions may be named"
                  + " with a position of their own.")
          .define(
              DIRECTORY_TIMEOUT_MS,
              Type.LONG,
              60_000L,
              Range.between(1, Integer.MAX_VALUE),
              Importance.LOW,
              "Milliseconds that a question to the brokers (topic ids, committed offsets, state in"
                  + " the changelog) may take, retries included.");

  private final Map<String, Set<String>> fedTopics;

  private ParsleyConfig(Map<String, ?> ours, Map<String, Set<String>> fedTopics) {
    super(DEFINITION, ours, false);
    this.fedTopics = fedTopics;
  }

  /**
   * Reads our keys out of an application's settings and leaves the others alone.
   *
   * @throws ConfigException when a key begins with {@value #PREFIX} and is none of ours, or has a
   *     value that is not allowed; the message names the key and what would be
   */
  public static ParsleyConfig of(Map<String, ?> appConfigs) {
    final Map<String, Object> ours = new TreeMap<>();
    appConfigs.forEach(
        (key, value) -> {
          if (key.startsWith(PREFIX) && !key.startsWith(INTERNAL_PREFIX)) {
            requireKnown(key);
            ours.put(key, value);
          }
        });
    return new ParsleyConfig(ours, fedTopicsIn(appConfigs.get(FED_TOPICS)));
  }

  /** The definition of every key, for documentation and for tools that check settings. */
  public static ConfigDef definition() {
    return new ConfigDef(DEFINITION);
  }

  public long budgetBytes() {
    return getLong(BUDGET_BYTES);
  }

  public long stagedBytesMax() {
    return getLong(STAGED_BYTES_MAX);
  }

  public long blockCacheBytes() {
    return getLong(BLOCK_CACHE_BYTES);
  }

  public long writeBufferBytes() {
    return getLong(WRITE_BUFFER_BYTES);
  }

  public int backgroundThreads() {
    return getInt(BACKGROUND_THREADS);
  }

  public FirstPositionsSetting firstPositions() {
    return FirstPositionsSetting.parse(getString(FIRST_POSITIONS));
  }

  public long directoryTimeoutMs() {
    return getLong(DIRECTORY_TIMEOUT_MS);
  }

  /**
   * The topics whose records reach a causal node, as {@link CausalStreams} read them off the
   * topology; empty when the application was started without it. The node compares them with the
   * topics it declared, since a topology's description does not show what a supplier declares.
   *
   * @param node the causal node's name, without the prefix of its store
   */
  public Optional<Set<String>> fedTopics(String node) {
    return Optional.ofNullable(fedTopics.get(node));
  }

  private static Map<String, Set<String>> fedTopicsIn(Object value) {
    final Map<String, Set<String>> fed = new HashMap<>();
    if (value instanceof Map<?, ?> byNode) {
      byNode.forEach(
          (node, topics) -> {
            final Set<String> names = new LinkedHashSet<>();
            ((Iterable<?>) topics).forEach(name -> names.add((String) name));
            fed.put((String) node, names);
          });
    } else if (value != null) {
      throw new ConfigException(FED_TOPICS, value, "is set by CausalStreams; do not set it");
    }
    return fed;
  }

  private static void requireKnown(String key) {
    if (!DEFINITION.names().contains(key)) {
      final List<String> nearest =
          DEFINITION.names().stream()
              .sorted(
                  Comparator.<String>comparingInt(known -> editsBetween(known, key))
                      .thenComparing(Comparator.naturalOrder()))
              .limit(3)
              .toList();
      throw new ConfigException(
          "Unknown setting '"
              + key
              + "'. The nearest ones known are "
              + String.join(", ", nearest));
    }
  }

  /** How many characters must be put in, taken out or changed to make one name of the other. */
  private static int editsBetween(String left, String right) {
    int[] above = new int[right.length() + 1];
    for (int column = 0; column <= right.length(); column++) {
      above[column] = column;
    }
    for (int row = 1; row <= left.length(); row++) {
      final int[] current = new int[right.length() + 1];
      current[0] = row;
      for (int column = 1; column <= right.length(); column++) {
        final int changed = left.charAt(row - 1) == right.charAt(column - 1) ? 0 : 1;
        current[column] =
            Math.min(above[column - 1] + changed, Math.min(above[column], current[column - 1]) + 1);
      }
      above = current;
    }
    return above[right.length()];
  }
}
