package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * What a task asks of the native library, a unit at a time: an engine over the channels {@link
 * #CAUSE} and {@link #EFFECT} in one store. For one thread.
 */
final class Workload {

  static final int CAUSE = 0;
  static final int EFFECT = 1;

  /** Of a record's payload. */
  private static final byte[] VALUE = new byte[100];

  private static final byte[] PART =
      new RecordPart(1L, new byte[] {1, 2, 3}, VALUE, new Header[] {new RecordHeader("h", VALUE)})
          .encode();

  /** Of a released record, in front of its part. */
  private static final int PLACE_BYTES = Integer.BYTES + Long.BYTES;

  private static final List<String> TOPICS = List.of("causes", "effects");
  private static final List<ChannelId> CHANNELS =
      List.of(new ChannelId(new Uuid(1, 1), 0), new ChannelId(new Uuid(2, 2), 0));
  private static final byte[] OFFSET_NAME = "changelog-0".getBytes(StandardCharsets.UTF_8);
  private static final long BUDGET_BYTES = 1 << 18;
  private static final int ANSWER_MASK = (1 << NativeEngine.STAMP_SHIFT) - 1;

  private final Path directory;
  // Causes of one channel end in its position, so the next ones are written over the last.
  private final byte[] causes = Causes.of(CHANNELS.get(CAUSE), 0).encode();
  private final ByteBuffer exchange = ByteBuffer.allocateDirect(1 << 10);
  private long store;
  private long nextCause;
  private long nextEffect;
  private long changelogEnd;

  private Workload(Path directory) {
    this.directory = directory;
  }

  /** Opens a store of which nothing is expected, and an engine on it. */
  static Workload open(Path directory) {
    final Workload workload = new Workload(directory);
    workload.reopen();
    return workload;
  }

  /** Opens the store again, and an engine on what it holds. */
  void reopen() {
    store = NativeStore.open(directory.toString(), 8 << 20, 8 << 20, 2);
    NativeEngine.open(store, config(), exchange);
  }

  void close() {
    NativeStore.close(store);
  }

  /** A record that is delivered at once and names the one before it as its cause. */
  void deliver() {
    final int answer =
        nextCause == 0
            ? NativeEngine.receive(store, CAUSE, nextCause, 0, NativeEngine.NO_VALUE)
            : receive(CAUSE, nextCause, nextCause - 1);
    require(answer & ANSWER_MASK, NativeEngine.DELIVERED);
    nextCause++;
  }

  /** A record that is held for the next cause. */
  void hold() {
    require(receive(EFFECT, nextEffect++, nextCause) & ANSWER_MASK, NativeEngine.PENDING);
    require(NativeEngine.next(store), NativeEngine.NONE);
    NativeEngine.hold(store, PART);
  }

  /** Delivers the next cause, and all that waits for it; returns how many these were. */
  int release() {
    deliver();
    int released = 0;
    for (int next = NativeEngine.next(store);
        next != NativeEngine.NONE;
        next = NativeEngine.next(store)) {
      require(next, NativeEngine.HELD);
      final byte[] record = NativeEngine.released(store);
      if (!Arrays.equals(record, PLACE_BYTES, record.length, PART, 0, PART.length)) {
        throw new IllegalStateException("a held record came out changed");
      }
      released++;
    }
    return released;
  }

  long held() {
    return NativeEngine.heldCount(store);
  }

  /** Flushes, without saying that it was committed. */
  void flush() {
    for (byte[] rows = NativeEngine.flush(store); rows != null; rows = NativeEngine.flush(store)) {
      changelogEnd++;
    }
  }

  void commit() {
    flush();
    NativeStore.commit(store, offset(changelogEnd));
  }

  /** Receives a record whose cause is this position. */
  private int receive(int channel, long offset, long cause) {
    exchange.put(0, causes).putLong(causes.length - Long.BYTES, cause);
    return NativeEngine.receive(store, channel, offset, 1, causes.length);
  }

  /** Runs steps that will not have been, so that their positions come again. */
  void undone(Runnable steps) {
    final long cause = nextCause;
    final long effect = nextEffect;
    steps.run();
    nextCause = cause;
    nextEffect = effect;
  }

  private static void require(int answer, int expected) {
    if ((answer & 3) != expected) {
      throw new IllegalStateException("the engine answered " + answer + " instead of " + expected);
    }
  }

  private static byte[] offset(long offset) {
    return new PackedRows.Writer(64)
        .row(OFFSET_NAME, ByteBuffer.allocate(Long.BYTES).putLong(offset).array())
        .take();
  }

  private static byte[] config() {
    final ByteBuffer out = ByteBuffer.allocate(256).putLong(BUDGET_BYTES).putInt(TOPICS.size());
    for (int i = 0; i < TOPICS.size(); i++) {
      final byte[] name = TOPICS.get(i).getBytes(StandardCharsets.UTF_8);
      out.putInt(name.length).put(name).put(CHANNELS.get(i).toBytes()).putLong(0);
    }
    return Arrays.copyOf(out.array(), out.position());
  }
}
