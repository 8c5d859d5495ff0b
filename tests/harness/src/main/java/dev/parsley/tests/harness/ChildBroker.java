package dev.parsley.tests.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

/**
 * A broker in a JVM of its own, for tests that kill it. Ready for clients when start returns.
 *
 * <p>A transaction's commit is answered before its markers are written. A lone broker that is
 * killed in between may never write them: its coordinator loads before the partitions have a leader
 * again and takes them for deleted. So wait until committed records can be read before you kill it.
 */
public final class ChildBroker implements AutoCloseable {

  private static final Duration STARTUP_PATIENCE = Duration.ofSeconds(90);

  private final BrokerSettings settings;
  private final List<String> jvmArguments;
  private ChildJvm child;

  ChildBroker(BrokerSettings settings, List<String> jvmArguments) {
    this.settings = settings;
    this.jvmArguments = jvmArguments;
  }

  public static ChildBroker start() {
    // A killed broker is let back in when its old session has ended, 9 s later by default.
    return start(BrokerSettings.first().with("broker.session.timeout.ms", "3000"));
  }

  public static ChildBroker start(BrokerSettings settings) {
    final ChildBroker broker = new ChildBroker(settings, List.of("-Xmx512m"));
    broker.startAgain();
    return broker;
  }

  public String bootstrapServers() {
    return settings.bootstrapServers();
  }

  /** {@code kill -9}; its data stays. */
  public void kill() {
    if (child != null) {
      child.kill();
    }
  }

  /** {@code SIGSTOP}: clients and other brokers wait for its answers in vain. */
  public void pause() {
    child.pause();
  }

  /** {@code SIGCONT}. */
  public void resume() {
    child.resume();
  }

  /** Starts a killed broker on its data and its port. */
  public void startAgain() {
    launch();
    awaitReady();
  }

  /** Starts the process. In a quorum no broker is ready before most of them have been started. */
  void launch() {
    if (child != null && child.isAlive()) {
      throw new IllegalStateException("the broker is running");
    }
    final Path file = settings.directory().resolve("broker.properties");
    write(settings, file);
    child =
        ChildJvm.start(
            BrokerMain.class,
            jvmArguments,
            List.of(settings.clusterId(), file.toString()),
            Optional.empty());
  }

  void awaitReady() {
    child.awaitLine(BrokerMain.READY, STARTUP_PATIENCE);
  }

  @Override
  public void close() {
    if (child != null) {
      child.close();
    }
    Directories.delete(settings.directory());
  }

  private static void write(BrokerSettings settings, Path file) {
    final Properties properties = new Properties();
    properties.putAll(settings.properties());
    try {
      Files.createDirectories(file.getParent());
      try (Writer writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
        properties.store(writer, null);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
