package dev.parsley.streams.internal;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * A view of a record's headers in which ours do not show. What is added or removed through it, is
 * on the record; a name of ours is refused.
 */
final class VisibleHeaders implements Headers {

  private final Headers headers;

  VisibleHeaders(Headers headers) {
    this.headers = headers;
  }

  @Override
  public Headers add(Header header) {
    requireNotReserved(header.key());
    headers.add(header);
    return this;
  }

  @Override
  public Headers add(String key, byte[] value) {
    requireNotReserved(key);
    headers.add(key, value);
    return this;
  }

  @Override
  public Headers remove(String key) {
    if (!ReservedHeaders.isReserved(key)) { // One that does not show cannot be removed either.
      headers.remove(key);
    }
    return this;
  }

  @Override
  public Header lastHeader(String key) {
    return ReservedHeaders.isReserved(key) ? null : headers.lastHeader(key);
  }

  @Override
  public Iterable<Header> headers(String key) {
    return ReservedHeaders.isReserved(key) ? List.of() : headers.headers(key);
  }

  @Override
  public Header[] toArray() {
    final List<Header> visible = new ArrayList<>();
    forEach(visible::add);
    return visible.toArray(new Header[0]);
  }

  @Override
  public Iterator<Header> iterator() {
    final Iterator<Header> all = headers.iterator();
    return new Iterator<>() {
      private Header ahead;

      @Override
      public boolean hasNext() {
        while (ahead == null && all.hasNext()) {
          final Header header = all.next();
          if (!ReservedHeaders.isReserved(header.key())) {
            ahead = header;
          }
        }
        return ahead != null;
      }

      @Override
      public Header next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        final Header header = ahead;
        ahead = null;
        return header;
      }

      @Override
      public void remove() {
        if (ahead != null) {
          throw new IllegalStateException("remove() comes right after next()");
        }
        all.remove();
      }
    };
  }

  @Override
  public String toString() {
    return List.of(toArray()).toString();
  }

  private static void requireNotReserved(String name) {
    if (ReservedHeaders.isReserved(name)) {
      throw ReservedHeaders.written(name);
    }
  }
}
