package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A rebalance closes all tasks that go away inside of one poll, so closing must be far quicker than
 * {@code max.poll.interval.ms}, 300 s unless configured, allows for as many tasks as there may be.
 */
class CloseTimeTest {

  private static final int STORES = 100;
  private static final int HELD = 2_000;

  /** A tenth of the poll interval, on a machine that is busy with other things. */
  private static final long ALL_MS_MAX = 30_000;

  @TempDir Path directory;

  @Test
  void shouldCloseAHundredStoresFarWithinAPollInterval() {
    NativeLibrary.load();
    final List<Workload> open = new ArrayList<>();
    for (int i = 0; i < STORES; i++) {
      final Workload workload = Workload.open(directory.resolve("store-" + i));
      workload.deliver();
      for (int held = 0; held < HELD; held++) {
        workload.hold();
      }
      workload.commit(); // Rows that the close has to make durable.
      workload.hold();
      workload.flush();
      open.add(workload);
    }

    final double[] ms = new double[STORES];
    for (int i = 0; i < STORES; i++) {
      final long started = System.nanoTime();
      open.get(i).close();
      ms[i] = (System.nanoTime() - started) / 1e6;
    }

    final double all = Arrays.stream(ms).sum();
    Arrays.sort(ms);
    System.out.printf(
        "closes: %d stores with %d held records each in %.0f ms: median %.1f ms, longest %.1f ms%n",
        STORES, HELD, all, ms[STORES / 2], ms[STORES - 1]);
    assertTrue(all < ALL_MS_MAX, all + " ms");
  }
}
