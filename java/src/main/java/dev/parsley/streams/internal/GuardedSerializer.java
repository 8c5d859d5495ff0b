package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Runs a serializer of the application without our headers in its sight, and turns its failures
 * into refusals. As safe for several threads as the serializer is.
 */
public final class GuardedSerializer<T> implements Serializer<T> {

  private final Serializer<T> serializer;

  public GuardedSerializer(Serializer<T> serializer) {
    this.serializer = serializer;
  }

  @Override
  public void configure(Map<String, ?> configs, boolean isKey) {
    serializer.configure(configs, isKey);
  }

  @Override
  public byte[] serialize(String topic, T data) {
    try {
      return serializer.serialize(topic, data);
    } catch (RuntimeException e) {
      throw refusal(topic, e);
    }
  }

  @Override
  public byte[] serialize(String topic, Headers headers, T data) {
    try {
      return serializer.serialize(topic, new VisibleHeaders(headers), data);
    } catch (RuntimeException e) {
      throw refusal(topic, e);
    }
  }

  @Override
  public void close() {
    serializer.close();
  }

  private RefusalException refusal(String topic, RuntimeException failure) {
    return Refusals.in(failure)
        .orElseGet(
            () ->
                new RefusalException(
                    RefusalReason.APPLICATION_PAYLOAD_UNSERIALIZABLE,
                    "a record could not be written by " + serializer.getClass().getName(),
                    null,
                    topic,
                    null,
                    null,
                    failure));
  }
}
