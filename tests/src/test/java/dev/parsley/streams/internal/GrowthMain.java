package dev.parsley.streams.internal;

import dev.parsley.tests.harness.ProcessFigures;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Does one kind of work over and over in a JVM of its own, and prints what the process has taken
 * from its machine. Arguments: a directory, a name of {@link #KINDS}, how often before the first
 * figures, and how often between the first and the last.
 */
final class GrowthMain {

  /** What the lines begin with, before and after. */
  static final String BEFORE = "before ";

  static final String AFTER = "after ";

  /** Records between two commits. */
  static final int COMMIT_EVERY = 1_000;

  /** One unit of work. */
  @FunctionalInterface
  private interface Unit {
    void run();

    /** Closes what is open, so that figures show what stays; {@link #run} may follow. */
    default void rest() {}
  }

  @FunctionalInterface
  private interface Kind {
    Unit in(Path directory);
  }

  private static final Map<String, Kind> KINDS =
      Map.of(
          "opens", GrowthMain::opens,
          "uncleanCloses", GrowthMain::uncleanCloses,
          "receives", GrowthMain::receives,
          "holds", GrowthMain::holds);

  private GrowthMain() {}

  public static void main(String[] arguments) {
    NativeLibrary.load();
    final Unit unit = KINDS.get(arguments[1]).in(Path.of(arguments[0]));
    final long before = Long.parseLong(arguments[2]);
    final long measured = Long.parseLong(arguments[3]);
    repeat(unit, before);
    ProcessFigures.now(); // The first measurement makes what a measurement needs.
    System.out.println(BEFORE + ProcessFigures.now());
    final long started = System.nanoTime();
    repeat(unit, measured);
    final long ms = (System.nanoTime() - started) / 1_000_000;
    System.out.println(AFTER + ProcessFigures.now() + " ms=" + ms);
  }

  private static void repeat(Unit unit, long times) {
    for (long i = 0; i < times; i++) {
      unit.run();
    }
    unit.rest();
  }

  /** Opens, holds, releases, commits and closes, in several directories, which hold rows. */
  private static Unit opens(Path directory) {
    final List<Workload> workloads = workloads(directory);
    return new Unit() {
      private int turn;

      @Override
      public void run() {
        final Workload workload = workloads.get(turn++ % workloads.size());
        workload.reopen();
        workload.hold();
        workload.commit();
        workload.release();
        workload.hold();
        workload.commit();
        workload.release();
        workload.commit();
        workload.close();
      }
    };
  }

  /**
   * What a task leaves that was fenced: a flush that was never committed, records held after it,
   * and an engine that nobody has closed.
   */
  private static Unit uncleanCloses(Path directory) {
    final List<Workload> workloads = workloads(directory);
    return new Unit() {
      private int turn;

      @Override
      public void run() {
        final Workload workload = workloads.get(turn++ % workloads.size());
        workload.reopen();
        workload.undone(
            () -> {
              workload.hold();
              workload.release();
              workload.hold();
              workload.flush();
              workload.hold();
            });
        workload.close();
      }
    };
  }

  private static Unit receives(Path directory) {
    return onOneStore(
        directory,
        workload -> {
          for (int i = 0; i < COMMIT_EVERY; i++) {
            workload.deliver();
          }
          workload.commit();
        });
  }

  private static Unit holds(Path directory) {
    return onOneStore(
        directory,
        workload -> {
          for (int i = 0; i < COMMIT_EVERY; i++) {
            workload.hold();
          }
          workload.commit();
          if (workload.held() != COMMIT_EVERY || workload.release() != COMMIT_EVERY) {
            throw new IllegalStateException("not all that was held came out");
          }
          workload.commit();
        });
  }

  private static Unit onOneStore(Path directory, Consumer<Workload> work) {
    final Workload workload = Workload.open(directory);
    return new Unit() {
      private boolean resting;

      @Override
      public void run() {
        if (resting) {
          workload.reopen();
          resting = false;
        }
        work.accept(workload);
      }

      @Override
      public void rest() {
        workload.close();
        resting = true;
      }
    };
  }

  private static List<Workload> workloads(Path directory) {
    final List<Workload> workloads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      final Workload workload = Workload.open(directory.resolve("store-" + i));
      workload.deliver();
      workload.commit();
      workload.close();
      workloads.add(workload);
    }
    return workloads;
  }
}
