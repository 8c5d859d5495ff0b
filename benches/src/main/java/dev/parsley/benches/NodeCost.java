package dev.parsley.benches;

import dev.parsley.streams.Causes;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The node's own cost per record, in order: the same loop with the node and without it, on a
 * context that drops what it gets, with a commit every {@value #COMMIT_EVERY} records.
 */
final class NodeCost {

  private static final int COMMIT_EVERY = 1_000;
  private static final int RECORDS = 400_000;
  private static final int ROUNDS = 5;
  private static final String TOPIC = "orders";

  // CPU time of this thread, since what else the machine does is not the node's cost.
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private NodeCost() {}

  static void measure(Path directory) throws IOException {
    final byte[][] headers = new byte[COMMIT_EVERY][];
    for (int i = 0; i < headers.length; i++) {
      headers[i] = Workload.causes(i);
    }
    final double[] plain = new double[ROUNDS];
    final double[] causal = new double[ROUNDS];
    for (int round = -1; round < ROUNDS; round++) { // The first round warms up.
      final double without = runPlain(directory, headers);
      final double with = runCausal(directory, headers, round);
      if (round >= 0) {
        plain[round] = without;
        causal[round] = with;
      }
    }
    Arrays.sort(plain);
    Arrays.sort(causal);
    final double median = causal[ROUNDS / 2] - plain[ROUNDS / 2];
    System.out.printf(
        "node cost      loop without %.0f ns, with %.0f ns of thread time per record (medians of"
            + " %d, lowest %.0f and %.0f)%n",
        plain[ROUNDS / 2], causal[ROUNDS / 2], ROUNDS, plain[0], causal[0]);
    System.out.printf(
        "RESULT node-cost-ns-per-record=%.0f commit-every=%d%n", median, COMMIT_EVERY);
  }

  private static double runPlain(Path directory, byte[][] headers) {
    try (NodeRun run = NodeRun.plain(Workload.plain(), directory.toFile())) {
      run.start();
      return nanosPerRecord(run, headers);
    }
  }

  private static double runCausal(Path directory, byte[][] headers, int round) throws IOException {
    final Path state = Files.createDirectory(directory.resolve("cost-" + round));
    final Map<String, Uuid> ids = Map.of(TOPIC, new Uuid(1, 1));
    final Map<String, ?> settings = Map.of(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG, true);
    try (NodeRun run = NodeRun.causal(Workload.node(ids, TOPIC), state.toFile(), settings)) {
      run.start();
      final double nanos = nanosPerRecord(run, headers);
      if (run.context().loggedHolds() != 0) {
        throw new IllegalStateException("records in order were held");
      }
      return nanos;
    }
  }

  private static double nanosPerRecord(NodeRun run, byte[][] headers) {
    final byte[] key = {1, 2, 3, 4};
    final byte[] value = new byte[Workload.VALUE_BYTES];
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < RECORDS; i++) {
      final RecordHeaders recordHeaders = new RecordHeaders();
      recordHeaders.add(Causes.HEADER, headers[i % headers.length]);
      run.feed(TOPIC, i, key, value, recordHeaders);
      if ((i + 1) % COMMIT_EVERY == 0) {
        run.commit();
      }
    }
    final long end = THREADS.getCurrentThreadCpuTime();
    if (run.context().forwarded() != RECORDS) {
      throw new IllegalStateException("not every record was forwarded");
    }
    return (end - begin) / (double) RECORDS;
  }
}
