package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.DefaultProductionExceptionHandler;
import org.apache.kafka.streams.errors.LogAndFailExceptionHandler;
import org.apache.kafka.streams.errors.LogAndFailProcessingExceptionHandler;
import org.apache.kafka.streams.processor.LogAndSkipOnInvalidTimestamp;

/**
 * What the settings of Kafka Streams show a node at its initialisation. The launcher checks more,
 * and earlier; this is for applications started without it.
 *
 * <p>Exception handlers may only fail, since one that continues passes over a record for good. What
 * a handler of the user's own answers cannot be known, so it is refused here, unless the launcher
 * has put it behind its guard, which refuses the answer to continue.
 */
final class Substrate {

  private static final Set<String> FAILING_HANDLERS =
      Set.of(
          LogAndFailExceptionHandler.class.getName(),
          LogAndFailProcessingExceptionHandler.class.getName(),
          DefaultProductionExceptionHandler.class.getName(),
          GuardedHandlers.GuardedDeserialization.class.getName(),
          GuardedHandlers.GuardedProcessing.class.getName(),
          GuardedHandlers.GuardedProduction.class.getName());

  private static final String READ_COMMITTED = "read_committed";

  private static final Set<String> HANDLER_KEYS =
      Set.of(
          StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG,
          "default.deserialization.exception.handler",
          StreamsConfig.PRODUCTION_EXCEPTION_HANDLER_CLASS_CONFIG,
          "default.production.exception.handler",
          StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG);

  private Substrate() {}

  /**
   * Judges the settings, as the processor context shows them.
   *
   * @throws RefusalException SUBSTRATE_MISCONFIGURED with the setting, its value and the one needed
   */
  static void require(Map<String, Object> appConfigs) {
    final Object guarantee = appConfigs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG);
    if (!StreamsConfig.EXACTLY_ONCE_V2.equals(guarantee)) {
      throw misconfigured(
          StreamsConfig.PROCESSING_GUARANTEE_CONFIG
              + " is '"
              + guarantee
              + "' and must be '"
              + StreamsConfig.EXACTLY_ONCE_V2
              + "'");
    }
    requireEveryCommittedRecord(appConfigs);
    for (String key : HANDLER_KEYS) {
      final Object handler = appConfigs.get(key);
      if (handler != null && !FAILING_HANDLERS.contains(className(handler))) {
        throw misconfigured(
            key
                + " is "
                + className(handler)
                + ", which may continue past a record that failed; leave it at its default, or"
                + " start with CausalStreams, which puts a handler of your own behind a guard");
      }
    }
  }

  /**
   * Refuses what would deliver a record that was aborted, or drop one without a word. Kafka Streams
   * itself overrides the isolation level only under the prefix {@code consumer.}; the two more
   * special ones win over it.
   */
  static void requireEveryCommittedRecord(Map<String, Object> settings) {
    for (String prefix :
        List.of(
            StreamsConfig.CONSUMER_PREFIX,
            StreamsConfig.MAIN_CONSUMER_PREFIX,
            StreamsConfig.RESTORE_CONSUMER_PREFIX)) {
      final String key = prefix + ConsumerConfig.ISOLATION_LEVEL_CONFIG;
      final Object level = settings.get(key);
      if (level != null && !READ_COMMITTED.equals(level.toString().toLowerCase(Locale.ROOT))) {
        throw misconfigured(
            key
                + " is '"
                + level
                + "' and must be '"
                + READ_COMMITTED
                + "': else aborted records"
                + " are taken for real ones");
      }
    }
    final String key = StreamsConfig.DEFAULT_TIMESTAMP_EXTRACTOR_CLASS_CONFIG;
    final Object extractor = settings.get(key);
    if (extractor != null && skipsRecords(extractor)) {
      throw misconfigured(
          key
              + " is "
              + className(extractor)
              + ", which passes over records with a negative timestamp; leave it at its default, or"
              + " use one that fails or finds another time");
    }
  }

  /** One that a source has of its own, and what one of the user's answers, shows nowhere. */
  private static boolean skipsRecords(Object extractor) {
    if (extractor instanceof Class<?> type) {
      return LogAndSkipOnInvalidTimestamp.class.isAssignableFrom(type);
    }
    try {
      return skipsRecords(
          Class.forName(extractor.toString(), false, Utils.getContextOrKafkaClassLoader()));
    } catch (ClassNotFoundException e) {
      return false; // Kafka Streams says so itself.
    }
  }

  private static String className(Object handler) {
    return handler instanceof Class<?> type ? type.getName() : handler.toString();
  }

  static RefusalException misconfigured(String detail) {
    return new RefusalException(RefusalReason.SUBSTRATE_MISCONFIGURED, detail);
  }

  static RefusalException misconfigured(String detail, String topic) {
    return new RefusalException(
        RefusalReason.SUBSTRATE_MISCONFIGURED, detail, null, topic, null, null, null);
  }
}
