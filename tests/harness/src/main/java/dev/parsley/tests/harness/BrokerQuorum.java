package dev.parsley.tests.harness;

import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;

/**
 * A cluster of three brokers, each a process of its own and each a controller as well: any one of
 * them may be killed or stopped, and the other two go on. Every topic has three replicas, and a
 * write counts once two have it.
 *
 * <p>At most one broker may be away at a time; {@link #awaitInSync} tells when the next one may go.
 */
public final class BrokerQuorum implements AutoCloseable {

  public static final int COUNT = 3;

  // They live for too short a time to earn back what an optimised broker costs.
  private static final List<String> JVM_ARGUMENTS =
      List.of("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

  private final List<BrokerSettings> settings;
  private final List<ChildBroker> brokers;

  private BrokerQuorum(List<BrokerSettings> settings) {
    this.settings = settings;
    this.brokers = settings.stream().map(each -> new ChildBroker(each, JVM_ARGUMENTS)).toList();
  }

  /** Ready for clients when it returns. */
  public static BrokerQuorum start() {
    final List<BrokerSettings> settings = BrokerSettings.quorum(COUNT);
    // Short, so that a test sees the others take over from a broker that does not answer.
    settings.forEach(
        each ->
            each.with("broker.session.timeout.ms", "3000")
                .with("broker.heartbeat.interval.ms", "500")
                .with("replica.lag.time.max.ms", "3000")
                .with("controller.quorum.election.timeout.ms", "500")
                .with("controller.quorum.fetch.timeout.ms", "1500"));
    final BrokerQuorum quorum = new BrokerQuorum(settings);
    try {
      quorum.brokers.forEach(ChildBroker::launch);
      quorum.brokers.forEach(ChildBroker::awaitReady);
    } catch (RuntimeException | Error e) {
      quorum.close();
      throw e;
    }
    return quorum;
  }

  /** All three, so that clients find the cluster whichever of them is away. */
  public String bootstrapServers() {
    return settings.stream().map(BrokerSettings::bootstrapServers).collect(Collectors.joining(","));
  }

  /**
   * @param index 0 to {@link #COUNT} - 1
   */
  public ChildBroker broker(int index) {
    return brokers.get(index);
  }

  /** Waits until every replica of every topic has all that its leader has. */
  public void awaitInSync(Admin admin) {
    Await.until(() -> inSync(admin), Await.PATIENCE.multipliedBy(2), "all replicas are in sync");
  }

  private static boolean inSync(Admin admin) throws InterruptedException {
    try {
      final var names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
      return admin.describeTopics(names).allTopicNames().get().values().stream()
          .map(TopicDescription::partitions)
          .flatMap(List::stream)
          .allMatch(partition -> partition.isr().size() == COUNT);
    } catch (ExecutionException e) {
      return false; // A leader is being chosen.
    }
  }

  /** The index of the broker that leads the controllers at the moment. */
  public int controller(Admin admin) {
    final int[] found = {0};
    Await.until(
        () -> {
          final int leader = admin.describeMetadataQuorum().quorumInfo().get().leaderId();
          found[0] =
              IntStream.range(0, COUNT)
                  .filter(index -> settings.get(index).nodeId() == leader)
                  .findFirst()
                  .orElse(-1);
          return found[0] >= 0;
        },
        "the controllers have a leader");
    return found[0];
  }

  @Override
  public void close() {
    // Not one after the other in good order: the last ones would wait for the quorum they lost.
    brokers.forEach(ChildBroker::kill);
    brokers.forEach(ChildBroker::close);
    Directories.delete(settings.get(0).directory().getParent());
  }
}
