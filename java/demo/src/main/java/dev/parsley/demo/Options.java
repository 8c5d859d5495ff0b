package dev.parsley.demo;

import java.nio.file.Path;
import java.util.Optional;

/**
 * What the demo was asked for.
 *
 * @param seed of the delays and of the made-up orders
 * @param records orders per run when there is no input
 * @param input the user's own events
 * @param live the output is a terminal: progress is one line that changes
 */
record Options(long seed, int records, Optional<Path> input, boolean live) {

  private static final long SEED_DEFAULT = 7;
  private static final int RECORDS_DEFAULT = 2_000;
  private static final int RECORDS_MIN = 10;
  private static final int RECORDS_MAX = 200_000;

  /**
   * @throws IllegalArgumentException with a message for people
   */
  static Options parse(String[] arguments) {
    long seed = SEED_DEFAULT;
    int records = RECORDS_DEFAULT;
    Optional<Path> input = Optional.empty();
    boolean live = false;
    for (int i = 0; i < arguments.length; i++) {
      final String name = arguments[i];
      if (name.equals("--live")) {
        live = true;
        continue;
      }
      if (i + 1 == arguments.length) {
        throw new IllegalArgumentException(name + " needs a value");
      }
      final String value = arguments[++i];
      switch (name) {
        case "--seed" -> seed = number("SEED", value, Long.MIN_VALUE, Long.MAX_VALUE);
        case "--records" -> records = (int) number("RECORDS", value, RECORDS_MIN, RECORDS_MAX);
        case "--input" -> input = Optional.of(Path.of(value));
        default -> throw new IllegalArgumentException("unknown option " + name);
      }
    }
    return new Options(seed, records, input, live);
  }

  private static long number(String name, String value, long min, long max) {
    try {
      final long number = Long.parseLong(value);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below, as for a number out of range.
    }
    throw new IllegalArgumentException(
        name + " must be a whole number from " + min + " to " + max + ", not '" + value + "'");
  }
}
