package dev.parsley.streams.internal;

import org.apache.kafka.common.serialization.Serde;

/**
 * A topic that a causal node receives, as the builder was told. Shared by all tasks of the node.
 *
 * @param <K> what all the node's keys are
 * @param <V> what all the node's values are
 */
public record DeclaredTopic<K, V>(
    String name, Serde<? extends K> keySerde, Serde<? extends V> valueSerde) {}
