package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * A declared topic as one task receives it: the partition of the task's own number.
 *
 * @param start the group's committed offset; 0 for none
 * @param exists false when the topic was deleted and is known from the store only
 */
record ReceivedTopic<K, V>(
    DeclaredTopic<K, V> declared, ChannelId channel, long start, boolean exists) {

  String name() {
    return declared.name();
  }

  K key(long offset, Headers headers, byte[] bytes) {
    return deserialized("key", declared.keySerde().deserializer(), offset, headers, bytes);
  }

  V value(long offset, Headers headers, byte[] bytes) {
    return deserialized("value", declared.valueSerde().deserializer(), offset, headers, bytes);
  }

  // Null goes to the deserializer too, as it does in a source of Kafka Streams.
  private <T> T deserialized(
      String part, Deserializer<? extends T> with, long offset, Headers headers, byte[] bytes) {
    try {
      return with.deserialize(name(), headers, bytes);
    } catch (RuntimeException e) {
      throw new RefusalException(
          RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE,
          "the " + part + " of a record could not be read by " + with.getClass().getName(),
          channel,
          name(),
          offset,
          null,
          e);
    }
  }
}
