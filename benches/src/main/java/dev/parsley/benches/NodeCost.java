package dev.parsley.benches;

import dev.parsley.streams.Causes;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The node's own cost per record, in order: the same loop with the node and without it, on a
 * context that drops what it gets, with a commit every {@value #COMMIT_EVERY} records. Many short
 * turns of the two, so that a machine that is busy for a while spoils few.
 */
final class NodeCost {

  private static final int COMMIT_EVERY = 1_000;
  private static final int RECORDS = 50_000; // Of one turn.
  private static final int TURNS = 60;

  /** Turns that are not counted: the compiler is still at work in them. */
  private static final int TURNS_TO_WARM_UP = 20;

  private static final String TOPIC = "orders";

  // CPU time of this thread, since what else the machine does is not the node's cost.
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private NodeCost() {}

  static void measure(Path directory) throws IOException {
    final Map<String, Uuid> ids = Map.of(TOPIC, new Uuid(1, 1));
    final Map<String, ?> settings = Map.of(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG, true);
    final Path state = Files.createDirectory(directory.resolve("cost"));
    final double[] plain = new double[TURNS];
    final double[] causal = new double[TURNS];
    try (NodeRun without = NodeRun.plain(Workload.plain(), directory.toFile());
        NodeRun with = NodeRun.causal(Workload.node(ids, TOPIC), state.toFile(), settings)) {
      without.start();
      with.start();
      for (int turn = -TURNS_TO_WARM_UP; turn < TURNS; turn++) {
        final long first = (long) (turn + TURNS_TO_WARM_UP) * RECORDS;
        final double plainNanos = nanosPerRecord(without, first);
        final double causalNanos = nanosPerRecord(with, first);
        if (turn >= 0) {
          plain[turn] = plainNanos;
          causal[turn] = causalNanos;
        }
      }
      if (with.context().loggedHolds() != 0) {
        throw new IllegalStateException("records in order were held");
      }
    }
    final Spread cost =
        Spread.of(IntStream.range(0, TURNS).mapToDouble(turn -> causal[turn] - plain[turn]));
    System.out.printf(
        "node cost      loop without %.0f ns, with %.0f ns of thread time per record (medians of"
            + " %d turns)%n",
        Spread.of(DoubleStream.of(plain)).median(),
        Spread.of(DoubleStream.of(causal)).median(),
        TURNS);
    System.out.printf(
        "RESULT node-cost-ns-per-record=%.0f quartiles=%.0f..%.0f commit-every=%d%n",
        cost.median(), cost.low(), cost.high(), COMMIT_EVERY);
  }

  private static double nanosPerRecord(NodeRun run, long first) {
    final byte[] key = {1, 2, 3, 4};
    final byte[] value = new byte[Workload.VALUE_BYTES];
    final long forwardedBefore = run.context().forwarded();
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < RECORDS; i++) {
      final RecordHeaders recordHeaders = new RecordHeaders();
      recordHeaders.add(Causes.HEADER, Workload.causes(first + i));
      run.feed(TOPIC, first + i, key, value, recordHeaders);
      if ((i + 1) % COMMIT_EVERY == 0) {
        run.commit();
      }
    }
    final long end = THREADS.getCurrentThreadCpuTime();
    if (run.context().forwarded() - forwardedBefore != RECORDS) {
      throw new IllegalStateException("not every record was forwarded");
    }
    return (end - begin) / (double) RECORDS;
  }
}
