package dev.parsley.tests.faults;

import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The wall clock of an instance's process jumps, while that of the brokers and of this process goes
 * on. The process is started with a library of a few lines in front of the C library, which adds to
 * every answer what a file says at the moment; so this needs a C compiler, as the build does.
 *
 * <p>Forward it jumps under a running instance. Kafka Streams commits nothing until a clock that
 * was put back has caught up with the last commit, so back it jumps together with a kill.
 */
final class ClockTrial {

  private static final String SOURCE = "shifted_clock.c";

  /** What an answer may take. */
  private static final long TOLERANCE_MS = 60_000;

  private ClockTrial() {}

  static void run(Tally tally, long seed, int rounds) {
    final Random random = new Random(seed);
    try (ShiftedClock clock = ShiftedClock.create();
        Application application =
            new Application(random.nextBoolean(), 1, Feed.Kind.WITH_JUMPING_TIMES, tally, seed)) {
      final Instance instance = application.instance(Map.of(), clock.environment());
      instance.start();
      application.awaitCopies(30);
      Duration shift = Duration.ZERO;
      for (int round = 0; round < rounds; round++) {
        final List<Duration> jumps =
            List.of(
                Duration.ofMinutes(11), // past every time-out of clients
                Duration.ofHours(random.nextInt(100)),
                Duration.ofDays(random.nextInt(100)));
        final Duration jump = jumps.get(random.nextInt(jumps.size()));
        final boolean back = round % 2 == 1;
        shift = back ? shift.minus(jump.multipliedBy(2)) : shift.plus(jump);
        clock.set(shift);
        tally.fault(Tally.CLOCK_JUMP);
        if (back) {
          application.kill(instance);
          instance.startAgain();
        }
        application.awaitCopies(30 + random.nextInt(60));
        requireShifted(instance, shift);
      }
      application.finish();
    }
  }

  private static void requireShifted(Instance instance, Duration shift) {
    final long difference = instance.clockMs() - System.currentTimeMillis() - shift.toMillis();
    if (Math.abs(difference) > TOLERANCE_MS) {
      throw new AssertionError("the clock is " + difference + " ms from where it was put");
    }
  }

  /** A clock for child processes, that is as far from the true one as a file says. */
  private record ShiftedClock(Path directory) implements AutoCloseable {

    static ShiftedClock create() {
      try {
        final ShiftedClock clock = new ShiftedClock(Files.createTempDirectory("parsley-clock-"));
        try (InputStream source = ClockTrial.class.getResourceAsStream(SOURCE)) {
          Files.copy(source, clock.directory.resolve(SOURCE));
        }
        clock.set(Duration.ZERO);
        clock.compile();
        return clock;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void compile() throws IOException {
      final Process compiler =
          new ProcessBuilder(
                  "cc", "-shared", "-fPIC", "-O1", "-o", library().toString(), SOURCE, "-ldl")
              .directory(directory.toFile())
              .inheritIO()
              .start();
      try {
        if (compiler.waitFor() != 0) {
          throw new IllegalStateException("could not compile " + SOURCE);
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted", e);
      }
    }

    private Path library() {
      return directory.resolve("shifted_clock.so");
    }

    private Path shift() {
      return directory.resolve("shift");
    }

    Map<String, String> environment() {
      return Map.of(
          "LD_PRELOAD", library().toString(), "PARSLEY_TEST_CLOCK_SHIFT", shift().toString());
    }

    /** From now on, in every process that has the clock. */
    void set(Duration shift) {
      final ByteBuffer seconds =
          ByteBuffer.allocate(Long.BYTES)
              .order(ByteOrder.nativeOrder())
              .putLong(0, shift.toSeconds());
      try (var file =
          Files.newByteChannel(shift(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        file.write(seconds);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() {
      Directories.delete(directory);
    }
  }
}
