package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The launcher's side towards the brokers: the checks before a start, and the clients to start
 * with. Holds a share of the application's admin client until it is closed.
 */
public final class LauncherGate implements AutoCloseable {

  private final BrokerTopicDirectory directory;
  private final LauncherChecks checks;
  private final KafkaClientSupplier clientSupplier;

  /**
   * Makes the clients; asks the brokers nothing yet.
   *
   * @param config the settings to start with, over those of {@link LauncherSettings#complete}
   * @param supplier makes the application's clients
   * @param failed whether a failure has stopped the client
   */
  public LauncherGate(
      LauncherTopology topology,
      StreamsConfig config,
      KafkaClientSupplier supplier,
      BooleanSupplier failed) {
    final Map<String, Object> settings = config.originals();
    final ParsleyConfig parsley = ParsleyConfig.of(settings);
    final long timeoutMs = parsley.directoryTimeoutMs();
    directory =
        BrokerTopicDirectory.acquire(topology.applicationId(), settings, supplier::getAdmin);
    final BrokerQuestions questions = directory.questions();
    final ChangelogReader changelogs =
        new ChangelogReader(
            () -> supplier.getRestoreConsumer(changelogConfigs(config, topology.applicationId())),
            questions,
            timeoutMs);
    final FirstPositions firstPositions =
        new FirstPositions(topology, questions, changelogs, parsley.firstPositions());
    checks = new LauncherChecks(topology, questions, changelogs, firstPositions);
    clientSupplier =
        new FirstPositionsSupplier(supplier, firstPositions, Duration.ofMillis(timeoutMs), failed);
  }

  /** Throws a refusal when the brokers show that the application must not start. */
  public void check() {
    checks.run();
  }

  /** Makes the clients that Kafka Streams is to use. */
  public KafkaClientSupplier clientSupplier() {
    return clientSupplier;
  }

  @Override
  public void close() {
    directory.close();
  }

  private static Map<String, Object> changelogConfigs(StreamsConfig config, String applicationId) {
    final Map<String, Object> configs =
        new HashMap<>(config.getRestoreConsumerConfigs(applicationId + "-parsley-changelog"));
    configs.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    // The log's start moves when a cleaner removes a segment while we read.
    configs.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    return configs;
  }

  /** A copy of the settings as a map, defaults of the properties included. */
  public static Map<String, Object> mapOf(Properties properties) {
    final Map<String, Object> map = new HashMap<>();
    properties.forEach((key, value) -> map.put(String.valueOf(key), value));
    // Defaults of Properties are only seen by name.
    properties.stringPropertyNames().forEach(key -> map.put(key, properties.getProperty(key)));
    return map;
  }
}
