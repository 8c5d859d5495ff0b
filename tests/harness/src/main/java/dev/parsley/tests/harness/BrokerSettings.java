package dev.parsley.tests.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;

/**
 * Where one broker lives and how it is set: its directory, ports and properties, all of which a
 * restart keeps. The first broker of a cluster is its controller as well; others join it. In a
 * quorum all are controllers.
 */
public final class BrokerSettings {

  private static final String HOST = "localhost";

  private final int nodeId;
  private final String clusterId;
  private final Path directory;
  private final int port;
  private final int controllerPort; // 0 on a broker that is no controller
  private final String voters;
  private final Map<String, String> overrides = new LinkedHashMap<>();
  private final Map<String, Integer> listenerPorts = new LinkedHashMap<>();
  private final Map<String, Integer> advertisedPorts = new LinkedHashMap<>();

  private BrokerSettings(
      int nodeId, String clusterId, Path directory, int controllerPort, String voters) {
    this.nodeId = nodeId;
    this.clusterId = clusterId;
    this.directory = directory;
    this.controllerPort = controllerPort;
    this.voters = voters;
    this.port = freePort();
  }

  /** A cluster of its own, in a new temporary directory. */
  public static BrokerSettings first() {
    return first(
        Path.of(System.getProperty("java.io.tmpdir"), "parsley-broker-" + UUID.randomUUID()));
  }

  /**
   * A cluster of its own.
   *
   * @param directory made when the broker starts, deleted when it is closed
   */
  public static BrokerSettings first(Path directory) {
    final int controllerPort = freePort();
    return new BrokerSettings(
        1, Uuid.randomUuid().toString(), directory, controllerPort, voter(1, controllerPort));
  }

  /** One more broker for the cluster of {@code first}, in a directory beside it. */
  public static BrokerSettings joining(BrokerSettings first, int nodeId) {
    return new BrokerSettings(
        nodeId,
        first.clusterId,
        first.directory.resolveSibling(first.directory.getFileName() + "-" + nodeId),
        0,
        first.voters);
  }

  /**
   * Brokers that are all controllers as well, so that any minority of them may be lost. What they
   * keep, topics without a replication factor of their own included, they keep on every one of
   * them, and a write counts once all but one have it.
   */
  static List<BrokerSettings> quorum(int count) {
    final Path directory =
        Path.of(System.getProperty("java.io.tmpdir"), "parsley-brokers-" + UUID.randomUUID());
    final String clusterId = Uuid.randomUuid().toString();
    final List<Integer> ports = Stream.generate(BrokerSettings::freePort).limit(count).toList();
    final String voters =
        IntStream.rangeClosed(1, count)
            .mapToObj(nodeId -> voter(nodeId, ports.get(nodeId - 1)))
            .collect(Collectors.joining(","));
    final String replicas = Integer.toString(count);
    final String replicasMin = Integer.toString(count - 1);
    return IntStream.rangeClosed(1, count)
        .mapToObj(
            nodeId ->
                new BrokerSettings(
                        nodeId,
                        clusterId,
                        directory.resolve(Integer.toString(nodeId)),
                        ports.get(nodeId - 1),
                        voters)
                    .with("default.replication.factor", replicas)
                    .with("min.insync.replicas", replicasMin)
                    .with("offsets.topic.replication.factor", replicas)
                    .with("transaction.state.log.replication.factor", replicas)
                    .with("transaction.state.log.min.isr", replicasMin))
        .toList();
  }

  private static String voter(int nodeId, int controllerPort) {
    return nodeId + "@" + HOST + ":" + controllerPort;
  }

  /** Sets a broker property, over what the harness sets. */
  public BrokerSettings with(String property, String value) {
    overrides.put(property, value);
    return this;
  }

  /**
   * Adds a listener whose clients are sent to another port than the one the broker listens on,
   * where a proxy takes them.
   *
   * @param name upper-case letters
   * @return the port that the broker listens on
   */
  public int addProxiedListener(String name, int advertisedPort) {
    listenerPorts.put(name, freePort());
    advertisedPorts.put(name, advertisedPort);
    return listenerPorts.get(name);
  }

  public String bootstrapServers() {
    return HOST + ":" + port;
  }

  private boolean isController() {
    return controllerPort != 0;
  }

  int nodeId() {
    return nodeId;
  }

  String clusterId() {
    return clusterId;
  }

  Path directory() {
    return directory;
  }

  /** The broker's whole configuration. */
  Map<String, String> properties() {
    final Map<String, String> properties = new LinkedHashMap<>();
    properties.put("node.id", Integer.toString(nodeId));
    properties.put("process.roles", isController() ? "broker,controller" : "broker");
    properties.put("log.dirs", directory.resolve("data").toString());
    properties.put("controller.quorum.voters", voters);
    properties.put("controller.listener.names", "CONTROLLER");
    properties.put("inter.broker.listener.name", "PLAINTEXT");
    properties.put("advertised.listeners", listeners(port, advertisedPorts));
    properties.put(
        "listeners",
        listeners(port, listenerPorts)
            + (isController() ? ",CONTROLLER://" + HOST + ":" + controllerPort : ""));
    properties.put(
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
            + listenerPorts.keySet().stream()
                .map(name -> "," + name + ":PLAINTEXT")
                .collect(Collectors.joining()));

    // Internal topics that fit one broker, and groups that do not wait for members who will not
    // come.
    properties.put("offsets.topic.replication.factor", "1");
    properties.put("offsets.topic.num.partitions", "1");
    properties.put("transaction.state.log.replication.factor", "1");
    properties.put("transaction.state.log.min.isr", "1");
    properties.put("transaction.state.log.num.partitions", "1");
    // The transaction of a killed producer ends soon after its own timeout, which is only looked at
    // every 10 s by default.
    properties.put("transaction.abort.timed.out.transaction.cleanup.interval.ms", "500");
    properties.put("share.coordinator.state.topic.replication.factor", "1");
    properties.put("share.coordinator.state.topic.min.isr", "1");
    properties.put("group.initial.rebalance.delay.ms", "0");
    properties.put("group.min.session.timeout.ms", "500");
    properties.put("auto.create.topics.enable", "false");
    properties.put("num.network.threads", "2");
    properties.put("num.io.threads", "4");
    properties.put("log.cleaner.threads", "1");
    properties.put("log.cleaner.dedupe.buffer.size", "4194304");
    properties.put("controlled.shutdown.enable", "false");
    properties.putAll(overrides);
    return properties;
  }

  private static String listeners(int port, Map<String, Integer> others) {
    return "PLAINTEXT://"
        + HOST
        + ":"
        + port
        + others.entrySet().stream()
            .map(other -> "," + other.getKey() + "://" + HOST + ":" + other.getValue())
            .collect(Collectors.joining());
  }

  /** A port that was free a moment ago. Brokers need to know theirs before they listen. */
  public static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
