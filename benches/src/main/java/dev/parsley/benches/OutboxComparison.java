package dev.parsley.benches;

import dev.parsley.benches.OutboxSide.Durability;
import dev.parsley.benches.OutboxSide.Way;
import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.DoubleStream;

/**
 * Entries that a mutation store drains in a second, beside a plain outbox. Both sides take turns in
 * one process, so what else the machine does hits both. Each turn begins with an empty journal or
 * database, accepts entries, and times only their draining.
 *
 * <p>{@code lanes} promises most of what the journal does, so the first ratio of a cell is to that;
 * the second is to the best of all ways, also those without order. What is not synced is shown and
 * not compared to: it promises less.
 */
final class OutboxComparison {

  private static final String JOURNAL = "journal";
  private static final String LANES = "lanes";
  private static final String UNSYNCED = "-unsynced";
  private static final int TURNS = 5;
  private static final int VALUE_BYTES = 100;
  private static final int KEYS_PER_NAMESPACE = 10;
  private static final int[] NAMESPACES = {1, 20};
  private static final int[] ANSWER_MS = {0, 5};

  /** More than processors: a thread of the outbox waits for the lock of a table now and then. */
  private static final int THREADS_AT_ONCE = 4;

  /** Turns that are not counted: the compiler is still at work in them. */
  private static final int WARM_UP_TURNS = 4;

  private static final int WARM_UP_ENTRIES = 4_000;

  private OutboxComparison() {}

  private record Cell(boolean durable, int answerMs, int namespaces) {

    /** About a second of work. */
    int entries() {
      if (answerMs > 0) {
        return namespaces * 100;
      }
      return durable ? 2_000 : 10_000;
    }

    /** Threads where there is no order: enough for a server that makes them wait. */
    int poolThreads() {
      return answerMs > 0 ? 20 : THREADS_AT_ONCE;
    }
  }

  /** Makes a side afresh for one turn. */
  private interface Sides {
    /** Opens an empty one; the directory is its own. */
    Drained open(OtherSide server, Path directory);
  }

  static void measure(Path parent) throws IOException, InterruptedException {
    final Cell warmUp = new Cell(false, 0, 20);
    for (int turn = 0; turn < WARM_UP_TURNS; turn++) {
      for (Sides side : sides(warmUp).values()) {
        turn(side, warmUp, WARM_UP_ENTRIES, false, parent);
      }
    }
    final StringBuilder result = new StringBuilder("RESULT outbox");
    for (boolean durable : new boolean[] {false, true}) {
      for (int answerMs : ANSWER_MS) {
        for (int namespaces : NAMESPACES) {
          result.append(cell(new Cell(durable, answerMs, namespaces), parent));
        }
      }
    }
    System.out.println(result);
  }

  private static Map<String, Sides> sides(Cell cell) {
    final Map<String, Sides> sides = new LinkedHashMap<>();
    sides.put(
        JOURNAL,
        (server, directory) ->
            new JournalSide(server, cell.durable() ? directory : null, cell.namespaces()));
    final Durability same = cell.durable() ? Durability.SYNCED : Durability.MEMORY;
    for (Way way : Way.values()) {
      final int threads = way == Way.LANES ? cell.namespaces() : cell.poolThreads();
      final String name = way.name().toLowerCase(Locale.ROOT);
      sides.put(name, (server, directory) -> new OutboxSide(server, directory, same, way, threads));
      if (cell.durable()) {
        sides.put(
            name + UNSYNCED,
            (server, directory) ->
                new OutboxSide(server, directory, Durability.LATER, way, threads));
      }
    }
    return sides;
  }

  /** Measures one cell, prints its line, and returns its part of the result. */
  private static String cell(Cell cell, Path parent) throws IOException, InterruptedException {
    final Map<String, Sides> sides = sides(cell);
    final Map<String, double[]> figures = new LinkedHashMap<>();
    sides.keySet().forEach(name -> figures.put(name, new double[TURNS]));
    for (int turn = 0; turn < TURNS; turn++) {
      for (Map.Entry<String, Sides> side : sides.entrySet()) {
        final boolean ordered = side.getKey().equals(JOURNAL) || side.getKey().startsWith(LANES);
        figures.get(side.getKey())[turn] =
            turn(side.getValue(), cell, cell.entries(), ordered, parent);
      }
    }
    final String where = cell.durable() ? "durable" : "memory";
    System.out.printf(
        "outbox         %-7s %d ms %2d namespaces, entries/s:",
        where, cell.answerMs(), cell.namespaces());
    final Map<String, Double> medians = new LinkedHashMap<>();
    figures.forEach(
        (name, all) -> {
          medians.put(name, Spread.of(DoubleStream.of(all)).median());
          System.out.printf(" %s %.0f", name, medians.get(name));
        });
    System.out.println();
    final double journal = medians.get(JOURNAL);
    final double best =
        medians.entrySet().stream()
            .filter(it -> !it.getKey().equals(JOURNAL) && !it.getKey().endsWith(UNSYNCED))
            .mapToDouble(Map.Entry::getValue)
            .max()
            .orElseThrow();
    return String.format(
        Locale.ROOT,
        " %s-%dms-%d=%.1fx(best=%.1fx)",
        where,
        cell.answerMs(),
        cell.namespaces(),
        journal / medians.get(LANES),
        journal / best);
  }

  /** Entries that one side drains in a second. */
  private static double turn(Sides side, Cell cell, int entries, boolean ordered, Path parent)
      throws IOException, InterruptedException {
    final Path directory = Files.createTempDirectory(parent, "outbox");
    final OtherSide server = new OtherSide(cell.answerMs() * 1_000_000L);
    final String value = "v".repeat(VALUE_BYTES);
    try (Drained drained = side.open(server, directory)) {
      for (int i = 0; i < entries; i++) {
        final int key = i / cell.namespaces() % KEYS_PER_NAMESPACE;
        drained.accept("n" + i % cell.namespaces(), "k" + key, value);
      }
      final long begin = System.nanoTime();
      drained.drain();
      final double seconds = (System.nanoTime() - begin) / 1e9;
      if (server.taken() != entries) {
        throw new IllegalStateException("drained " + server.taken() + " of " + entries);
      }
      if (ordered && server.overtaken() != 0) {
        throw new IllegalStateException(server.overtaken() + " entries came out of order");
      }
      return entries / seconds;
    } finally {
      Directories.delete(directory);
    }
  }
}
