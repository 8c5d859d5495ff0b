package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.BatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * The innermost store of a task: a key-value store of Kafka Streams over the native one, which also
 * keeps the changelog offset beside the rows.
 *
 * <p>Owned by {@link CausalStore}, written by the stream thread; reads, and a close, may come from
 * any thread. It can be opened again after a close: {@link #init} does nothing but open and
 * register.
 */
final class NativeKeyValueStore implements KeyValueStore<Bytes, byte[]> {

  /** What one scan brings to the Java side. */
  private static final int SCAN_BYTES_MAX = 64 * 1024;

  /** What one call brings to the native side of a restored batch. */
  private static final int RESTORE_BYTES_MAX = 1024 * 1024;

  private final String name;
  private final AtomicLong handle = new AtomicLong(NativeStore.NO_STORE);
  private final Position position = Position.emptyPosition();
  private StateStoreContext context;
  private boolean stagedByEngine;

  NativeKeyValueStore(String name) {
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public boolean persistent() {
    return true;
  }

  @Override
  public boolean isOpen() {
    return handle.get() != NativeStore.NO_STORE;
  }

  @Override
  public void init(StateStoreContext opened, StateStore root) {
    context = opened;
    if (!isOpen()) {
      NativeLibrary.load();
      final ParsleyConfig config = ParsleyConfig.of(opened.appConfigs());
      handle.set(
          NativeStore.open(
              directory(opened).getPath(),
              config.blockCacheBytes(),
              config.writeBufferBytes(),
              config.backgroundThreads()));
    }
    opened.register(root, (BatchingStateRestoreCallback) this::restoreAll);
  }

  /** Inside the task's own directory, which Kafka Streams locks, wipes and moves as a whole. */
  private File directory(StateStoreContext opened) {
    final File directory = new File(new File(opened.stateDir(), "parsley"), name);
    try {
      Files.createDirectories(directory.toPath());
    } catch (IOException e) {
      throw new ProcessorStateException(
          "the directory of store " + name + " cannot be made: " + directory, e);
    }
    return directory;
  }

  /** The number the native side knows this store by. */
  long handle() {
    final long current = handle.get();
    if (current == NativeStore.NO_STORE) {
      throw new InvalidStateStoreException("Store " + name + " is closed");
    }
    return current;
  }

  @Override
  public void close() { // Idempotent: Kafka Streams may close a store more than once.
    final long closing = handle.getAndSet(NativeStore.NO_STORE);
    if (closing != NativeStore.NO_STORE) {
      NativeStore.close(closing);
    }
  }

  @Override
  public byte[] get(Bytes key) {
    return NativeStore.get(handle(), key.get());
  }

  /**
   * Runs an action during which rows that are put are only passed on to the changelog, because the
   * engine has staged them natively already and they need not cross once more.
   */
  void whileStagedByEngine(Runnable action) {
    stagedByEngine = true;
    try {
      action.run();
    } finally {
      stagedByEngine = false;
    }
  }

  @Override
  public void put(Bytes key, byte[] value) {
    Objects.requireNonNull(key, "key");
    final long store = handle();
    if (!stagedByEngine) {
      NativeStore.put(store, key.get(), value);
    }
    advancePosition();
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    final byte[] present = get(key);
    if (present == null) {
      put(key, value);
    }
    return present;
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    for (KeyValue<Bytes, byte[]> entry : entries) {
      put(entry.key, entry.value);
    }
  }

  @Override
  public byte[] delete(Bytes key) {
    final byte[] present = get(key);
    put(key, null);
    return present;
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
    return scan(bytesOf(from), bytesOf(to), true, false);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
    return scan(bytesOf(from), bytesOf(to), true, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return scan(null, null, true, false);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return scan(null, null, true, true);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    final byte[] from = prefixKeySerializer.serialize(null, prefix);
    return scan(from, firstAfterPrefix(from), false, false);
  }

  private KeyValueIterator<Bytes, byte[]> scan(
      byte[] from, byte[] to, boolean toInclusive, boolean reverse) {
    handle(); // A closed store says so here and not at the first step of the iterator.
    return new NativeIterator(this, from, to, toInclusive, reverse, SCAN_BYTES_MAX);
  }

  private static byte[] bytesOf(Bytes key) {
    return key == null ? null : key.get();
  }

  /** The lowest key above all keys with the prefix; null when there is none. */
  private static byte[] firstAfterPrefix(byte[] prefix) {
    for (int last = prefix.length - 1; last >= 0; last--) {
      if (prefix[last] != (byte) 0xff) {
        final byte[] after = Arrays.copyOf(prefix, last + 1);
        after[last]++;
        return after;
      }
    }
    return null;
  }

  @Override
  public long approximateNumEntries() {
    return NativeStore.approximateEntries(handle());
  }

  @Override
  public long approximateNumUncommittedBytes() {
    final long store = handle.get(); // Metrics ask at any time, also after the close.
    return store == NativeStore.NO_STORE ? 0 : NativeStore.uncommittedBytes(store);
  }

  @Override
  public Position getPosition() {
    return position;
  }

  private void advancePosition() {
    context
        .recordMetadata()
        .filter(metadata -> metadata.topic() != null)
        .ifPresent(
            metadata ->
                position.withComponent(metadata.topic(), metadata.partition(), metadata.offset()));
  }

  private void restoreAll(Collection<KeyValue<byte[], byte[]>> rows) {
    final long store = handle();
    final PackedRows.Writer writer = new PackedRows.Writer(SCAN_BYTES_MAX);
    for (KeyValue<byte[], byte[]> row : rows) {
      writer.row(row.key, row.value);
      if (writer.size() >= RESTORE_BYTES_MAX) {
        NativeStore.restore(store, writer.take());
      }
    }
    if (writer.size() > 0) {
      NativeStore.restore(store, writer.take());
    }
  }

  @Override
  @SuppressWarnings("deprecation") // Only until all stores do it; there is no other way to say so.
  public boolean managesOffsets() {
    return true;
  }

  @Override
  public void commit(Map<TopicPartition, Long> changelogOffsets) {
    final PackedRows.Writer offsets = new PackedRows.Writer(256);
    changelogOffsets.forEach(
        (partition, offset) ->
            offsets.row(
                partition.toString().getBytes(StandardCharsets.UTF_8),
                offset == null ? null : ByteBuffer.allocate(Long.BYTES).putLong(offset).array()));
    NativeStore.commit(handle(), offsets.take());
  }

  @Override
  public Long committedOffset(TopicPartition partition) {
    final long offset = NativeStore.committedOffset(handle(), partition.toString());
    return offset == -1 ? null : Long.valueOf(offset);
  }
}
