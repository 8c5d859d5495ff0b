package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.harness.ProcessFigures;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A task that is fenced is closed without a commit, with an engine that nobody has closed, records
 * that are staged and held, and then taken up again. However often that comes, nothing of it stays.
 * With {@code -Dparsley.tests.long=true} in the numbers that docs/verification.md gives.
 */
class FencedCloseTest {

  private static final boolean LONG = Boolean.getBoolean("parsley.tests.long");
  private static final int WARM_UP = LONG ? 50 : 8;
  private static final int FENCED = LONG ? 500 : 12;
  private static final Duration PATIENCE = Duration.ofMinutes(15);

  /** What Kafka's clients, which are made anew each time, and the JVM take by themselves. */
  private static final long GROWTH_KIB_MAX = 16 * 1024;

  private static final int COMING_AND_GOING = 8;

  @WithBothStoreModes
  void shouldLeaveNothingBehindWhenATaskIsFenced(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments");
        ChildJvm child =
            FencedInstance.start(
                scenario.settings(scenario.newDirectory()), scenario.topics(), scenario.output)) {
      final long started = System.nanoTime();
      scenario.feed("orders", Payload.awkward(0), Causes.none());
      scenario.feed("payments", Payload.awkward(1), scenario.after("orders", 1));
      final String before = fence(child, WARM_UP, 1);
      scenario.feed("orders", Payload.awkward(2), Causes.none());
      scenario.feed("payments", Payload.awkward(3), scenario.after("orders", 2));
      final String after = fence(child, FENCED, 2);
      System.out.printf(
          "fenced: %d closes after %d, transactional stores %s, %d s%n",
          FENCED, WARM_UP, transactionalStores, (System.nanoTime() - started) / 1_000_000_000);
      System.out.println("fenced:   before " + before);
      System.out.println("fenced:   after  " + after);

      final ProcessFigures first = ProcessFigures.parse(before);
      final ProcessFigures last = ProcessFigures.parse(after);
      assertTrue(number("sensors", after) <= number("sensors", before), "sensors");
      assertTrue(number("metrics", after) <= number("metrics", before), "metrics");
      assertTrue(last.threads() <= first.threads(), "threads");
      // Connections to brokers come and go, and the JVM has references of its own to compiled code.
      assertTrue(last.files() < first.files() + COMING_AND_GOING, "files");
      assertTrue(
          last.globalReferences() < first.globalReferences() + COMING_AND_GOING,
          "global references");
      final long grown = last.nativeGrowthKiB(first);
      System.out.println("fenced:   " + grown + " KiB of native memory");
      assertTrue(grown < GROWTH_KIB_MAX, grown + " KiB more native memory");

      scenario.feed("orders", Payload.awkward(4), Causes.none());
      scenario.awaitCopies(scenario.fed().size());
    }
  }

  private static String fence(ChildJvm child, int closes, int figures) {
    child.send(Integer.toString(closes));
    Await.until(
        () -> all(child).size() >= figures || !child.isAlive(),
        PATIENCE,
        () -> "the instance is fenced " + closes + " times; it said " + child.lines());
    return all(child).get(figures - 1);
  }

  private static List<String> all(ChildJvm child) {
    return child.lines().stream()
        .filter(line -> line.startsWith(FencedInstance.FIGURES))
        .map(line -> line.substring(FencedInstance.FIGURES.length()))
        .toList();
  }

  private static long number(String name, String figures) {
    final Matcher matcher = Pattern.compile("\\b" + name + "=(\\d+)").matcher(figures);
    if (!matcher.find()) {
      throw new AssertionError("no " + name + " in " + figures);
    }
    return Long.parseLong(matcher.group(1));
  }
}
