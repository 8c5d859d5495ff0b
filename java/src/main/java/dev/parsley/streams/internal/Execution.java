package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * One execution of a causal node: its native engine, and the first refusal, which sticks.
 *
 * <p>A refusal can be raised below the application's code and be swallowed there, so everything
 * that raises one tells it to {@link #refuse}, and {@link #rethrow} is called wherever a step ends.
 *
 * <p>Lives from one initialisation of the task to the next; made and used by the stream thread.
 */
final class Execution {

  private final long store;
  private final Map<Uuid, String> topicNames;
  private Header stamp;
  private RefusalException refused;

  Execution(long store, Map<Uuid, String> topicNames) {
    this.store = store;
    this.topicNames = topicNames;
  }

  /**
   * Restores the engine of a store.
   *
   * @param config as {@link NativeEngine#open} reads it
   * @param topicNames of the declared topics, for messages
   */
  static Execution open(long store, byte[] config, Map<Uuid, String> topicNames) {
    final Execution execution = new Execution(store, topicNames);
    execution.run(() -> NativeEngine.open(store, config));
    return execution;
  }

  byte[] knownTopics() {
    return call(() -> NativeEngine.knownTopics(store));
  }

  void topicsGone(byte[] topicIds) {
    run(() -> NativeEngine.topicsGone(store, topicIds));
  }

  /** See {@link NativeEngine#receive}. */
  int receive(int channel, long offset, byte[] causes, int headerCount) {
    stamp = null;
    try { // Without a lambda, unlike the others: this one is called for every record.
      return NativeEngine.receive(store, channel, offset, causes, headerCount);
    } catch (NativeRefusal e) {
      throw refuse(converted(e));
    }
  }

  /** See {@link NativeEngine#next}. */
  int next() {
    stamp = null;
    try {
      return NativeEngine.next(store);
    } catch (NativeRefusal e) {
      throw refuse(converted(e));
    }
  }

  byte[] released() {
    return call(() -> NativeEngine.released(store));
  }

  void hold(byte[] record) {
    run(() -> NativeEngine.hold(store, record));
  }

  long heldCount() {
    return call(() -> NativeEngine.heldCount(store));
  }

  /** See {@link NativeEngine#flush}. */
  byte[] flush() {
    return call(() -> NativeEngine.flush(store));
  }

  long uncommittedBytes() {
    return NativeStore.uncommittedBytes(store);
  }

  /** The causes header for what is sent now. Kept until the frontier may have changed. */
  Header stamp() {
    if (stamp == null) {
      stamp = new RecordHeader(Causes.HEADER, call(() -> NativeEngine.stamp(store)));
    }
    return stamp;
  }

  /** Remembers a refusal unless there was one before, and returns the one that counts. */
  RefusalException refuse(RefusalException refusal) {
    if (refused == null) {
      refused = refusal;
    }
    return refused;
  }

  /** Remembers the refusal in a failure's chain of causes, if it has one. */
  void note(Throwable failure) {
    Refusals.in(failure).ifPresent(this::refuse);
  }

  /** Raises the first refusal again, if there was one. */
  void rethrow() {
    if (refused != null) {
      throw refused;
    }
  }

  /** The name of a topic among those declared; null when it is none of them. */
  String topicName(Uuid topicId) {
    return topicNames.get(topicId);
  }

  private void run(Runnable engineCall) {
    call(
        () -> {
          engineCall.run();
          return null;
        });
  }

  private <T> T call(Supplier<T> engineCall) {
    try {
      return engineCall.get();
    } catch (NativeRefusal e) {
      throw refuse(converted(e));
    }
  }

  private RefusalException converted(NativeRefusal e) {
    ChannelId channel = null;
    String topic = null;
    if (e.channelId() != null) {
      final ByteBuffer in = ByteBuffer.wrap(e.channelId());
      final Uuid topicId = new Uuid(in.getLong(), in.getLong());
      topic = topicName(topicId);
      channel = new ChannelId(topicId, in.getInt());
    }
    return new RefusalException(
        RefusalReason.valueOf(e.reason()), // An unknown name is a bug, and is thrown as one.
        e.getMessage(),
        channel,
        topic,
        e.position(),
        e.bound(),
        e);
  }
}
