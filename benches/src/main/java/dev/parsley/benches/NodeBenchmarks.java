package dev.parsley.benches;

import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Prints what the causal node costs, each figure beside the same work without it. */
public final class NodeBenchmarks {

  private NodeBenchmarks() {}

  /** Takes no arguments. Uses a directory of its own and removes it. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    System.out.printf(
        "%s %s, %s, %d processors%n",
        System.getProperty("java.vm.name"),
        System.getProperty("java.version"),
        System.getProperty("os.arch"),
        Runtime.getRuntime().availableProcessors());
    final Path directory = Files.createTempDirectory("parsley-bench");
    try {
      HeldRecords.measure(directory);
      NodeCost.measure(directory);
      Throughput.measure(directory);
    } finally {
      Directories.delete(directory);
    }
  }
}
