package dev.parsley.benches;

import java.io.File;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.internals.CachedStateStore;

/** A processor with its stores in a {@link BenchContext}, fed and committed as a task would. */
final class NodeRun implements AutoCloseable {

  private final BenchContext context;
  private final Processor<byte[], byte[], byte[], byte[]> processor;
  private final StateStore store;
  private long changelogOffset;

  private NodeRun(
      BenchContext context, Processor<byte[], byte[], byte[], byte[]> processor, StateStore store) {
    this.context = context;
    this.processor = processor;
    this.store = store;
  }

  /** A causal node; its ordering store is open, {@link #start()} begins its execution. */
  static NodeRun causal(
      ProcessorSupplier<byte[], byte[], byte[], byte[]> node,
      File stateDir,
      Map<String, ?> settings) {
    final BenchContext context = BenchContext.in(stateDir, settings);
    final StoreBuilder<?> builder = node.stores().iterator().next();
    final StateStore store = builder.build();
    context.add(store);
    return new NodeRun(context, node.get(), store);
  }

  /** A processor without a store. */
  static NodeRun plain(Processor<byte[], byte[], byte[], byte[]> processor, File stateDir) {
    return new NodeRun(BenchContext.in(stateDir, Map.of()), processor, null);
  }

  @SuppressWarnings("unchecked") // The context takes whatever is forwarded and drops it.
  void start() {
    processor.init((ProcessorContext<byte[], byte[]>) (ProcessorContext<?, ?>) context);
  }

  void feed(String topic, long offset, byte[] key, byte[] value, Headers headers) {
    context.setRecordContext(new ProcessorRecordContext(0, offset, 0, topic, headers));
    processor.process(new Record<>(key, value, 0, headers));
  }

  void commit() {
    if (store != null) {
      ((CachedStateStore<?, ?>) store).flushCache();
      changelogOffset = context.logged();
      store.commit(Map.of(changelog(), changelogOffset));
    }
  }

  TopicPartition changelog() {
    return new TopicPartition(context.changelogFor(store.name()), 0);
  }

  BenchContext context() {
    return context;
  }

  StateStore store() {
    return store;
  }

  @Override
  public void close() {
    processor.close();
    if (store != null) {
      store.close();
    }
  }
}
