package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The headers of the record at hand, told apart in one pass: all of them, the causes among them,
 * and those the application may see. Reused for each record, so one instance is for one thread.
 */
final class ReceivedHeaders {

  private static final int REPEATED = 2;

  private Header[] all;
  private byte[] causes;
  private int causesCount;
  private int reservedCount;

  void read(Headers headers) {
    read(headers.toArray());
  }

  void read(Header[] headers) {
    all = headers;
    causes = null;
    causesCount = 0;
    reservedCount = 0;
    for (Header header : headers) {
      final String name = header.key();
      if (ReservedHeaders.isReserved(name)) {
        reservedCount++;
        if (name.equals(Causes.HEADER)) {
          causes = header.value();
          causesCount++;
        }
      }
    }
  }

  /** All headers, as they were received. */
  Header[] all() {
    return all;
  }

  /** The value of the causes header; null when there is none or it has none. */
  byte[] causes() {
    return causes;
  }

  /** How many causes headers there are, as {@link NativeEngine#receive} takes it. */
  int causesCount() {
    return Math.min(causesCount, REPEATED);
  }

  boolean hasReserved() {
    return reservedCount > 0;
  }

  /** A copy of those that are not reserved, in order. */
  RecordHeaders visible() {
    if (all.length == reservedCount) {
      return new RecordHeaders(); // The common case: causes and nothing else.
    }
    final Header[] visible = new Header[all.length - reservedCount];
    int count = 0;
    for (Header header : all) {
      if (!ReservedHeaders.isReserved(header.key())) {
        visible[count++] = header;
      }
    }
    return new RecordHeaders(visible);
  }
}
