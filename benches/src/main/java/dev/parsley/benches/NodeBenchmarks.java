package dev.parsley.benches;

import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Prints what the causal node costs, each figure beside the same work without it, and the mutation
 * journal beside a plain outbox.
 */
public final class NodeBenchmarks {

  private static final String[] ALL = {"held", "cost", "throughput", "outbox"};

  private NodeBenchmarks() {}

  /**
   * Uses a directory of its own and removes it.
   *
   * @param arguments which to run of {@code held}, {@code cost}, {@code throughput} and {@code
   *     outbox}; none: all
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    System.out.printf(
        "%s %s, %s, %d processors%n",
        System.getProperty("java.vm.name"),
        System.getProperty("java.version"),
        System.getProperty("os.arch"),
        Runtime.getRuntime().availableProcessors());
    final Path directory = Files.createTempDirectory("parsley-bench");
    try {
      for (String part : arguments.length == 0 ? ALL : arguments) {
        run(part, directory);
      }
    } finally {
      Directories.delete(directory);
    }
  }

  private static void run(String part, Path directory) throws IOException, InterruptedException {
    switch (part) {
      case "held":
        HeldRecords.measure(directory);
        break;
      case "cost":
        NodeCost.measure(directory);
        break;
      case "throughput":
        Throughput.measure(directory);
        break;
      case "outbox":
        OutboxComparison.measure(directory);
        break;
      default:
        throw new IllegalArgumentException(
            "'" + part + "' is no benchmark: name some of " + String.join(", ", ALL) + ", or none");
    }
  }
}
