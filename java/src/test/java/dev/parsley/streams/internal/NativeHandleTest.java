package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** The numbers Java knows native stores by: whatever is done with them, the process lives on. */
class NativeHandleTest {

  private static final int THREADS = 4;
  private static final byte[] KEY = {1};

  @TempDir Path directory;

  @BeforeAll
  static void loadLibrary() {
    NativeLibrary.load();
  }

  @Test
  void shouldRefuseInventedHandles() {
    final Random random = new Random(7);
    final long[] invented = {NativeStore.NO_STORE, -1, 1L << 40, Long.MIN_VALUE, random.nextLong()};
    for (long handle : invented) {
      for (LongConsumer call : everyCall()) {
        assertThrows(
            InvalidStateStoreException.class, () -> call.accept(handle), "handle " + handle);
      }
    }
  }

  @Test
  void shouldRefuseEveryCallOnAClosedStore() {
    final long store = open("closed");
    NativeEngine.open(store, NativeCalls.config(), NativeCalls.exchange());
    NativeStore.close(store);
    NativeStore.close(store);

    for (LongConsumer call : everyCall()) {
      assertThrows(InvalidStateStoreException.class, () -> call.accept(store));
    }
  }

  @Test
  void shouldNotTakeAStaleHandleForTheStoreOpenedAfterIt() {
    final long stale = open("stale");
    NativeStore.close(stale);
    final long fresh = open("stale");

    assertThrows(InvalidStateStoreException.class, () -> NativeStore.put(stale, KEY, KEY));

    assertEquals(null, NativeStore.get(fresh, KEY));
    NativeStore.close(fresh);
  }

  @Test
  void shouldSurviveUseAfterCloseFromSeveralThreads() throws Exception {
    for (int round = 0; round < 20; round++) {
      final long store = open("raced");
      inThreads(
          number -> {
            for (int i = 0; i < 200; i++) {
              try {
                NativeStore.put(store, new byte[] {(byte) i}, KEY);
                NativeStore.scan(store, null, true, null, true, false, 100);
                if (number == 0 && i == 100) {
                  NativeStore.close(store);
                }
              } catch (InvalidStateStoreException closed) {
                return; // The only way it may end.
              }
            }
          });
      NativeStore.close(store);
    }
  }

  @Test
  void shouldRefuseInventedHandlesFromSeveralThreads() throws Exception {
    inThreads(
        number -> {
          final Random random = new Random(number);
          for (int i = 0; i < 1000; i++) {
            final long invented = random.nextLong();
            assertThrows(InvalidStateStoreException.class, () -> NativeStore.get(invented, KEY));
          }
        });
  }

  @Test
  void shouldNotOpenADirectoryTwice() {
    final long store = open("twice");

    assertThrows(ProcessorStateException.class, () -> open("twice"));

    NativeStore.close(store);
    NativeStore.close(open("twice"));
  }

  @Test
  void shouldRefuseMalformedArguments() {
    final long store = open("malformed");
    NativeEngine.open(store, NativeCalls.config(), NativeCalls.exchange());

    final byte[] cut = {0, 0, 0, 9, 1};
    assertThrows(IllegalArgumentException.class, () -> NativeStore.restore(store, cut));
    assertThrows(IllegalArgumentException.class, () -> NativeStore.commit(store, cut));
    assertThrows(
        IllegalArgumentException.class,
        () -> NativeEngine.open(store, new byte[3], NativeCalls.exchange()));
    assertThrows(
        IllegalArgumentException.class, () -> NativeEngine.topicsGone(store, new byte[15]));
    // One byte more than there is room for, and lengths that are none.
    for (int causesBytes : new int[] {65, Integer.MAX_VALUE, -2, Integer.MIN_VALUE}) {
      assertThrows(
          IllegalArgumentException.class, () -> NativeEngine.receive(store, 0, 0, 1, causesBytes));
    }
    assertThrows(IllegalArgumentException.class, () -> NativeEngine.receiveLong(store, 0, 0, null));
    final ByteBuffer[] unfit = {null, ByteBuffer.allocate(64), ByteBuffer.allocateDirect(1 << 21)};
    for (ByteBuffer exchange : unfit) {
      assertThrows(
          IllegalArgumentException.class,
          () -> NativeEngine.open(store, NativeCalls.config(), exchange));
    }
    NativeStore.close(store);
  }

  @Test
  void shouldShareAProcessWithTheRocksDbOfKafkaStreams() throws RocksDBException {
    RocksDB.loadLibrary();
    final long store = open("ours");
    try (Options options = new Options().setCreateIfMissing(true);
        RocksDB theirs = RocksDB.open(options, directory.resolve("theirs").toString())) {
      for (int i = 0; i < 2000; i++) {
        final byte[] key = ByteBuffer.allocate(4).putInt(i).array();
        NativeStore.put(store, key, key);
        theirs.put(key, new byte[] {(byte) i});
        if (i % 500 == 499) {
          NativeStore.commit(store, offset(i));
        }
      }
      for (int i = 0; i < 2000; i++) {
        final byte[] key = ByteBuffer.allocate(4).putInt(i).array();
        assertArrayEquals(key, NativeStore.get(store, key));
        assertArrayEquals(new byte[] {(byte) i}, theirs.get(key));
      }
    }
    NativeStore.close(store);
  }

  private long open(String name) {
    return NativeStore.open(directory.resolve(name).toString(), 1 << 20, 1 << 20, 1);
  }

  private static Collection<LongConsumer> everyCall() {
    final Map<String, LongConsumer> calls = NativeCalls.onAStore();
    calls.remove("NativeStore.close"); // A store that was closed before may be closed again.
    return calls.values();
  }

  private static byte[] offset(long offset) {
    return new PackedRows.Writer(64)
        .row(
            "changelog-0".getBytes(StandardCharsets.UTF_8),
            ByteBuffer.allocate(Long.BYTES).putLong(offset).array())
        .take();
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
