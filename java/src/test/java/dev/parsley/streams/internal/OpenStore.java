package dev.parsley.streams.internal;

import java.io.File;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.CommitCallback;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** The little of a task that {@link NativeKeyValueStore} needs to be opened. */
final class OpenStore implements StateStoreContext {

  private final Path directory;
  private RecordMetadata metadata;
  private StateRestoreCallback restoring;

  private OpenStore(Path directory) {
    this.directory = directory;
  }

  static NativeKeyValueStore in(Path directory) {
    final NativeKeyValueStore store = new NativeKeyValueStore("rows");
    new OpenStore(directory).open(store);
    return store;
  }

  static OpenStore context(Path directory) {
    return new OpenStore(directory);
  }

  OpenStore open(NativeKeyValueStore store) {
    store.init(this, store);
    return this;
  }

  /** What the store registered to be restored by. */
  StateRestoreCallback restoring() {
    return restoring;
  }

  void at(RecordMetadata current) {
    metadata = current;
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback) {
    restoring = callback;
  }

  @Override
  public void register(
      StateStore store, StateRestoreCallback callback, CommitCallback commitCallback) {
    restoring = callback;
  }

  @Override
  public File stateDir() {
    return directory.toFile();
  }

  @Override
  public Optional<RecordMetadata> recordMetadata() {
    return Optional.ofNullable(metadata);
  }

  @Override
  public Map<String, Object> appConfigs() {
    return new HashMap<>();
  }

  @Override
  public Map<String, Object> appConfigsWithPrefix(String prefix) {
    return new HashMap<>();
  }

  @Override
  public String applicationId() {
    return "app";
  }

  @Override
  public TaskId taskId() {
    return new TaskId(0, 0);
  }

  @Override
  public Serde<?> keySerde() {
    throw new UnsupportedOperationException();
  }

  @Override
  public Serde<?> valueSerde() {
    throw new UnsupportedOperationException();
  }

  @Override
  public StreamsMetrics metrics() {
    throw new UnsupportedOperationException();
  }
}
