package dev.parsley.mutations.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.parsley.mutations.Identity;
import dev.parsley.mutations.JournalException;
import dev.parsley.mutations.StoreClosedException;
import dev.parsley.streams.internal.NativeLibrary;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The numbers Java knows native journals by: whatever is done with them, the process lives on. */
class NativeJournalTest {

  private static final int THREADS = 4;
  private static final Identity KEY = new Identity("n", "a");
  private static final byte[] DONE = Answer.done().message();

  @TempDir Path directory;

  @BeforeAll
  static void loadLibrary() {
    NativeLibrary.load();
  }

  @Test
  void shouldRefuseInventedHandles() {
    final long[] invented = {0, -1, 1L << 40, Long.MIN_VALUE, new Random(7).nextLong()};
    for (long handle : invented) {
      for (Runnable call : everyCall(handle)) {
        assertThrows(StoreClosedException.class, call::run, "handle " + handle);
      }
    }
  }

  @Test
  void shouldRefuseEveryCallOnAClosedJournal() {
    final long journal = open(null);
    NativeJournal.close(journal);
    NativeJournal.close(journal);

    for (Runnable call : everyCall(journal)) {
      assertThrows(StoreClosedException.class, call::run);
    }
  }

  @Test
  void shouldNotTakeAStaleHandleForTheJournalOpenedAfterIt() {
    final long stale = open(null);
    NativeJournal.close(stale);
    final long fresh = open(null);

    assertThrows(StoreClosedException.class, () -> NativeJournal.next(stale, 0));

    assertNull(NativeJournal.next(fresh, 0));
    NativeJournal.close(fresh);
  }

  @Test
  void shouldCloseOnlyTheJournalThatPanicked() {
    final String broken = directory.resolve("broken").toString();
    final long journal = open(broken);
    final long sound = open(null);

    assertThrows(JournalException.class, () -> NativeJournal.selfTestPanic(journal));

    for (Runnable call : everyCall(journal)) {
      assertThrows(StoreClosedException.class, call::run);
    }
    assertNotNull(NativeJournal.pendingWrites(sound));
    NativeJournal.close(journal);
    NativeJournal.close(sound);
    NativeJournal.close(open(broken)); // The directory is free again.
  }

  @Test
  void shouldNotOpenADirectoryTwice() {
    final String twice = directory.resolve("twice").toString();
    final long journal = open(twice);

    assertThrows(JournalException.class, () -> open(twice));

    NativeJournal.close(journal);
    NativeJournal.close(open(twice));
  }

  @Test
  void shouldRefuseMalformedMessages() {
    final long journal = open(null);
    final byte[] otherFormat = {2, 3};
    final byte[] cut = {1, 1, 0, 0, 0, 9};
    for (byte[] message : List.of(new byte[0], otherFormat, cut)) {
      assertThrows(IllegalArgumentException.class, () -> NativeJournal.open(null, message));
      assertThrows(IllegalArgumentException.class, () -> NativeJournal.start(journal, message));
      assertThrows(IllegalArgumentException.class, () -> NativeJournal.answer(journal, 1, message));
      assertThrows(IllegalArgumentException.class, () -> NativeJournal.pending(journal, message));
    }
    assertThrows(IllegalArgumentException.class, () -> NativeJournal.start(journal, null));
    assertThrows(IllegalArgumentException.class, () -> NativeJournal.commit(journal, 1));
    NativeJournal.answer(journal, 77, DONE); // Nobody waits for it.
    NativeJournal.cancel(journal, 77);
    NativeJournal.close(journal);
  }

  @Test
  void shouldSurviveUseAfterCloseFromSeveralThreads() throws Exception {
    for (int round = 0; round < 10; round++) {
      final long journal = open(directory.resolve("raced").toString());
      inThreads(
          number -> {
            try {
              for (int i = 0; i < 50; i++) {
                NativeJournal.start(journal, mutate());
                NativeJournal.next(journal, i);
                NativeJournal.sync(journal);
                NativeJournal.pendingWrites(journal);
                if (number == 0 && i == 25) {
                  NativeJournal.close(journal);
                }
              }
            } catch (StoreClosedException | JournalException closed) {
              return; // The only ways it may end: a sync may have begun before.
            }
          });
      NativeJournal.close(journal);
    }
  }

  @Test
  void shouldRefuseInventedHandlesFromSeveralThreads() throws Exception {
    inThreads(
        number -> {
          final Random random = new Random(number);
          for (int i = 0; i < 1000; i++) {
            final long invented = random.nextLong();
            assertThrows(StoreClosedException.class, () -> NativeJournal.next(invented, 0));
          }
        });
  }

  @Test
  void shouldMakeNoLocalReferencesThatStay() {
    // -Xcheck:jni warns of a native method that leaves more than 32 behind, which fails the build.
    final long journal = open(null);
    for (int i = 0; i < 200; i++) {
      NativeJournal.start(journal, mutate());
      assertNotNull(NativeJournal.next(journal, 1)); // The sync that it waits for.
    }
    assertEquals(200, Messages.pending(NativeJournal.pendingWrites(journal)).size());
    NativeJournal.close(journal);
  }

  private static byte[] mutate() {
    return Operations.mutate(KEY, "set", 1, new byte[] {1});
  }

  private static long open(String place) {
    return NativeJournal.open(
        place, new JournalConfig("test", 7, 1, false, 4, 0, null).message(false));
  }

  /** Each native method but open and close. */
  private static List<Runnable> everyCall(long journal) {
    return List.of(
        () -> NativeJournal.start(journal, Operations.drainAll()),
        () -> NativeJournal.next(journal, 0),
        () -> NativeJournal.answer(journal, 1, DONE),
        () -> NativeJournal.commit(journal, 1),
        () -> NativeJournal.sync(journal),
        () -> NativeJournal.cancel(journal, 1),
        () -> NativeJournal.pending(journal, Messages.identity(KEY)),
        () -> NativeJournal.pendingWrites(journal),
        () -> NativeJournal.deadLetters(journal),
        () -> NativeJournal.lanes(journal),
        () -> NativeJournal.dump(journal),
        () -> NativeJournal.selfTestPanic(journal));
  }

  private interface Work {
    void run(int number) throws Exception;
  }

  private static void inThreads(Work work) throws Exception {
    final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      final List<Callable<Void>> calls = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        final int number = i;
        calls.add(
            () -> {
              work.run(number);
              return null;
            });
      }
      for (Future<Void> done : threads.invokeAll(calls, 60, TimeUnit.SECONDS)) {
        done.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
