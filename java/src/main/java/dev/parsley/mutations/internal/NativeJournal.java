package dev.parsley.mutations.internal;

/**
 * A mutation journal on the native side: its rows and the engine that works on them.
 *
 * <p>A journal is named by a number that the native side checks at each call. A closed, stale or
 * invented one is a {@link dev.parsley.mutations.StoreClosedException}; a failure to read or write,
 * a damaged journal, and a bug on the native side, a {@link
 * dev.parsley.mutations.JournalException}. After a bug the journal is closed for good. Every method
 * may be called on any thread; all but {@link #sync} take turns. Nothing calls back into Java.
 *
 * <p>Messages are those of {@link Wire} and {@link Messages}.
 */
final class NativeJournal {

  private NativeJournal() {}

  /**
   * Opens a journal: reads and judges all of it, writes nothing.
   *
   * @param directory made if there is none; null keeps the journal in memory
   */
  static native long open(String directory, byte[] config);

  /** Frees the directory before it returns. Operations that run never end. Can be repeated. */
  static native void close(long journal);

  /** Starts an operation. Its number is named by the actions of {@link #next}. */
  static native long start(long journal, byte[] operation);

  /**
   * Has the engine go on until it waits for answers, and writes its transactions meanwhile.
   *
   * @param nowMs milliseconds of the Unix epoch
   * @return what is to be done; null for nothing
   */
  static native byte[] next(long journal, long nowMs);

  /** Answers a call. An answer that nobody waits for any more is ignored. */
  static native void answer(long journal, long call, byte[] answer);

  /** Writes a transaction that was handed out, which is then to be answered like any call. */
  static native void commit(long journal, long call);

  /** Makes everything that was written durable. Other methods go on meanwhile. */
  static native void sync(long journal);

  /** Gives an operation up; it still ends with an outcome. */
  static native void cancel(long journal, long task);

  /** The pending mutations of an identity and of all that leads to the same end. */
  static native byte[] pending(long journal, byte[] identity);

  /** All pending mutations. */
  static native byte[] pendingWrites(long journal);

  /** The mutations that were given up. */
  static native byte[] deadLetters(long journal);

  /** The lanes that have work. */
  static native byte[] lanes(long journal);

  /** Every row, for tests. */
  static native byte[] dump(long journal);

  /** Fails on purpose: the proof that a bug on the native side closes its own journal only. */
  static native void selfTestPanic(long journal);
}
