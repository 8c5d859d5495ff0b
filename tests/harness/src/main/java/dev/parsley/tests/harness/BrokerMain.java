package dev.parsley.tests.harness;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import kafka.server.KafkaRaftServer;

/** The process of a {@link ChildBroker}. Arguments: cluster id, file of broker properties. */
public final class BrokerMain {

  /** The line it prints once clients can connect. */
  static final String READY = "ready";

  private BrokerMain() {}

  public static void main(String[] arguments) throws IOException {
    final Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(arguments[1]), StandardCharsets.UTF_8)) {
      properties.load(reader);
    }
    final Map<String, String> strings =
        properties.stringPropertyNames().stream()
            .collect(Collectors.toMap(name -> name, properties::getProperty));
    final KafkaRaftServer server = BrokerNode.start(arguments[0], strings);
    System.out.println(READY);
    // The end of standard input: the parent has closed us, or is gone.
    while (System.in.read() >= 0) {}
    server.shutdown();
    server.awaitShutdown();
  }
}
