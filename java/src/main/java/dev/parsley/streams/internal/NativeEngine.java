package dev.parsley.streams.internal;

import java.nio.ByteBuffer;

/**
 * The engine that decides what is delivered, held or refused: at most one for each store, named by
 * the store's number. One engine is one execution of a task.
 *
 * <p>What it refuses is a {@link NativeRefusal}, thrown again by every later call until the next
 * {@link #open}. Otherwise calls fail as those of {@link NativeStore} do. Calls on one store must
 * not overlap in time, as those of one task never do.
 */
final class NativeEngine {

  /** What {@link #receive} answers in its lowest bits, without {@link #DRAIN}. */
  static final int DUPLICATE = 0;

  /** The record is delivered: hand it to the application now. */
  static final int DELIVERED = 1;

  /** Ask {@link #next} until {@link #NONE}; {@link #hold} the record if it did not come up. */
  static final int PENDING = 2;

  /** Added to the answer of {@link #receive} when {@link #next} may have something. */
  static final int DRAIN = 4;

  /** How far up the length of the stamp is in the answer of {@link #receive}. */
  static final int STAMP_SHIFT = 8;

  /** The length of a header that has no value. */
  static final int NO_VALUE = -1;

  /** What {@link #next} answers: nothing more is deliverable. */
  static final int NONE = 0;

  /** The record that was just received is delivered. */
  static final int CURRENT = 1;

  /** An older record is delivered; {@link #released} has it. */
  static final int HELD = 2;

  private NativeEngine() {}

  /**
   * Restores an engine from the store's rows, in place of the one there was.
   *
   * @param config int64 budget in bytes, int32 count, then for each received channel: int32 length
   *     and UTF-8 name of the topic, 16 bytes topic id, int32 partition, int64 committed offset (0
   *     for none). A channel is named by its index in this list from then on
   * @param exchange a direct buffer of up to 1 MiB through which {@link #receive} takes causes in
   *     and hands the stamp out, at its start. The engine keeps it until it is closed
   */
  static native void open(long store, byte[] config, ByteBuffer exchange);

  /** Drops the engine and what it has not flushed. The store stays open. */
  static native void close(long store);

  /** The ids of all topics the engine knows of, 16 bytes each. */
  static native byte[] knownTopics(long store);

  /** Tells which of those topics exist no more, 16 bytes each. Only before the first record. */
  static native void topicsGone(long store, byte[] topicIds);

  /**
   * Judges one record by its causes. If it is delivered, the exchange holds what {@link #stamp}
   * would answer, and the answer its length, unless it does not fit.
   *
   * @param headerCount how many causes headers it has: 0, 1, or 2 for more than one
   * @param causesBytes when there is one, the length of its value, which is in the exchange, or
   *     {@link #NO_VALUE}
   */
  static native int receive(long store, int channel, long offset, int headerCount, int causesBytes);

  /**
   * As {@link #receive}, for a record with one causes header that the exchange is too short for.
   */
  static native int receiveLong(long store, int channel, long offset, byte[] causes);

  static native int next(long store);

  /** The record that {@link #next} released: int32 channel, int64 offset, {@link RecordPart}. */
  static native byte[] released(long store);

  /** The content of the record that is pending, as a {@link RecordPart}. */
  static native void hold(long store, byte[] record);

  /** The value of the causes header for what is sent now. */
  static native byte[] stamp(long store);

  static native long heldCount(long store);

  /** For each received channel 20 bytes of its id and int64 how many of its records are held. */
  static native byte[] heldCounts(long store);

  /**
   * The next chunk of packed rows that the engine changed, about 1 MiB; null when there are no
   * more. The rows are staged in the store when they are handed out.
   */
  static native byte[] flush(long store);
}
