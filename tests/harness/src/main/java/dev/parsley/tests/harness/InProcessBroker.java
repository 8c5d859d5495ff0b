package dev.parsley.tests.harness;

import kafka.server.KafkaRaftServer;

/**
 * A KRaft broker in this JVM. Ready for clients when {@link #start} returns, gone with its
 * directory when it is closed.
 */
public final class InProcessBroker implements AutoCloseable {

  private final BrokerSettings settings;
  private KafkaRaftServer server;

  private InProcessBroker(BrokerSettings settings) {
    this.settings = settings;
  }

  /** A cluster of one broker. */
  public static InProcessBroker start() {
    return start(BrokerSettings.first());
  }

  public static InProcessBroker start(BrokerSettings settings) {
    final InProcessBroker broker = new InProcessBroker(settings);
    broker.startAgain();
    return broker;
  }

  /**
   * The broker that tests share when they have no need of one of their own; they take topic and
   * application names that no other test takes. It ends with the JVM.
   */
  public static InProcessBroker shared() {
    return Shared.BROKER;
  }

  public String bootstrapServers() {
    return settings.bootstrapServers();
  }

  /** Shuts the broker down and keeps its data, for {@link #startAgain}. */
  public synchronized void stop() {
    if (server != null) {
      server.shutdown();
      server.awaitShutdown();
      server = null;
    }
  }

  /** Starts a stopped broker on its data and its ports. */
  public synchronized void startAgain() {
    if (server != null) {
      throw new IllegalStateException("the broker is running");
    }
    server = BrokerNode.start(settings.clusterId(), settings.properties());
  }

  @Override
  public void close() {
    stop();
    Directories.delete(settings.directory());
  }

  private static final class Shared {
    static final InProcessBroker BROKER = start();

    static {
      Runtime.getRuntime().addShutdownHook(new Thread(BROKER::close, "shared-broker-close"));
    }
  }
}
