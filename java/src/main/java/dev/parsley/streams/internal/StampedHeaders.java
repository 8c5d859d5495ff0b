package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import java.util.Iterator;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The headers of a forwarded record: those of the application, and the stamp as the last one.
 *
 * <p>Whoever gets them later (children, serializers of a sink) may add headers, but none of ours,
 * and may not take the stamp off. The stamp is an ordinary element of the list and not hidden:
 * Kafka Streams and applications copy headers in several ways, and each of them must bring it
 * along.
 */
final class StampedHeaders extends RecordHeaders {

  private final Execution execution;
  private final Header stamp;

  /**
   * @param headers of the application, copied; a reserved one is refused
   */
  StampedHeaders(Headers headers, Header stamp, Execution execution) {
    this.execution = execution;
    this.stamp = stamp;
    for (Header header : headers.toArray()) {
      add(header);
    }
    super.add(stamp);
  }

  /**
   * The same stamp on other headers, which may have it already because they were copied from here.
   */
  StampedHeaders replacedBy(Headers headers) {
    final RecordHeaders others = new RecordHeaders();
    if (headers != null) {
      for (Header header : headers) {
        if (!header.equals(stamp)) {
          requireNotReserved(header.key());
          others.add(header);
        }
      }
    }
    return new StampedHeaders(others, stamp, execution);
  }

  @Override
  public Headers add(Header header) {
    requireNotReserved(header.key());
    return super.add(header);
  }

  @Override
  public Headers add(String key, byte[] value) {
    requireNotReserved(key);
    return super.add(key, value);
  }

  @Override
  public Headers remove(String key) {
    if (ReservedHeaders.isReserved(key)) {
      throw execution.refuse(ReservedHeaders.removed(key));
    }
    return super.remove(key);
  }

  @Override
  public Iterator<Header> iterator() {
    final Iterator<Header> headers = super.iterator();
    return new Iterator<>() {
      private Header last;

      @Override
      public boolean hasNext() {
        return headers.hasNext();
      }

      @Override
      public Header next() {
        last = headers.next();
        return last;
      }

      @Override
      public void remove() {
        if (last == stamp) {
          throw execution.refuse(ReservedHeaders.removed(Causes.HEADER));
        }
        headers.remove();
      }
    };
  }

  private void requireNotReserved(String name) {
    if (ReservedHeaders.isReserved(name)) {
      throw execution.refuse(ReservedHeaders.written(name));
    }
  }
}
