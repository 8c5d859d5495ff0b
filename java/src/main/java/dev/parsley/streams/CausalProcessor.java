package dev.parsley.streams;

import dev.parsley.streams.internal.CausalSupplier;
import dev.parsley.streams.internal.DeclaredTopic;
import dev.parsley.streams.internal.NodeSettings;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.errors.TopologyException;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Builds the causal node: the one node a user adds to a topology, around a processor of their own.
 *
 * <p>Its processor sees the records of all the node's topics, each only after the records it
 * depends on, as typed records with their own headers, timestamp and {@code recordMetadata()}. What
 * it forwards, from punctuators too, carries what it depends on.
 *
 * <pre>{@code
 * ProcessorSupplier<byte[], byte[], String, Shipment> shipments =
 *     CausalProcessor.named("shipments")
 *         .serdes(Serdes.String(), eventSerde)
 *         .topic("orders")
 *         .topic("payments")
 *         .processing(ShipmentProcessor::new);
 * }</pre>
 *
 * <p>Topics of different types need one type that covers them: {@code
 * named("n").typed(String.class, Event.class).topic("orders", Serdes.String(), orderSerde)}.
 *
 * <p>A builder is for one thread. The supplier it makes is used by all stream threads, and with it
 * the serdes, the directory and the application's supplier that it was given. Serdes are used as
 * given: already configured, and not closed.
 *
 * @param <K> the keys the application's processor gets
 * @param <V> the values it gets
 */
public final class CausalProcessor<K, V> {

  /** What a changelog topic's name may be made of. */
  private static final Pattern LEGAL_NAME = Pattern.compile("[a-zA-Z0-9._-]{1,150}");

  private final String name;
  private final Serde<? extends K> keySerde;
  private final Serde<? extends V> valueSerde;
  private final Map<String, DeclaredTopic<K, V>> topics = new LinkedHashMap<>();
  private final Set<String> storeNames = new LinkedHashSet<>();
  private OptionalLong budgetBytes = OptionalLong.empty();
  private TopicDirectory directory;

  private CausalProcessor(String name, Serde<? extends K> keySerde, Serde<? extends V> valueSerde) {
    this.name = name;
    this.keySerde = keySerde;
    this.valueSerde = valueSerde;
  }

