package dev.parsley.streams.internal;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.CacheFlushListener;
import org.apache.kafka.streams.state.internals.CachedStateStore;

/**
 * The ordering store of one task as Kafka Streams sees it. Reads and writes go through the
 * change-logging store that Kafka Streams builds around {@link NativeKeyValueStore}.
 *
 * <p>It is a {@code CachedStateStore}, though it caches nothing in Java, because {@link
 * #flushCache()} is the one call that comes before each commit and inside its transaction. The
 * engine keeps what changed on the native side and hands it out there, so a row is written to the
 * changelog once for each commit and not once for each record. No public interface has such a call.
 *
 * <p>Lives as long as the task. Opened by {@link #init}, perhaps several times and by different
 * threads one after the other; {@link CausalNode} attaches an {@link Execution} once the rows are
 * restored; without one, as in a standby task, {@link #flushCache()} does nothing.
 */
final class CausalStore implements KeyValueStore<Bytes, byte[]>, CachedStateStore<Bytes, byte[]> {

  private final NativeKeyValueStore innermost;
  private final KeyValueStore<Bytes, byte[]> logged;
  private KafkaInternals internals;
  private boolean transactional;
  private Execution execution;

  CausalStore(NativeKeyValueStore innermost, KeyValueStore<Bytes, byte[]> logged) {
    this.innermost = innermost;
    this.logged = logged;
  }

  @Override
  public void init(StateStoreContext context, StateStore root) {
    internals = KafkaInternals.of(context);
    transactional =
        Boolean.parseBoolean(
            String.valueOf(
                context.appConfigs().get(StreamsConfig.TRANSACTIONAL_STATE_STORES_CONFIG)));
    logged.init(context, root);
  }

  /** The number the native side knows this store by; an exception when it is closed. */
  long handle() {
    return innermost.handle();
  }

  /** From now on commits flush this execution. */
  void attach(Execution started) {
    execution = started;
  }

  @Override
  public void flushCache() {
    if (execution == null) {
      return;
    }
    execution.rethrow();
    if (!transactional) {
      // Without transactional stores nobody says that a transaction was committed. But a new flush
      // only comes after the last one's transaction was, so this is when its rows can be believed.
      // The one exception is a flush before a dirty close, and then the directory is wiped.
      NativeStore.settle(handle());
    }
    final RecordContext before = internals.recordContext();
    if (before == null) {
      // Change-logging takes the timestamp of the current record, and before the first one there
      // is none. The changelog is compacted and never expires, so the timestamp means nothing.
      internals.enter(0, null, -1, -1, new RecordHeaders());
    }
    try {
      innermost.whileStagedByEngine(this::logChangedRows);
    } finally {
      if (before == null) {
        internals.leave(null);
      }
    }
  }

  private void logChangedRows() {
    byte[] chunk = execution.flush();
    while (chunk != null) {
      PackedRows.forEach(chunk, (key, value) -> logged.put(Bytes.wrap(key), value));
      chunk = execution.flush();
    }
  }

  /** The task turns into a standby task: what its engine knows in memory is of no use there. */
  @Override
  public void clearCache() {
    if (execution != null) {
      execution = null;
      NativeEngine.close(handle());
    }
  }

  @Override
  public boolean setFlushListener(
      CacheFlushListener<Bytes, byte[]> listener, boolean sendOldValues) {
    return false; // Nobody is told of changes of the ordering state.
  }

  @Override
  public void close() {
    execution = null;
    if (isOpen()) {
      logged.close();
    }
  }

  @Override
  public String name() {
    return logged.name();
  }

  @Override
  public boolean persistent() {
    return logged.persistent();
  }

  @Override
  public boolean isOpen() {
    return logged.isOpen();
  }

  @Override
  @SuppressWarnings("deprecation") // See NativeKeyValueStore.
  public boolean managesOffsets() {
    return logged.managesOffsets();
  }

  @Override
  public void commit(Map<TopicPartition, Long> changelogOffsets) {
    logged.commit(changelogOffsets);
  }

  @Override
  public Long committedOffset(TopicPartition partition) {
    return logged.committedOffset(partition);
  }

  @Override
  public long approximateNumUncommittedBytes() {
    return logged.approximateNumUncommittedBytes();
  }

  @Override
  public Position getPosition() {
    return logged.getPosition();
  }

  @Override
  public <R> QueryResult<R> query(Query<R> query, PositionBound bound, QueryConfig config) {
    return logged.query(query, bound, config);
  }

  @Override
  public byte[] get(Bytes key) {
    return logged.get(key);
  }

  @Override
  public void put(Bytes key, byte[] value) {
    logged.put(key, value);
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    return logged.putIfAbsent(key, value);
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    logged.putAll(entries);
  }

  @Override
  public byte[] delete(Bytes key) {
    return logged.delete(key);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
    return logged.range(from, to);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
    return logged.reverseRange(from, to);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return logged.all();
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return logged.reverseAll();
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    return logged.prefixScan(prefix, prefixKeySerializer);
  }

  @Override
  public long approximateNumEntries() {
    return logged.approximateNumEntries();
  }
}
