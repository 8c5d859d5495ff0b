package dev.parsley.demo;

import dev.parsley.streams.CausalStreams;
import java.io.IOException;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * The process of one service. Prints {@code running} once it takes records, then every 200 ms
 * {@code status <arrived> <processed>}, and {@code failed <why>} when it stops by itself. Ends when
 * its standard input does.
 */
final class ServiceMain {

  static final String RUNNING = "running";
  static final String STATUS = "status ";
  static final String FAILED = "failed ";

  private static final long STATUS_PERIOD_MS = 200;

  /**
   * How a service is started.
   *
   * @param name one of those in {@link Services}
   * @param causal with the causal node
   * @param life 1, or 2 after a kill
   * @param application the application id
   * @param stateDirectory where its stores are
   */
  record Settings(
      String name,
      boolean causal,
      int life,
      String application,
      String bootstrapServers,
      String stateDirectory,
      List<String> from,
      String to) {

    /** The same run, another service. */
    Settings as(String service, List<String> from, String to) {
      return new Settings(
          service,
          causal,
          1,
          application + "-" + service,
          bootstrapServers,
          stateDirectory,
          from,
          to);
    }

    /** The same service, started once more. */
    Settings again(int nextLife) {
      return new Settings(
          name, causal, nextLife, application, bootstrapServers, stateDirectory, from, to);
    }

    List<String> toArguments() {
      return List.of(
          name,
          Boolean.toString(causal),
          Integer.toString(life),
          application,
          bootstrapServers,
          stateDirectory,
          String.join(",", from),
          to);
    }

    static Settings fromArguments(String[] arguments) {
      return new Settings(
          arguments[0],
          Boolean.parseBoolean(arguments[1]),
          Integer.parseInt(arguments[2]),
          arguments[3],
          arguments[4],
          arguments[5],
          List.of(arguments[6].split(",")),
          arguments[7]);
    }
  }

  private ServiceMain() {}

  public static void main(String[] arguments) throws IOException {
    final Settings settings = Settings.fromArguments(arguments);
    try {
      final AutoCloseable streams = start(settings);
      reportStatus();
      while (System.in.read() >= 0) {} // The end of input: the demo has closed us, or is gone.
      streams.close();
    } catch (Exception e) {
      fail(e);
    }
    System.exit(0);
  }

  private static AutoCloseable start(Settings settings) {
    final var processor = Services.processor(settings.name(), settings.life());
    final Properties properties = properties(settings);
    if (settings.causal()) {
      final Topology topology =
          Services.causal(settings.name(), processor, settings.from(), settings.to());
      final CausalStreams streams =
          CausalStreams.builder(topology, properties)
              .stateListener((now, before) -> announce(now))
              .uncaughtExceptionHandler(ServiceMain::onUncaught)
              .build();
      streams.start();
      return streams;
    }
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    final KafkaStreams streams =
        new KafkaStreams(Services.plain(processor, settings.from(), settings.to()), properties);
    streams.setStateListener((now, before) -> announce(now));
    streams.setUncaughtExceptionHandler(ServiceMain::onUncaught);
    streams.start();
    return streams;
  }

  private static Properties properties(Settings settings) {
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, settings.application());
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrapServers());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.stateDirectory());
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    // A killed process holds its place in the group for this long, 45 s by default.
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 3_000);
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 500);
    if (settings.name().equals(Services.SHIPMENTS)) {
      properties.put(
          StreamsConfig.mainConsumerPrefix(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG),
          Arrivals.class.getName());
    }
    return properties;
  }

  private static void announce(KafkaStreams.State now) {
    if (now == KafkaStreams.State.RUNNING) {
      say(RUNNING);
    }
  }

  private static StreamThreadExceptionResponse onUncaught(Throwable thrown) {
    fail(thrown);
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
  }

  private static void fail(Throwable thrown) {
    Throwable root = thrown;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    say(FAILED + root.toString().replace('\n', ' '));
    thrown.printStackTrace();
  }

  private static void reportStatus() {
    Executors.newSingleThreadScheduledExecutor(
            work -> {
              final Thread thread = new Thread(work, "status");
              thread.setDaemon(true);
              return thread;
            })
        .scheduleAtFixedRate(
            () -> say(STATUS + Arrivals.count() + " " + Services.PROCESSED.get()),
            STATUS_PERIOD_MS,
            STATUS_PERIOD_MS,
            TimeUnit.MILLISECONDS);
  }

  /** Lines come from several threads and must not mix. */
  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
