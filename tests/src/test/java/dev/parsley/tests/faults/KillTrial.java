package dev.parsley.tests.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Applications of one instance each that is killed again and again, wherever it happens to be:
 * while its JVM starts, its state is opened or restored, within a transaction, between two of them.
 * They run side by side, since a start waits more than it works: for the session and the
 * transaction of the instance before.
 */
final class KillTrial {

  private static final int LANES = 4;

  /** About what an instance needs until it is at work. */
  private static final long START_CPU_MS_MAX = 2_500;

  /** So small that rows reach the disk all the time, and not only when a store is closed. */
  private static final Map<String, String> SMALL_BUFFERS =
      Map.of("parsley.write.buffer.bytes", "65536", "parsley.staged.bytes.max", "65536");

  private KillTrial() {}

  static void run(Tally tally, long seed, int kills) {
    final ExecutorService lanes = Executors.newFixedThreadPool(LANES);
    try {
      final List<Future<?>> running = new ArrayList<>();
      for (int lane = 0; lane < LANES; lane++) {
        final boolean transactionalStores = lane % 2 == 0;
        // A static member's place is free at once, that of others when their session has ended.
        final boolean staticMember = lane < LANES / 2;
        final long laneSeed = seed + lane;
        final int share = kills / LANES + (lane < kills % LANES ? 1 : 0);
        running.add(
            lanes.submit(
                () ->
                    killAgainAndAgain(tally, laneSeed, share, transactionalStores, staticMember)));
      }
      for (Future<?> lane : running) {
        lane.get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError("a lane has failed", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    } finally {
      lanes.shutdownNow();
    }
  }

  private static void killAgainAndAgain(
      Tally tally, long seed, int kills, boolean transactionalStores, boolean staticMember) {
    final Random random = new Random(seed);
    try (Application application =
        new Application(transactionalStores, 1, Feed.Kind.PLAIN, tally, seed)) {
      final Map<String, String> settings = new HashMap<>();
      settings.put("producer.transaction.timeout.ms", "2000");
      if (staticMember) {
        settings.put("main.consumer.group.instance.id", "one");
      }
      final Instance instance = application.instance(settings, Map.of());
      for (int kill = 0; kill < kills; kill++) {
        final Map<String, String> buffers = random.nextBoolean() ? SMALL_BUFFERS : Map.of();
        final int moment = random.nextInt(4);
        final int copies = 1 + random.nextInt(100);
        instance.start(buffers, moment == 1 ? copies : Long.MAX_VALUE);
        if (moment > 1) {
          final Duration used = Duration.ofMillis(random.nextLong(START_CPU_MS_MAX));
          application.await(
              () -> instance.cpuTime().compareTo(used) >= 0, "it has worked for " + used);
        } else if (moment == 1) {
          application.await(() -> instance.has(FaultyInstance.COPIED), copies + " copies sent");
        } else {
          application.awaitCopies(copies);
        }
        application.kill(instance);
      }
      instance.start();
      application.finish();
    }
  }
}
