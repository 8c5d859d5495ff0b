package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The settings of Kafka Streams that causal order rests on: refuses those that contradict it, and
 * sets those that were left open.
 */
public final class LauncherSettings {

  private static final String RESET = ConsumerConfig.AUTO_OFFSET_RESET_CONFIG;
  static final String RESET_NONE = "none";
  private static final String WHY_NO_RESET =
      "a reset would pass over records without a word. Leave it out;"
          + " parsley.first.positions=earliest or latest says where a new group starts";
  private static final String PROTOCOL_CLASSIC = "classic";
  private static final Class<?> BYTES_SERDE = Serdes.ByteArraySerde.class;

  private LauncherSettings() {}

  /**
   * The settings to start with.
   *
   * @param given the user's settings; not changed
   * @throws RefusalException SUBSTRATE_MISCONFIGURED with the key, its value and the one needed
   */
  public static Map<String, Object> complete(Map<String, Object> given) {
    final Map<String, Object> settings = new HashMap<>(given);
    own(
        settings,
        StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        StreamsConfig.EXACTLY_ONCE_V2,
        "positions, state and sends must be committed together");
    // The first positions are committed from the rebalance listener of the main consumer, which
    // the newer protocol of Kafka Streams does not let a client supplier see.
    own(
        settings,
        StreamsConfig.GROUP_PROTOCOL_CONFIG,
        PROTOCOL_CLASSIC,
        "first positions are committed through a member of a classic group");
    for (String prefix : List.of("", StreamsConfig.CONSUMER_PREFIX)) {
      requireUnsetOr(settings, prefix + RESET, RESET_NONE, WHY_NO_RESET);
    }
    own(settings, StreamsConfig.MAIN_CONSUMER_PREFIX + RESET, RESET_NONE, WHY_NO_RESET);
    // Sources of causal nodes are byte arrays; so are those that say nothing, if the user says
    // nothing either.
    settings.putIfAbsent(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, BYTES_SERDE);
    settings.putIfAbsent(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, BYTES_SERDE);
    Substrate.requireEveryCommittedRecord(settings);
    // A held record's changelog row is larger than the record, see CausalStoreBuilder.
    settings.putIfAbsent(
        StreamsConfig.PRODUCER_PREFIX + ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
        CausalStoreBuilder.ROW_BYTES_MAX);
    GuardedHandlers.install(settings);
    return settings;
  }

  private static void own(Map<String, Object> settings, String key, String needed, String why) {
    requireUnsetOr(settings, key, needed, why);
    settings.put(key, needed);
  }

  private static void requireUnsetOr(
      Map<String, Object> settings, String key, String needed, String why) {
    final Object value = settings.get(key);
    if (value != null && !value.toString().toLowerCase(Locale.ROOT).equals(needed)) {
      throw new RefusalException(
          RefusalReason.SUBSTRATE_MISCONFIGURED,
          key + " is '" + value + "' and must be '" + needed + "': " + why);
    }
  }
}
