package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.internal.ExitMain.Way;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.Directories;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A JVM that ends while RocksDB's threads flush and compact ends as any other, and its stores open
 * again. A few times in the build; with {@code -Dparsley.tests.long=true} as often as
 * docs/verification.md says.
 */
class ExitTest {

  private static final int ROUNDS = Boolean.getBoolean("parsley.tests.long") ? 67 : 3;
  private static final int BATCHES_MAX = 60;

  /** Of a process that was ended by SIGTERM, as every JVM has it. */
  private static final int TERMINATED = 143;

  @TempDir Path directory;

  @Test
  void shouldEndWithStatusZeroWhileRocksDbIsAtWork() throws Exception {
    NativeLibrary.load();
    final long seed = Long.getLong("parsley.tests.seed", ThreadLocalRandom.current().nextInt());
    final Random random = new Random(seed);
    int ended = 0;
    int files = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (Way way : Way.values()) {
        files += end(way, random.nextInt(), 1 + random.nextInt(BATCHES_MAX));
        ended++;
      }
    }
    System.out.printf(
        "exits: %d ended, seed %d, %d table files a store when they did%n",
        ended, seed, files / ended / ExitMain.stores());
  }

  private int end(Way way, int seed, int batches) throws Exception {
    final Path state = Files.createDirectory(directory.resolve("state"));
    final Path errors = directory.resolve("errors");
    final ChildJvm child =
        ChildJvm.start(
            ExitMain.class,
            List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            List.of(
                state.toString(), way.name(), Integer.toString(seed), Integer.toString(batches)),
            Optional.of(errors));
    try {
      child.awaitLine(ExitMain.WRITING, Await.PATIENCE);
      if (way == Way.SIGNAL) {
        child.terminate();
      }
      final int status = child.awaitExit(Await.PATIENCE);
      final String said = way + ", seed " + seed + ": " + Files.readString(errors);
      assertEquals(way == Way.SIGNAL ? TERMINATED : 0, status, said);
      // A crash report goes to standard error, as the build says.
      for (String end : List.of("fatal error", "terminate called", "panicked", "SIGABRT")) {
        assertTrue(!said.contains(end), said);
      }
    } finally {
      child.kill();
    }

    int files = 0;
    for (int number = 0; number < ExitMain.stores(); number++) {
      final Path store = ExitMain.store(state, number);
      files += tableFiles(store);
      NativeStore.close(ExitMain.open(store));
    }
    Directories.delete(state);
    Files.delete(errors);
    return files;
  }

  private static int tableFiles(Path store) throws Exception {
    try (var files = Files.list(store.resolve("rows"))) {
      return (int) files.filter(file -> file.toString().endsWith(".sst")).count();
    }
  }
}
