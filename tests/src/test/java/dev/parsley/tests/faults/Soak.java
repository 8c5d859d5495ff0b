package dev.parsley.tests.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The long form: trials in random order, each with a seed of its own, until the time is over.
 * Arguments: minutes, the seed of the whole, and the names of trials if not all are meant, each
 * with a number of rounds behind a colon if not its own is. The last line is {@code RESULT
 * minutes=<n> faults=<n> records=<n> refusals=<n> violations=<n>}; the status is 0 when there were
 * neither refusals nor violations.
 */
final class Soak {

  private record Chosen(Trial trial, int rounds) {}

  private static final int PROGRESS_SECONDS = 10;

  private final Tally total = new Tally();
  private final long startedNanos = System.nanoTime();
  private final Random random;
  private volatile Tally present = new Tally();
  private volatile String doing = "starting";

  private Soak(long seed) {
    this.random = new Random(seed);
  }

  public static void main(String[] arguments) {
    final Duration time = Duration.ofSeconds(Math.round(60 * Double.parseDouble(arguments[0])));
    final long seed = Long.parseLong(arguments[1]);
    final List<Chosen> trials = new ArrayList<>();
    for (String name : List.of(arguments).subList(2, arguments.length)) {
      final String[] parts = name.split(":");
      final Trial trial = Trial.valueOf(parts[0]);
      trials.add(
          new Chosen(trial, parts.length == 1 ? trial.shortRounds : Integer.parseInt(parts[1])));
    }
    if (trials.isEmpty()) {
      Stream.of(Trial.values())
          .map(trial -> new Chosen(trial, trial.shortRounds))
          .forEach(trials::add);
    }
    System.out.printf("soak of %d minutes, seed %d%n", time.toMinutes(), seed);
    final Soak soak = new Soak(seed);
    soak.run(time, trials);
    // Not a return: the shared broker would keep the process alive.
    System.exit(soak.report() ? 0 : 1);
  }

  private void run(Duration time, List<Chosen> trials) {
    final ScheduledExecutorService progress =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              final Thread thread = new Thread(task, "progress");
              thread.setDaemon(true);
              return thread;
            });
    progress.scheduleAtFixedRate(this::tell, PROGRESS_SECONDS, PROGRESS_SECONDS, TimeUnit.SECONDS);
    final List<Chosen> round = new ArrayList<>();
    do {
      if (round.isEmpty()) {
        round.addAll(trials);
        Collections.shuffle(round, random);
      }
      survive(round.remove(0), random.nextInt(Integer.MAX_VALUE));
    } while (System.nanoTime() - startedNanos < time.toNanos());
    progress.shutdownNow();
  }

  private void survive(Chosen chosen, long seed) {
    final Tally tally = new Tally();
    present = tally;
    doing = chosen.trial + " seed " + seed;
    try {
      chosen.trial.run(tally, seed, chosen.rounds);
    } catch (RuntimeException | AssertionError e) {
      // An application that does not come to rest has lost records for all that anybody can tell.
      tally.violations(List.of(chosen.trial + " with seed " + seed + " did not end: " + rootOf(e)));
      e.printStackTrace(System.out);
    }
    System.out.printf("%5d s  %s: %s%n", seconds(), doing, tally);
    tally.failures().forEach(each -> System.out.println("         stopped by itself: " + each));
    tally.refusals().forEach(each -> System.out.println("         REFUSED: " + each));
    tally.violations().stream()
        .limit(20)
        .forEach(each -> System.out.println("         VIOLATION: " + each));
    total.add(tally);
  }

  private static Throwable rootOf(Throwable failure) {
    return failure.getCause() == null ? failure : rootOf(failure.getCause());
  }

  private void tell() {
    System.out.printf("%5d s  %s: %s%n", seconds(), doing, present);
  }

  private boolean report() {
    System.out.println();
    System.out.print(total.report());
    System.out.printf(
        "RESULT minutes=%d faults=%d records=%d refusals=%d violations=%d%n",
        seconds() / 60,
        total.faults(),
        total.records(),
        total.refusals().size(),
        total.violations().size());
    return total.refusals().isEmpty() && total.violations().isEmpty();
  }

  private long seconds() {
    return Duration.ofNanos(System.nanoTime() - startedNanos).toSeconds();
  }
}
