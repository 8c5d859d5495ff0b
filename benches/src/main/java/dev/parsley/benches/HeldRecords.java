package dev.parsley.benches;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.BatchingStateRestoreCallback;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** What {@value #HELD} held records cost: Java heap while they are held, and time to come back. */
final class HeldRecords {

  private static final int HELD = 100_000;
  private static final int COMMIT_EVERY = 1_000;
  private static final int RESTORE_BATCH = 1_000; // What a restore consumer polls by default.
  private static final String EFFECTS = "effects";
  private static final String CAUSES = "causes";
  private static final Map<String, Uuid> IDS =
      Map.of(EFFECTS, new Uuid(1, 1), CAUSES, new Uuid(2, 2));
  private static final Map<String, ?> SETTINGS =
      Map.of(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG, true);

  private HeldRecords() {}

  static void measure(Path directory) throws IOException {
    final Path state = Files.createDirectory(directory.resolve("held"));
    final byte[] blocked = Causes.of(new ChannelId(IDS.get(CAUSES), 0), 0).encode();
    final byte[] value = new byte[Workload.VALUE_BYTES];
    final NodeRun run = open(state);
    run.start();
    run.feed(EFFECTS, 0, null, value, headers(blocked));
    run.commit();
    final long heapOfNone = heapInUse();
    for (int i = 1; i <= HELD; i++) {
      run.feed(EFFECTS, i, null, value, headers(blocked));
      if (i % COMMIT_EVERY == 0) {
        run.commit();
      }
    }
    final double heapMegabytes = (heapInUse() - heapOfNone) / 1e6;
    run.close();

    final long reopened = System.nanoTime();
    final NodeRun again = open(state);
    again.start();
    final double localSeconds = (System.nanoTime() - reopened) / 1e9;
    final List<KeyValue<byte[], byte[]>> changelog = rows(again);
    again.close();

    final Path wiped = Files.createDirectory(directory.resolve("held-wiped"));
    final long restored = System.nanoTime();
    final NodeRun elsewhere = open(wiped);
    final BatchingStateRestoreCallback restore =
        (BatchingStateRestoreCallback) elsewhere.context().restoreCallback();
    for (int from = 0; from < changelog.size(); from += RESTORE_BATCH) {
      restore.restoreAll(changelog.subList(from, Math.min(from + RESTORE_BATCH, changelog.size())));
    }
    elsewhere.store().commit(Map.of(elsewhere.changelog(), (long) changelog.size()));
    elsewhere.start();
    final double changelogSeconds = (System.nanoTime() - restored) / 1e9;
    elsewhere.feed(CAUSES, 0, null, value, new RecordHeaders());
    if (elsewhere.context().forwarded() != HELD + 2) {
      throw new IllegalStateException(
          "released " + elsewhere.context().forwarded() + " of " + (HELD + 2));
    }
    final double releaseSeconds = (System.nanoTime() - restored) / 1e9 - changelogSeconds;
    elsewhere.close();

    System.out.printf(
        "held records   %d held: %.2f MB more Java heap than with one; open from disk %.2f s, from"
            + " the changelog's rows %.2f s; released in %.2f s%n",
        HELD, heapMegabytes, localSeconds, changelogSeconds, releaseSeconds);
    System.out.printf(
        "RESULT held=%d heap-mb=%.2f open-s=%.2f restore-s=%.2f%n",
        HELD, heapMegabytes, localSeconds, changelogSeconds);
  }

  private static NodeRun open(Path state) {
    return NodeRun.causal(Workload.node(IDS, EFFECTS, CAUSES), state.toFile(), SETTINGS);
  }

  private static RecordHeaders headers(byte[] causes) {
    final RecordHeaders headers = new RecordHeaders();
    headers.add(Causes.HEADER, causes);
    return headers;
  }

  @SuppressWarnings("unchecked") // The ordering store is one of bytes.
  private static List<KeyValue<byte[], byte[]>> rows(NodeRun run) {
    final List<KeyValue<byte[], byte[]>> rows = new ArrayList<>();
    try (KeyValueIterator<Bytes, byte[]> all = ((KeyValueStore<Bytes, byte[]>) run.store()).all()) {
      all.forEachRemaining(row -> rows.add(KeyValue.pair(row.key.get(), row.value)));
    }
    return rows;
  }

  private static long heapInUse() {
    final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    long lowest = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) { // One collection leaves what finalisation still holds.
      memory.gc();
      lowest = Math.min(lowest, memory.getHeapMemoryUsage().getUsed());
    }
    return lowest;
  }
}
