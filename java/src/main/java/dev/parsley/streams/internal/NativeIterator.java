package dev.parsley.streams.internal;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * Walks the rows of a store, a chunk at a time, so that it keeps nothing on the native side. Each
 * chunk is a picture of its own moment: a row written behind the walker is not seen, one written
 * ahead of it may be. For one thread; a closed store ends it with an exception.
 */
final class NativeIterator implements KeyValueIterator<Bytes, byte[]> {

  private final NativeKeyValueStore store;
  private final boolean reverse;
  private final int chunkBytesMax;
  private final Queue<KeyValue<Bytes, byte[]>> chunk = new ArrayDeque<>();

  // What is not read yet. After each chunk the bound behind us moves past its last key.
  private byte[] from;
  private boolean fromInclusive = true;
  private byte[] to;
  private boolean toInclusive;
  private boolean exhausted;
  private boolean closed;

  NativeIterator(
      NativeKeyValueStore store,
      byte[] from,
      byte[] to,
      boolean toInclusive,
      boolean reverse,
      int chunkBytesMax) {
    this.store = store;
    this.from = from;
    this.to = to;
    this.toInclusive = toInclusive;
    this.reverse = reverse;
    this.chunkBytesMax = chunkBytesMax;
  }

  @Override
  public boolean hasNext() {
    if (closed) {
      throw new InvalidStateStoreException("this iterator of " + store.name() + " is closed");
    }
    final long handle = store.handle();
    if (chunk.isEmpty() && !exhausted) {
      fetch(handle);
    }
    return !chunk.isEmpty();
  }

  @Override
  public KeyValue<Bytes, byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return chunk.remove();
  }

  @Override
  public Bytes peekNextKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return chunk.element().key;
  }

  @Override
  public void close() {
    closed = true;
    chunk.clear();
  }

  private void fetch(long handle) {
    final byte[] packed =
        isEmptyRange()
            ? null
            : NativeStore.scan(
                handle, from, fromInclusive, to, toInclusive, reverse, chunkBytesMax);
    if (packed == null) {
      exhausted = true;
      return;
    }
    PackedRows.forEach(
        packed,
        (key, value) -> {
          chunk.add(KeyValue.pair(Bytes.wrap(key), value));
          if (reverse) {
            to = key;
            toInclusive = false;
          } else {
            from = key;
            fromInclusive = false;
          }
        });
  }

  /** Bounds that have met or passed each other leave nothing, whatever the caller gave. */
  private boolean isEmptyRange() {
    if (from == null || to == null) {
      return false;
    }
    final int order = Arrays.compareUnsigned(from, to);
    return order > 0 || (order == 0 && !(fromInclusive && toInclusive));
  }
}
