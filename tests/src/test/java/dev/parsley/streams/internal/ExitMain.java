package dev.parsley.streams.internal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/**
 * Writes to several stores from as many threads, so that RocksDB is always about to flush and
 * compact, and ends in the middle of it. Arguments: a directory, the {@link Way}, a seed, and how
 * many batches each store takes first. It prints {@link #WRITING} then.
 */
final class ExitMain {

  static final String WRITING = "writing";

  private static final int STORES = 3;
  private static final int ROWS_OF_A_BATCH = 100;
  private static final int VALUE_BYTES = 1_000;
  private static final byte[] OFFSET_NAME = "changelog-0".getBytes(StandardCharsets.UTF_8);

  /** Small, so that each few batches are a file, and each few files a compaction. */
  private static final long WRITE_BUFFER_BYTES = 512 * 1024;

  enum Way {
    /** {@code System.exit(0)}. */
    EXIT,
    /** main returns and leaves daemon threads. */
    RETURN,
    /** It goes on until a signal comes. */
    SIGNAL
  }

  private ExitMain() {}

  static Path store(Path directory, int number) {
    return directory.resolve("store-" + number);
  }

  static int stores() {
    return STORES;
  }

  static long open(Path directory) {
    return NativeStore.open(directory.toString(), 1 << 20, WRITE_BUFFER_BYTES, 4);
  }

  public static void main(String[] arguments) throws InterruptedException {
    NativeLibrary.load();
    final Path directory = Path.of(arguments[0]);
    final long seed = Long.parseLong(arguments[2]);
    final int batches = Integer.parseInt(arguments[3]);
    final CountDownLatch busy = new CountDownLatch(STORES);
    for (int number = 0; number < STORES; number++) {
      final long store = open(store(directory, number));
      final Random random = new Random(seed + number);
      final Thread writer = new Thread(() -> write(store, random, batches, busy));
      writer.setDaemon(true);
      writer.start();
    }
    busy.await();
    System.out.println(WRITING);
    switch (Way.valueOf(arguments[1])) {
      case EXIT:
        System.exit(0);
        break;
      case RETURN:
        return;
      default:
        new CountDownLatch(1).await();
    }
  }

  private static void write(long store, Random random, int batches, CountDownLatch busy) {
    final byte[] value = new byte[VALUE_BYTES];
    for (long batch = 1; ; batch++) {
      for (int row = 0; row < ROWS_OF_A_BATCH; row++) {
        random.nextBytes(value);
        NativeStore.put(store, bytes(random.nextInt(10_000)), value);
      }
      NativeStore.commit(store, new PackedRows.Writer(64).row(OFFSET_NAME, bytes(batch)).take());
      if (batch == batches) {
        busy.countDown();
      }
    }
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }
}
