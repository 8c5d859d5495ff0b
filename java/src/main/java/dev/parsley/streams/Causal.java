package dev.parsley.streams;

import dev.parsley.streams.internal.GuardedSerializer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/**
 * What stands before and behind a causal node in a topology: sources that hand it bytes, and sinks
 * whose serializers are guarded.
 *
 * <pre>{@code
 * builder.stream(List.of("orders", "payments"), Causal.consumed())
 *     .process(node)
 *     .to("shipments", Causal.produced(Serdes.String(), shipmentSerde));
 * }</pre>
 *
 * <p>All of it is called by the thread that builds the topology.
 */
public final class Causal {

  private Causal() {}

  /**
   * How a source of a causal node is read in the DSL: as bytes, since the node deserializes a
   * record only when its turn has come, and without an offset reset, since a reset passes over
   * records.
   */
  public static Consumed<byte[], byte[]> consumed() {
    return Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())
        .withOffsetResetPolicy(AutoOffsetReset.none());
  }

  /** Adds a source of a causal node to a topology of the Processor API. */
  public static Topology addSource(Topology topology, String name, String... topics) {
    return topology.addSource(
        AutoOffsetReset.none(),
        name,
        new ByteArrayDeserializer(),
        new ByteArrayDeserializer(),
        topics);
  }

  /** How a topic behind a causal node is written in the DSL; see {@link #serializer}. */
  public static <K, V> Produced<K, V> produced(Serde<K> keySerde, Serde<V> valueSerde) {
    return Produced.with(guarded(keySerde), guarded(valueSerde));
  }

  /**
   * A serializer for a sink behind a causal node. The one within sees the record's headers without
   * those of Parsley. What it throws becomes the refusal APPLICATION_PAYLOAD_UNSERIALIZABLE, and a
   * header it adds under a name of ours RESERVED_HEADER_USED.
   *
   * @param serializer called by the stream threads
   */
  public static <T> Serializer<T> serializer(Serializer<T> serializer) {
    if (serializer == null) {
      throw new IllegalArgumentException("give the serializer that is to be guarded");
    }
    return new GuardedSerializer<>(serializer);
  }

  private static <T> Serde<T> guarded(Serde<T> serde) {
    if (serde == null) {
      throw new IllegalArgumentException(
          "give both serdes: a default one cannot be guarded before it is known");
    }
    return Serdes.serdeFrom(serializer(serde.serializer()), serde.deserializer());
  }
}
