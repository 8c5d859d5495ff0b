package dev.parsley.tests.harness;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** Starts Kafka's own server class, which is all that a broker of this harness is. */
final class BrokerNode {

  private BrokerNode() {}

  /** Formats the data directory, unless an earlier start did, and starts the server on it. */
  static KafkaRaftServer start(String clusterId, Map<String, String> properties) {
    final Path data = Path.of(properties.get("log.dirs"));
    if (!Files.exists(data.resolve("meta.properties"))) {
      try {
        Files.createDirectories(data);
        format(clusterId, data, properties);
      } catch (Exception e) {
        throw new IllegalStateException("could not format " + data, e);
      }
    }
    final KafkaRaftServer server =
        new KafkaRaftServer(new KafkaConfig(properties, false), Time.SYSTEM);
    server.startup();
    return server;
  }

  private static void format(String clusterId, Path data, Map<String, String> properties)
      throws Exception {
    try (PrintStream silence =
        new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8)) {
      new Formatter()
          .setPrintStream(silence)
          .setClusterId(clusterId)
          .setNodeId(Integer.parseInt(properties.get("node.id")))
          .addDirectory(data.toString())
          .setMetadataLogDirectory(data.toString())
          .setControllerListenerName(properties.get("controller.listener.names"))
          .run();
    }
  }
}
