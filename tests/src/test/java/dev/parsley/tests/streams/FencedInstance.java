package dev.parsley.tests.streams;

import dev.parsley.streams.CausalStreams;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.ProcessFigures;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Scanner;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.streams.KafkaStreams;

/**
 * An instance in a JVM of its own that can be fenced. Arguments: the output topic, the received
 * topics with commas between them, and the settings as {@code key=value}. A number on its input is
 * how many of the next commits are to fail, each of which makes Kafka Streams close its tasks dirty
 * and take them up again; once another one has succeeded it prints {@link #FIGURES} and what it has
 * taken from its machine.
 */
final class FencedInstance {

  static final String FIGURES = "figures ";

  private static final Duration PATIENCE = Duration.ofMinutes(15);

  private FencedInstance() {}

  static ChildJvm start(Map<String, String> settings, List<String> topics, String output) {
    final List<String> arguments = new ArrayList<>(List.of(output, String.join(",", topics)));
    settings.forEach((key, value) -> arguments.add(key + "=" + value));
    return ChildJvm.start(
        FencedInstance.class,
        List.of(
            "-Xms128m",
            "-Xmx128m",
            "-XX:+AlwaysPreTouch",
            "-XX:+UseSerialGC",
            "-XX:NativeMemoryTracking=summary"),
        arguments,
        Optional.empty());
  }

  public static void main(String[] arguments) throws Exception {
    final Map<String, String> settings = new HashMap<>();
    for (String setting : List.of(arguments).subList(2, arguments.length)) {
      final int middle = setting.indexOf('=');
      settings.put(setting.substring(0, middle), setting.substring(middle + 1));
    }
    final FencedClients clients = new FencedClients();
    final CausalStreams instance =
        CausalStreams.builder(
                CopyingNode.topology(List.of(arguments[1].split(",")), arguments[0]), settings)
            .clientSupplier(clients)
            .build();
    instance.start();
    try (Scanner input = new Scanner(System.in, "UTF-8")) {
      while (input.hasNextInt()) {
        clients.failNextCommits(input.nextInt());
        Await.until(() -> clients.failuresLeft() == 0, PATIENCE, "all commits have failed");
        final int before = clients.committed();
        Await.until(() -> clients.committed() > before, "a commit succeeds");
        Await.until(() -> hasTasks(instance.kafkaStreams()), "it runs again");
        ProcessFigures.now(); // The first measurement makes what a measurement needs.
        System.out.println(
            FIGURES
                + ProcessFigures.now()
                + " metrics="
                + instance.kafkaStreams().metrics().size()
                + " sensors="
                + sensors(instance.kafkaStreams()));
      }
    }
    instance.close();
  }

  /** On a busy machine it may have lost its place in the group meanwhile. */
  private static boolean hasTasks(KafkaStreams streams) {
    return streams.state() == KafkaStreams.State.RUNNING
        && streams.metadataForLocalThreads().stream()
            .anyMatch(thread -> !thread.activeTasks().isEmpty());
  }

  /** There is no public way to them, and a sensor may outlive all of its metrics. */
  private static int sensors(KafkaStreams streams) throws ReflectiveOperationException {
    final var registry = KafkaStreams.class.getDeclaredField("metrics");
    registry.setAccessible(true);
    final var sensors = Metrics.class.getDeclaredField("sensors");
    sensors.setAccessible(true);
    return ((Map<?, ?>) sensors.get(registry.get(streams))).size();
  }
}
