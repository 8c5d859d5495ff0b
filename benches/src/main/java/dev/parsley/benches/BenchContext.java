package dev.parsley.benches;

import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.To;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.AbstractProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorMetadata;
import org.apache.kafka.streams.processor.internals.RecordCollector;
import org.apache.kafka.streams.processor.internals.StateManager;
import org.apache.kafka.streams.processor.internals.StreamTask;
import org.apache.kafka.streams.processor.internals.Task;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.internals.ThreadCache;

/**
 * A task's context without a task around it: what is forwarded and what goes to a changelog is
 * counted and dropped, so that a loop over it measures the node and little else.
 */
final class BenchContext extends AbstractProcessorContext<Object, Object> {

  private final Map<String, StateStore> stores = new HashMap<>();
  private final File stateDir;
  private StateRestoreCallback restoreCallback;
  private long forwarded;
  private long logged;
  private long loggedHolds;

  private BenchContext(StreamsConfig config, File stateDir) {
    super(
        new TaskId(0, 0),
        config,
        new StreamsMetricsImpl(new Metrics(), "benchmark", Time.SYSTEM),
        null);
    this.stateDir = stateDir;
  }

  static BenchContext in(File stateDir, Map<String, ?> settings) {
    final Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "benchmark");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "localhost:9");
    config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    config.putAll(settings);
    return new BenchContext(new StreamsConfig(config), stateDir);
  }

  void add(StateStore store) {
    stores.put(store.name(), store);
    store.init(this, store);
  }

  long forwarded() {
    return forwarded;
  }

  long logged() {
    return logged;
  }

  long loggedHolds() {
    return loggedHolds;
  }

  StateRestoreCallback restoreCallback() {
    return restoreCallback;
  }

  @Override
  public <K, V> void forward(Record<K, V> record) {
    forwarded++;
  }

  @Override
  public <K, V> void forward(Record<K, V> record, String child) {
    forwarded++;
  }

  @Override
  public void logChange(
      String store, Bytes key, byte[] value, long timestamp, Headers headers, Position position) {
    logged++;
    if (key.get()[0] == 'h') {
      loggedHolds++;
    }
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback) {
    restoreCallback = callback;
  }

  @Override
  @SuppressWarnings("unchecked") // As in Kafka Streams: the caller says which type the store has.
  public <S extends StateStore> S getStateStore(String name) {
    return (S) stores.get(name);
  }

  @Override
  public File stateDir() {
    return stateDir;
  }

  @Override
  public Cancellable schedule(Duration interval, PunctuationType type, Punctuator punctuator) {
    return () -> {};
  }

  @Override
  public Cancellable schedule(
      Instant startTime, Duration interval, PunctuationType type, Punctuator punctuator) {
    return () -> {};
  }

  @Override
  public void commit() {}

  @Override
  public long currentStreamTimeMs() {
    return 0;
  }

  @Override
  protected StateManager stateManager() {
    throw notHere();
  }

  @Override
  public void transitionToActive(StreamTask task, RecordCollector collector, ThreadCache cache) {
    throw notHere();
  }

  @Override
  public void transitionToStandby(ThreadCache cache) {
    throw notHere();
  }

  @Override
  public void registerCacheFlushListener(
      String namespace, ThreadCache.DirtyEntryFlushListener listener) {
    throw notHere();
  }

  @Override
  public Task.TaskType taskType() {
    return Task.TaskType.ACTIVE;
  }

  @Override
  public String changelogFor(String store) {
    return "benchmark-" + store + "-changelog";
  }

  @Override
  public void addProcessorMetadataKeyValue(String key, long value) {
    throw notHere();
  }

  @Override
  public Long processorMetadataForKey(String key) {
    throw notHere();
  }

  @Override
  public void setProcessorMetadata(ProcessorMetadata metadata) {
    throw notHere();
  }

  @Override
  public ProcessorMetadata processorMetadata() {
    throw notHere();
  }

  @Override
  public <K, V> void forward(K key, V value) {
    throw notHere();
  }

  @Override
  public <K, V> void forward(K key, V value, To to) {
    throw notHere();
  }

  @Override
  public <K, V> void forward(FixedKeyRecord<K, V> record) {
    throw notHere();
  }

  @Override
  public <K, V> void forward(FixedKeyRecord<K, V> record, String child) {
    throw notHere();
  }

  private static UnsupportedOperationException notHere() {
    return new UnsupportedOperationException("the benchmarks' context has no task");
  }
}
