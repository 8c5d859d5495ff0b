package dev.parsley.tests.faults;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What was done to applications and brokers, and what came of it. For several threads. */
final class Tally {

  /** How faults are called in reports. */
  static final String KILL = "application killed";

  static final String BROKER_KILL = "broker killed";
  static final String BROKER_PAUSE = "broker stopped and continued";
  static final String ZOMBIE = "application stopped and continued";
  static final String TRANSACTION_TIMEOUT = "transaction timed out";
  static final String COMMIT_FAILURE = "commit failed";
  static final String ABORTED_BURST = "burst of records aborted";
  static final String POLL_TIMEOUT = "poll interval passed";
  static final String MIGRATION = "instance joined or left";
  static final String CLOCK_JUMP = "clock of a process jumped";
  static final String TIME_JUMP = "record time jumped";

  private final Map<String, Integer> faults = new TreeMap<>();
  private final List<String> failures = new ArrayList<>();
  private final List<String> refusals = new ArrayList<>();
  private final List<String> violations = new ArrayList<>();
  private long records;

  synchronized void fault(String kind) {
    faults.merge(kind, 1, Integer::sum);
  }

  /** Records that were fed, copied and judged. */
  synchronized void records(long count) {
    records += count;
  }

  /** An instance has stopped by itself, for a reason that is none of ours, and is started again. */
  synchronized void failure(String message) {
    failures.add(message);
  }

  /** No fault here justifies a refusal. */
  synchronized void refusal(String message) {
    refusals.add(message);
  }

  synchronized void violations(Collection<String> found) {
    violations.addAll(found);
  }

  synchronized void add(Tally other) {
    other.faults.forEach((kind, count) -> faults.merge(kind, count, Integer::sum));
    failures.addAll(other.failures);
    refusals.addAll(other.refusals);
    violations.addAll(other.violations);
    records += other.records;
  }

  synchronized int faults(String kind) {
    return faults.getOrDefault(kind, 0);
  }

  synchronized int faults() {
    return faults.values().stream().mapToInt(Integer::intValue).sum();
  }

  synchronized long records() {
    return records;
  }

  synchronized List<String> failures() {
    return List.copyOf(failures);
  }

  synchronized List<String> refusals() {
    return List.copyOf(refusals);
  }

  synchronized List<String> violations() {
    return List.copyOf(violations);
  }

  /** One line for each kind of fault, and what came of all of them. */
  synchronized String report() {
    final StringBuilder table = new StringBuilder();
    faults.forEach((kind, count) -> append(table, kind, count));
    append(table, "faults in all", faults());
    append(table, "records fed, copied and judged", records);
    append(table, "instances restarted after a failure of their own", failures.size());
    append(table, "refusals", refusals.size());
    append(table, "violations", violations.size());
    return table.toString();
  }

  private static void append(StringBuilder table, String what, long count) {
    table.append(String.format("%-50s %10d%n", what, count));
  }

  /** One line. */
  @Override
  public synchronized String toString() {
    return faults.entrySet().stream()
            .map(fault -> fault.getKey() + " " + fault.getValue())
            .collect(Collectors.joining(", "))
        + "; records "
        + records
        + ", restarts after a failure "
        + failures.size()
        + ", refusals "
        + refusals.size()
        + ", violations "
        + violations.size();
  }
}
