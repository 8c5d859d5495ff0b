package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
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
  private final long budgetBytes;
  private final List<? extends ReceivedTopic<?, ?>> received;
  // Causes go in through it and the stamp comes out, since arrays cost more to cross.
  private final ByteBuffer exchange;
  private Header stamp;
  private long stamped;
  private int stampBytes; // In the exchange; 0 when it is not there.
  private RefusalException refused;
  private RuntimeException broken;

  /** Room for the causes on some hundreds of topics, or on more than a thousand partitions. */
  static final int EXCHANGE_BYTES = 16 * 1024;

  private static final int ANSWER_MASK = (1 << NativeEngine.STAMP_SHIFT) - 1;

  Execution(long store, long budgetBytes, List<? extends ReceivedTopic<?, ?>> received) {
    this.exchange = ByteBuffer.allocateDirect(EXCHANGE_BYTES);
    this.store = store;
    this.budgetBytes = budgetBytes;
    this.received = received;
  }

  /** Restores the engine of a store. */
  static Execution open(
      long store, long budgetBytes, List<? extends ReceivedTopic<?, ?>> received) {
    final Execution execution = new Execution(store, budgetBytes, received);
    execution.run(() -> NativeEngine.open(store, execution.config(), execution.exchange));
    return execution;
  }

  /** As {@link NativeEngine#open} reads it. */
  private byte[] config() {
    int size = Long.BYTES + Integer.BYTES;
    final List<byte[]> names = new ArrayList<>();
    for (ReceivedTopic<?, ?> topic : received) {
      final byte[] name = topic.name().getBytes(StandardCharsets.UTF_8);
      names.add(name);
      size += Integer.BYTES + name.length + ChannelId.BYTES + Long.BYTES;
    }
    final ByteBuffer out = ByteBuffer.allocate(size);
    out.putLong(budgetBytes).putInt(received.size());
    for (int i = 0; i < names.size(); i++) {
      final ReceivedTopic<?, ?> topic = received.get(i);
      out.putInt(names.get(i).length).put(names.get(i));
      out.put(topic.channel().toBytes()).putLong(topic.start());
    }
    return out.array();
  }

  byte[] knownTopics() {
    return call(() -> NativeEngine.knownTopics(store));
  }

  void topicsGone(byte[] topicIds) {
    run(() -> NativeEngine.topicsGone(store, topicIds));
  }

  /** See {@link NativeEngine#receive}; the answer without the stamp's length. */
  int receive(int channel, long offset, byte[] causes, int headerCount) {
    forgetStamp();
    try { // Without a lambda, unlike the others: this one is called for every record.
      final int answer = answer(channel, offset, causes, headerCount);
      stampBytes = answer >>> NativeEngine.STAMP_SHIFT;
      return answer & ANSWER_MASK;
    } catch (NativeRefusal e) {
      throw refuse(converted(e));
    }
  }

  private int answer(int channel, long offset, byte[] causes, int headerCount) {
    if (headerCount != 1 || causes == null) {
      return NativeEngine.receive(store, channel, offset, headerCount, NativeEngine.NO_VALUE);
    }
    if (causes.length > EXCHANGE_BYTES) {
      return NativeEngine.receiveLong(store, channel, offset, causes);
    }
    exchange.put(0, causes);
    return NativeEngine.receive(store, channel, offset, headerCount, causes.length);
  }

  /** See {@link NativeEngine#next}. */
  int next() {
    forgetStamp();
    try {
      return NativeEngine.next(store);
    } catch (NativeRefusal e) {
      throw refuse(converted(e));
    }
  }

  /** The frontier is about to change. */
  private void forgetStamp() {
    stamp = null;
    stampBytes = 0;
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

  /** How many records each received channel holds, by the channel's index. */
  long[] heldCounts() {
    final ByteBuffer in = ByteBuffer.wrap(call(() -> NativeEngine.heldCounts(store)));
    final byte[] id = new byte[ChannelId.BYTES];
    final Map<ChannelId, Long> counts = new HashMap<>();
    while (in.hasRemaining()) {
      in.get(id);
      counts.put(ChannelId.ofBytes(id), in.getLong());
    }
    return received.stream().mapToLong(topic -> counts.get(topic.channel())).toArray();
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
    stamped++;
    if (stamp == null) {
      stamp = new RecordHeader(Causes.HEADER, stampValue());
    }
    return stamp;
  }

  /** How often {@link #stamp} was asked for, which is once for each forwarded record. */
  long stamped() {
    return stamped;
  }

  private byte[] stampValue() {
    if (stampBytes == 0) {
      return call(() -> NativeEngine.stamp(store));
    }
    final byte[] value = new byte[stampBytes];
    exchange.get(0, value);
    return value;
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
    if (broken != null) {
      throw broken;
    }
  }

  /**
   * A step has ended half way, perhaps with a record between here and the engine: no other step and
   * no flush may follow. Kafka Streams closes the task, but flushes its stores first.
   */
  void breakOff(RuntimeException failure) {
    note(failure);
    if (broken == null) {
      broken = failure;
    }
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
    final ChannelId channel = e.channelId() == null ? null : ChannelId.ofBytes(e.channelId());
    return new RefusalException(
        RefusalReason.valueOf(e.reason()), // An unknown name is a bug, and is thrown as one.
        e.getMessage(),
        channel,
        topicName(channel),
        e.position(),
        e.bound(),
        e);
  }

  private String topicName(ChannelId channel) {
    for (ReceivedTopic<?, ?> topic : received) {
      if (topic.channel().equals(channel)) {
        return topic.name();
      }
    }
    return null; // A channel that is only named by causes, or was received in another life.
  }
}
