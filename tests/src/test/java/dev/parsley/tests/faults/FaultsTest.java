package dev.parsley.tests.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The short form: every trial once. {@code -PfaultsSeed=<n>} of Gradle chooses what is damaged
 * when; where a process stands at that moment is up to the machine. They run side by side, since
 * much of each is waiting for a time-out.
 */
@Execution(ExecutionMode.CONCURRENT)
class FaultsTest {

  private static final long SEED = Long.getLong("faults.seed", 20_261_204);
  private static final int KILLS_MIN = 200;

  private static final Tally TOTAL = new Tally();
  private static final Set<Trial> DONE = Collections.synchronizedSet(EnumSet.noneOf(Trial.class));

  @Test
  void shouldKeepOrderThroughKillsAtRandomMoments() {
    survive(Trial.KILLS);
  }

  @Test
  void shouldKeepOrderWhileBrokersAreKilledAndStandStill() {
    survive(Trial.BROKERS);
  }

  @Test
  void shouldKeepOrderThroughTransactionsThatTimeOutOrFail() {
    survive(Trial.TRANSACTIONS);
  }

  @Test
  void shouldKeepOrderWhenAnInstanceWakesUpAfterItsPlaceWasTaken() {
    survive(Trial.ZOMBIES);
  }

  @Test
  void shouldKeepOrderWhenARecordTakesLongerThanThePollInterval() {
    survive(Trial.SLOW_CONSUMERS);
  }

  @Test
  void shouldKeepOrderWhileTasksMoveBetweenInstancesWithStandbys() {
    survive(Trial.MIGRATIONS);
  }

  @Test
  void shouldKeepOrderOf64TasksWhileInstancesJoinAndDie() {
    survive(Trial.WIDE);
  }

  @Test
  void shouldKeepOrderWhenClocksJump() {
    survive(Trial.CLOCKS);
  }

  private static void survive(Trial trial) {
    System.out.println("faults: " + trial + ", seed " + SEED);
    final Tally tally = new Tally();
    try {
      trial.run(tally, SEED, trial.shortRounds);
    } finally {
      System.out.println("faults: " + trial + ", seed " + SEED + ": " + tally);
      tally.failures().forEach(failure -> System.out.println("  stopped by itself: " + failure));
    }
    assertEquals("[]", tally.refusals().toString());
    assertEquals("[]", tally.violations().toString(), tally.violations().size() + " violations");
    DONE.add(trial);
    TOTAL.add(tally);
  }

  @AfterAll
  static void killedOftenEnough() {
    System.out.println("faults: " + DONE.size() + " trials: " + TOTAL);
    if (DONE.size() == Trial.values().length) {
      assertTrue(TOTAL.faults(Tally.KILL) >= KILLS_MIN, TOTAL.toString());
    }
  }
}
