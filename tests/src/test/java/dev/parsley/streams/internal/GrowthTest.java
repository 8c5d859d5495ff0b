package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.ProcessFigures;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process that works for ever takes no more and more from its machine. Each kind of work is done
 * in a JVM of its own under {@code -Xcheck:jni}, with a heap of fixed size that is touched from the
 * start, so that what resident memory grows by is native. Short in the build; with {@code
 * -Dparsley.tests.long=true} in the numbers that docs/verification.md gives.
 */
class GrowthTest {

  private static final boolean LONG = Boolean.getBoolean("parsley.tests.long");
  private static final Duration PATIENCE = Duration.ofMinutes(15);

  /**
   * What blocks of malloc that are not free leave of the pages they are in, and what the JVM takes
   * that it does not track. Beside it a leak shows of 400 bytes an open in the long form, of four
   * bytes a held record, or of half a byte a received one.
   */
  private static final long GROWTH_KIB_MAX = 4 * 1024;

  /** The JVM's own internal blocks come and go; a lost block for each call would be thousands. */
  private static final long BLOCKS_MAX = 200;

  @TempDir Path directory;

  @Test
  void shouldNotGrowWithOpensAndCloses() {
    requireNoGrowth("opens", 100, LONG ? 10_000 : 400, 1);
  }

  @Test
  void shouldNotGrowWithUncleanCloses() {
    requireNoGrowth("uncleanCloses", 100, LONG ? 5_000 : 400, 1);
  }

  @Test
  void shouldNotGrowWithReceives() {
    requireNoGrowth("receives", 1_000, 10_000, GrowthMain.COMMIT_EVERY);
  }

  @Test
  void shouldNotGrowWithHoldsAndReleases() {
    requireNoGrowth("holds", 200, 1_000, GrowthMain.COMMIT_EVERY);
  }

  private void requireNoGrowth(String kind, int warmUp, int units, int ofUnit) {
    final ChildJvm child =
        ChildJvm.start(
            GrowthMain.class,
            List.of(
                "-Xms96m",
                "-Xmx96m",
                "-XX:+AlwaysPreTouch",
                "-XX:+UseSerialGC",
                "-XX:NativeMemoryTracking=summary"),
            List.of(directory.toString(), kind, Integer.toString(warmUp), Integer.toString(units)),
            Optional.empty());
    try {
      final String last = child.awaitLine(GrowthMain.AFTER, PATIENCE);
      final ProcessFigures after = ProcessFigures.parse(last);
      final ProcessFigures before =
          ProcessFigures.parse(child.lastLine(GrowthMain.BEFORE).orElseThrow());
      System.out.println(
          "growth: " + (long) units * ofUnit + " " + kind + " after " + (long) warmUp * ofUnit);
      System.out.println("growth:   before " + before);
      System.out.println("growth:   " + last);

      assertEquals(before.files(), after.files(), "open files");
      assertEquals(before.threads(), after.threads(), "threads");
      assertEquals(before.globalReferences(), after.globalReferences(), "global references");
      final long blocks = after.internalBlocks() - before.internalBlocks();
      assertTrue(blocks < BLOCKS_MAX, blocks + " more internal blocks of the JVM");
      final long grown = after.nativeGrowthKiB(before);
      System.out.println("growth:   " + grown + " KiB of native memory");
      assertTrue(grown < GROWTH_KIB_MAX, grown + " KiB more native memory");
      assertEquals(0, child.awaitExit(PATIENCE));
    } finally {
      child.kill();
    }
  }
}
