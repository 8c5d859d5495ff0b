package dev.parsley.streams.internal;

/**
 * The ordering store on the native side: rows and changelog offsets of one task, in one RocksDB.
 *
 * <p>A store is named by a number that the native side checks at each call. A closed, stale or
 * invented one is an {@link org.apache.kafka.streams.errors.InvalidStateStoreException}; a failure
 * to read or write, and a bug on the native side, a {@link
 * org.apache.kafka.streams.errors.ProcessorStateException}. After a bug the store is closed for
 * good. Every method may be called on any thread.
 *
 * <p>Packed rows are those of {@link PackedRows}. Writes are staged in memory and seen by reads at
 * once; they reach the disk with {@link #commit} or {@link #settle}.
 */
final class NativeStore {

  /** Never the number of a store. */
  static final long NO_STORE = 0;

  private NativeStore() {}

  /**
   * Opens the store in a directory, which is made if there is none. Stores with equal sizes share
   * them; of the threads, which all share, the largest number asked for holds.
   */
  static native long open(
      String directory, long blockCacheBytes, long writeBufferBytes, int backgroundThreads);

  /** Drops what is staged and frees the directory before it returns. Can be repeated. */
  static native void close(long store);

  /** The value of a key; null when there is none. */
  static native byte[] get(long store, byte[] key);

  /** Stages one row; a null value deletes. */
  static native void put(long store, byte[] key, byte[] value);

  /**
   * Rows in unsigned byte order of their keys, or backwards.
   *
   * @param from lower bound; null is none
   * @param to upper bound; null is none
   * @param bytesMax where to stop; one row is returned even if it is larger
   * @return packed rows; null when there are none
   */
  static native byte[] scan(
      long store,
      byte[] from,
      boolean fromInclusive,
      byte[] to,
      boolean toInclusive,
      boolean reverse,
      int bytesMax);

  static native long approximateEntries(long store);

  /** Bytes staged, those the engine has not flushed among them. */
  static native long uncommittedBytes(long store);

  /** Takes in packed rows of the changelog. */
  static native void restore(long store, byte[] packedRows);

  /** Writes what was flushed, now that it is known to be committed, and forgets the offset. */
  static native void settle(long store);

  /**
   * Writes what was flushed together with offsets.
   *
   * @param packedOffsets by UTF-8 "topic-partition": an int64, or null to forget that one; null or
   *     empty forgets all
   */
  static native void commit(long store, byte[] packedOffsets);

  /** The offset stored under a name; -1 when there is none. */
  static native long committedOffset(long store, String name);

  /**
   * Makes the next call on this store, whichever it is, fail as a bug on the native side would. The
   * proof that such a bug closes its own store and no other.
   */
  static native void selfTestPanic(long store);

  /** Makes the next {@link #open} fail as a bug on the native side would. */
  static native void selfTestPanicAtOpen();
}
