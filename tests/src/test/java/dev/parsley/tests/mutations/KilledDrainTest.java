package dev.parsley.tests.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A client that is killed in the middle of its drains, again and again. */
class KilledDrainTest {

  private static final int MUTATIONS = 150;
  private static final int KILLS = 5;

  @TempDir Path directory;

  @Test
  void shouldHaveEachEffectOnceAndInOrderThoughItIsKilled() throws Exception {
    final long seed = Long.getLong("parsley.seed", new Random().nextLong());
    System.out.println("seed " + seed + " (-Dparsley.seed=" + seed + ")");
    final Random random = new Random(seed);
    try (DedupServer server = new DedupServer()) {
      for (int run = 0; run < KILLS; run++) {
        // The server has the effect of the last push, whose answer the client never sees.
        server.silentFrom(server.pushes() + 1 + random.nextInt(MUTATIONS / KILLS));
        try (ChildJvm child = child(server, run == 0 ? MUTATIONS : 0)) {
          child.awaitLine("accepted", Await.PATIENCE);
          Await.until(server::isSilent, "a push that is not answered");
          child.kill();
        }
      }
      server.silentFrom(Integer.MAX_VALUE);
      try (ChildJvm child = child(server, 0)) {
        child.awaitLine("drained", Await.PATIENCE);
        assertEquals(0, child.awaitExit(Await.PATIENCE));
      }

      assertEquals(expected(), server.effects());
      assertEquals(List.of(), server.faults());
      // Nothing would be proved if no push had come twice.
      assertTrue(server.pushes() >= MUTATIONS + KILLS, "pushes: " + server.pushes());
    }
  }

  @Test
  void shouldRefuseADirectoryThatAnotherProcessHas() throws Exception {
    final Path errors = directory.resolve("errors.txt");
    try (DedupServer server = new DedupServer()) {
      server.silentFrom(0); // So that the first one stays.
      try (ChildJvm first = child(server, 1)) {
        first.awaitLine("accepted", Await.PATIENCE);
        try (ChildJvm second =
            ChildJvm.start(
                DrainingChild.class, List.of(), arguments(server, 0), Optional.of(errors))) {
          assertNotEquals(0, second.awaitExit(Await.PATIENCE));
        }
        first.kill();
      }
    }
    final String said = Files.readString(errors);
    assertTrue(
        said.contains("JournalException") && said.contains("in use by another process"), said);
  }

  private ChildJvm child(DedupServer server, int mutations) {
    return ChildJvm.start(DrainingChild.class, arguments(server, mutations).toArray(new String[0]));
  }

  private List<String> arguments(DedupServer server, int mutations) {
    return List.of(
        directory.resolve("journal").toString(),
        Integer.toString(server.port()),
        Integer.toString(mutations));
  }

  private static Map<String, List<String>> expected() {
    final Map<String, List<String>> expected = new HashMap<>();
    for (int number = 0; number < MUTATIONS; number++) {
      expected
          .computeIfAbsent(DrainingChild.identity(number).toString(), it -> new ArrayList<>())
          .add("value-" + number);
    }
    return expected;
  }
}