  /**
   * Starts a node.
   *
   * @param name names the node's ordering store and with it the changelog topic, {@code
   *     <application.id>-__parsley.<name>-changelog}. Under another name a node starts without its
   *     state. The node may have another name in the topology
   * @throws IllegalArgumentException when no topic can have such a name
   */
  public static Named named(String name) {
    if (name == null || !LEGAL_NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "a causal node's name becomes part of a topic's name: 1 to 150 letters, digits, '.', '_'"
              + " and '-', not '"
              + name
              + "'");
    }
    return new Named(name);
  }

  /** The name of the ordering store of a causal node. Application stores may not begin with it. */
  public static String storeName(String nodeName) {
    return NodeSettings.STORE_PREFIX + nodeName;
  }

  /** A node that has a name, but no types yet. */
  public static final class Named {

    private final String name;

    private Named(String name) {
      this.name = name;
    }

    /** Sets the types and the serdes of every topic that is not given its own. */
    public <K, V> CausalProcessor<K, V> serdes(Serde<K> keySerde, Serde<V> valueSerde) {
      return new CausalProcessor<>(
          name, required(keySerde, "key serde"), required(valueSerde, "value serde"));
    }

    /** Sets the types only; each topic is given its own serdes. */
    public <K, V> CausalProcessor<K, V> typed(Class<K> keys, Class<V> values) {
      required(keys, "class of the keys");
      required(values, "class of the values");
      return new CausalProcessor<>(name, null, null);
    }

    /** Adds the first topic, whose serdes set the types. See {@link CausalProcessor#topic}. */
    public <K, V> CausalProcessor<K, V> topic(
        String topic, Serde<K> keySerde, Serde<V> valueSerde) {
      return new CausalProcessor<K, V>(name, null, null).topic(topic, keySerde, valueSerde);
    }
  }

  /**
   * Adds a topic the node receives, read with the node's own serdes.
   *
   * @throws IllegalArgumentException when the node has no serdes of its own
   * @throws TopologyException when the topic was added before
   */
  public CausalProcessor<K, V> topic(String topic) {
    if (keySerde == null) {
      throw new IllegalArgumentException(
          "the causal node '"
              + name
              + "' has no serdes of its own: use topic(\""
              + topic
              + "\", keySerde, valueSerde), or begin with named(...).serdes(keySerde, valueSerde)");
    }
    return topic(topic, keySerde, valueSerde);
  }

  /**
   * Adds a topic the node receives, read with serdes of its own. Every topic whose records reach
   * the node is to be added, and no other.
   *
   * @throws TopologyException when the topic was added before
   */
  public CausalProcessor<K, V> topic(
      String topic, Serde<? extends K> keys, Serde<? extends V> values) {
    if (topic == null || topic.isEmpty()) {
      throw new IllegalArgumentException("give the name of a topic");
    }
    final DeclaredTopic<K, V> declared =
        new DeclaredTopic<>(topic, required(keys, "key serde"), required(values, "value serde"));
    if (topics.putIfAbsent(topic, declared) != null) {
      throw new TopologyException(
          "the causal node '" + name + "' was given the topic '" + topic + "' twice");
    }
    return this;
  }

  /**
   * Sets the largest causes header this node takes in or sends, in bytes, in place of {@value
   * ParsleyConfig#BUDGET_BYTES}.
   */
  public CausalProcessor<K, V> budgetBytes(long bytes) {
    if (bytes < 1 || bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "a budget is 1 to " + Integer.MAX_VALUE + " bytes, not " + bytes);
    }
    budgetBytes = OptionalLong.of(bytes);
    return this;
  }

  /**
   * Sets where topic ids come from, in place of the brokers; for {@code TopologyTestDriver}, {@link
   * TopicDirectory#fixed}. The caller keeps it and closes it after the application.
   */
  public CausalProcessor<K, V> directory(TopicDirectory topicDirectory) {
    directory = required(topicDirectory, "topic directory");
    return this;
  }

  /**
   * Names stores that the processor may reach beyond those of its supplier's own {@code stores()}:
   * the ones connected to the node in the topology, and global ones.
   *
   * @throws TopologyException when one has the prefix of ordering stores
   */
  public CausalProcessor<K, V> stores(String... names) {
    for (String store : names) {
      addStore(required(store, "store name"));
    }
    return this;
  }

  /**
   * Finishes the node.
   *
   * @param supplier of the application's processor, which gets one at each {@code get()}; its
   *     {@code stores()} are connected to the node
   * @return what {@code process(...)} of the DSL and {@code addProcessor(...)} take
   * @throws IllegalArgumentException when there is no topic
   * @throws TopologyException when a store of the supplier has the prefix of ordering stores
   */
  public <KOut, VOut> ProcessorSupplier<byte[], byte[], KOut, VOut> processing(
      ProcessorSupplier<? super K, ? super V, KOut, VOut> supplier) {
    required(supplier, "processor supplier");
    if (topics.isEmpty()) {
      throw new IllegalArgumentException(
          "the causal node '" + name + "' receives nothing: name its topics with topic(...)");
    }
    final Set<StoreBuilder<?>> connected = supplier.stores() == null ? Set.of() : supplier.stores();
    connected.forEach(store -> addStore(store.name()));
    final List<DeclaredTopic<K, V>> declared = new ArrayList<>(topics.values());
    return new CausalSupplier<>(
        new NodeSettings<>(name, declared, budgetBytes, directory, storeNames),
        supplier,
        connected);
  }

  private void addStore(String store) {
    if (store.startsWith(NodeSettings.STORE_PREFIX)) {
      throw new TopologyException(
          "the store '"
              + store
              + "' of the causal node '"
              + name
              + "' needs another name: '"
              + NodeSettings.STORE_PREFIX
              + "' is kept for ordering stores");
    }
    storeNames.add(store);
  }

  private static <T> T required(T value, String what) {
    if (value == null) {
      throw new IllegalArgumentException("a causal node needs a " + what + ", not null");
    }
    return value;
  }
}
