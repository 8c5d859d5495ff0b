package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongConsumer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Threads that call, iterate and close at random, with no regard for each other: whatever they do,
 * it ends in an answer or an exception. Runs for {@value #SHORT_SECONDS} s; with {@code
 * -Dparsley.tests.long=true} for a minute. {@code -Dparsley.tests.seed=n} repeats a seed, though
 * not how the threads happen to meet.
 */
class NativeChaosTest {

  private static final int THREADS = 8;
  private static final int STORES = 5;

  /** Only these are written to, since no engine would open on rows that are none of its own. */
  private static final int WRITTEN_STORES = 3;

  private static final int SHORT_SECONDS = 6;
  private static final int LONG_SECONDS = 60;

  /** One in so many steps arms a panic, which prints a line. */
  private static final int STEPS_TO_A_PANIC = 100_000;

  /** All but those that end a store, which are called on purpose. */
  private static final List<LongConsumer> CALLS = calls();

  @TempDir Path directory;
  private final AtomicReferenceArray<NativeKeyValueStore> stores =
      new AtomicReferenceArray<>(STORES);
  private final AtomicLongArray handles = new AtomicLongArray(STORES);
  private final Map<String, AtomicInteger> ends = new ConcurrentHashMap<>();

  private static List<LongConsumer> calls() {
    final Map<String, LongConsumer> calls = NativeCalls.onAStore();
    calls.remove("NativeStore.close");
    calls.remove("NativeStore.selfTestPanic");
    return List.copyOf(calls.values());
  }

  @BeforeAll
  static void loadLibrary() {
    NativeLibrary.load();
  }

  @Test
  void shouldEndEveryCallInAnAnswerOrAnException() throws Exception {
    final long seed = Long.getLong("parsley.tests.seed", ThreadLocalRandom.current().nextInt());
    final Duration time =
        Duration.ofSeconds(Boolean.getBoolean("parsley.tests.long") ? LONG_SECONDS : SHORT_SECONDS);
    System.out.println("chaos: seed " + seed + ", " + time.toSeconds() + " s");
    for (int i = 0; i < STORES; i++) {
      stores.set(i, OpenStore.in(directory.resolve("store-" + i)));
      handles.set(i, stores.get(i).handle());
    }

    final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    final long deadline = System.nanoTime() + time.toNanos();
    final List<Future<?>> running = new ArrayList<>();
    for (int number = 0; number < THREADS; number++) {
      final Random random = new Random(seed + number);
      running.add(
          threads.submit(
              () -> {
                while (System.nanoTime() < deadline) {
                  step(random);
                }
              }));
    }
    threads.shutdown();
    for (Future<?> thread : running) {
      thread.get();
    }

    System.out.println("chaos: " + new TreeMap<>(ends));
    assertTrue(ends.containsKey("answered"));
    assertTrue(ends.containsKey("InvalidStateStoreException"));
    for (int i = 0; i < STORES; i++) {
      stores.get(i).close();
      final NativeKeyValueStore after = OpenStore.in(directory.resolve("store-" + i));
      after.put(Bytes.wrap(new byte[] {7}), new byte[] {8});
      assertArrayEquals(new byte[] {8}, after.get(Bytes.wrap(new byte[] {7})));
      after.close();
    }
  }

  private void step(Random random) {
    final int number = random.nextInt(STORES);
    final NativeKeyValueStore store = stores.get(number);
    try {
      final int what = random.nextInt(STEPS_TO_A_PANIC);
      if (what == 0) {
        NativeStore.selfTestPanic(store.handle());
      } else if (what < 500) {
        reopen(number, store);
      } else if (what < 20_000) {
        iterate(store, random);
      } else if (what < 60_000) {
        use(store, number < WRITTEN_STORES, random);
      } else {
        final long last = random.nextInt(20) == 0 ? random.nextLong() : handles.get(number);
        CALLS.get(random.nextInt(CALLS.size())).accept(last); // It may be closed by now.
      }
      count("answered");
    } catch (InvalidStateStoreException // Closed, or no engine.
        | ProcessorStateException // A panic, or a directory that is still open.
        | IllegalArgumentException // No record is released, or it is none.
        | NativeRefusal e) {
      count(e.getClass().getSimpleName());
    }
  }

  private void reopen(int number, NativeKeyValueStore closing) {
    closing.close();
    final NativeKeyValueStore opened = OpenStore.in(directory.resolve("store-" + number));
    handles.set(number, opened.handle());
    stores.set(number, opened);
  }

  private static void use(NativeKeyValueStore store, boolean written, Random random) {
    final Bytes key = key(random);
    switch (random.nextInt(4)) {
      case 0:
        if (written) {
          store.put(key, random.nextInt(4) == 0 ? null : new byte[random.nextInt(200)]);
        }
        break;
      case 1:
        store.get(key);
        break;
      case 2:
        NativeStore.settle(store.handle());
        break;
      default:
        store.approximateNumEntries();
    }
  }

  private static void iterate(NativeKeyValueStore store, Random random) {
    try (KeyValueIterator<Bytes, byte[]> rows =
        random.nextBoolean() ? store.all() : store.reverseRange(null, key(random))) {
      Bytes last = null;
      for (int i = 0; i < 50 && rows.hasNext(); i++) {
        final KeyValue<Bytes, byte[]> row = rows.next();
        assertTrue(last == null || !last.equals(row.key));
        last = row.key;
      }
    }
  }

  private static Bytes key(Random random) {
    return Bytes.wrap(ByteBuffer.allocate(Integer.BYTES).putInt(random.nextInt(2_000)).array());
  }

  private void count(String end) {
    ends.computeIfAbsent(end, name -> new AtomicInteger()).incrementAndGet();
  }
}
