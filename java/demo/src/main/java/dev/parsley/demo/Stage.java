package dev.parsley.demo;

import dev.parsley.tests.harness.BrokerSettings;
import dev.parsley.tests.harness.Cluster;
import dev.parsley.tests.harness.InProcessBroker;
import java.nio.file.Path;

/**
 * The brokers, and the network between them and the last service: a near broker behind a fast link,
 * and a far one behind a slow link. Everybody else talks to both brokers directly.
 */
final class Stage implements AutoCloseable {

  private static final int NEAR_NODE = 1;
  private static final int FAR_NODE = 2;
  static final int NEAR_DELAY_MS_MAX = 20;
  static final int FAR_DELAY_MS_MAX = 1_000;

  /** Name of the listener whose clients are sent through the links. */
  private static final String LINKED = "LINKED";

  private final SlowLink nearLink;
  private final SlowLink farLink;
  private final InProcessBroker near;
  private final InProcessBroker far;
  private final Cluster cluster;

  /**
   * @param directory where the brokers keep their data while they run
   */
  Stage(long seed, Path directory) {
    nearLink = new SlowLink(seed, NEAR_DELAY_MS_MAX);
    farLink = new SlowLink(seed + 1, FAR_DELAY_MS_MAX);
    final BrokerSettings nearSettings = BrokerSettings.first(directory.resolve("broker"));
    nearLink.standBefore(nearSettings, LINKED);
    near = InProcessBroker.start(nearSettings);
    final BrokerSettings farSettings = BrokerSettings.joining(nearSettings, FAR_NODE);
    farLink.standBefore(farSettings, LINKED);
    far = InProcessBroker.start(farSettings);
    cluster = new Cluster(near.bootstrapServers());
  }

  Cluster cluster() {
    return cluster;
  }

  /** The link to the far broker, which can stall. */
  SlowLink farLink() {
    return farLink;
  }

  void createNear(String topic) {
    cluster.createTopicOn(NEAR_NODE, topic);
  }

  void createFar(String topic) {
    cluster.createTopicOn(FAR_NODE, topic);
  }

  /** Where a service connects to. */
  String bootstrapServers(boolean throughTheLinks) {
    return throughTheLinks ? "localhost:" + nearLink.port() : near.bootstrapServers();
  }

  @Override
  public void close() {
    cluster.close();
    nearLink.close();
    farLink.close();
    far.close();
    near.close();
  }
}
