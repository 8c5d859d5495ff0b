package dev.parsley.streams.internal;

import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Supplies a causal node to each task, around a processor of the application's supplier. Used by
 * the thread that builds the topology and by all stream threads.
 */
public final class CausalSupplier<K, V, KOut, VOut>
    implements ProcessorSupplier<byte[], byte[], KOut, VOut> {

  private static final WeakReference<Object> NOTHING = new WeakReference<>(null);

  private final NodeSettings<K, V> settings;
  private final ProcessorSupplier<? super K, ? super V, KOut, VOut> application;
  private final Set<StoreBuilder<?>> stores;
  private final AtomicReference<WeakReference<Object>> suppliedLast =
      new AtomicReference<>(NOTHING);

  /**
   * @param applicationStores what the application's supplier connects; may be empty
   */
  public CausalSupplier(
      NodeSettings<K, V> settings,
      ProcessorSupplier<? super K, ? super V, KOut, VOut> application,
      Set<StoreBuilder<?>> applicationStores) {
    this.settings = settings;
    this.application = application;
    final Set<StoreBuilder<?>> all = new LinkedHashSet<>(applicationStores);
    all.add(new CausalStoreBuilder(settings.storeName(), settings.topicNames()));
    this.stores = Collections.unmodifiableSet(all);
  }

  @Override
  public Processor<byte[], byte[], KOut, VOut> get() {
    return new CausalNode<>(settings, newApplicationProcessor());
  }

  // A processor of (? super K, ? super V) takes what one of (K, V) does; no type says so.
  @SuppressWarnings("unchecked")
  private Processor<K, V, KOut, VOut> newApplicationProcessor() {
    final Processor<K, V, KOut, VOut> processor = (Processor<K, V, KOut, VOut>) application.get();
    // Kafka Streams makes this check on what we supply, which hides what is supplied to us.
    final Object last = suppliedLast.getAndSet(new WeakReference<>(processor)).get();
    if (processor == null || processor == last) {
      throw new IllegalArgumentException(
          "the processor supplier of the causal node '"
              + settings.name()
              + "' must return a new processor at each call of get(), and never null");
    }
    return processor;
  }

  /** The same builders at each call, as Kafka Streams asks for. */
  @Override
  public Set<StoreBuilder<?>> stores() {
    return stores;
  }
}
