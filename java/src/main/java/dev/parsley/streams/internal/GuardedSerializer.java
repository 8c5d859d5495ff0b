package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.Map;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Runs a serializer of the application without our headers in its sight, and turns its failures
 * into refusals; a record that has lost its stamp is one. As safe for several threads as the
 * serializer is.
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
    requireStamp(headers);
    try {
      return serializer.serialize(topic, new VisibleHeaders(headers), data);
    } catch (RuntimeException e) {
      throw refusal(topic, e);
    }
  }

  /**
   * What stands between the causal node and the sink may have made a record of its own, without the
   * stamp or with another. Sent like that, its effects could come before their causes.
   */
  private static void requireStamp(Headers headers) {
    int stamps = 0;
    for (Header header : headers) {
      if (header.key().equals(Causes.HEADER)) {
        stamps++;
      } else if (ReservedHeaders.isReserved(header.key())) {
        throw ReservedHeaders.written(header.key());
      }
    }
    if (stamps == 0) {
      throw ReservedHeaders.removed(Causes.HEADER);
    }
    if (stamps > 1) {
      throw ReservedHeaders.written(Causes.HEADER);
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
