package dev.parsley.streams.internal;

import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Record;

/**
 * A record as a causal node forwards it. A plain one copies its headers into ordinary ones, which
 * anyone could change; this one keeps the stamped ones through every {@code with} method.
 */
final class StampedRecord<K, V> extends Record<K, V> {

  private final StampedHeaders headers;

  StampedRecord(K key, V value, long timestamp, StampedHeaders headers) {
    super(key, value, timestamp);
    this.headers = headers;
  }

  @Override
  public Headers headers() {
    return headers;
  }

  @Override
  public <N> Record<N, V> withKey(N key) {
    return new StampedRecord<>(key, value(), timestamp(), copied());
  }

  @Override
  public <N> Record<K, N> withValue(N value) {
    return new StampedRecord<>(key(), value, timestamp(), copied());
  }

  @Override
  public Record<K, V> withTimestamp(long timestamp) {
    return new StampedRecord<>(key(), value(), timestamp, copied());
  }

  @Override
  public Record<K, V> withHeaders(Headers replacement) {
    return new StampedRecord<>(key(), value(), timestamp(), headers.replacedBy(replacement));
  }

  /** As with a plain record, each one has headers of its own. */
  private StampedHeaders copied() {
    return headers.replacedBy(headers);
  }

  @Override
  public boolean equals(Object other) {
    return super.equals(other) && headers.equals(((StampedRecord<?, ?>) other).headers);
  }

  @Override
  public int hashCode() {
    return 31 * super.hashCode() + headers.hashCode();
  }

  @Override
  public String toString() {
    return "Record{key="
        + key()
        + ", value="
        + value()
        + ", timestamp="
        + timestamp()
        + ", headers="
        + headers
        + "}";
  }
}
