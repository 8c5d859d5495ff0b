package dev.parsley.streams.internal;

import dev.parsley.streams.Causes;
import org.apache.kafka.common.header.Header;
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
  private boolean hasOthers;

  void read(Header[] headers) {
    all = headers;
    causes = null;
    causesCount = 0;
    hasOthers = false;
    for (Header header : headers) {
      final String name = header.key();
      if (!ReservedHeaders.isReserved(name)) {
        hasOthers = true;
      } else if (name.equals(Causes.HEADER)) {
        causes = header.value();
        causesCount++;
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

  /** A copy of those that are not reserved, in order. */
  RecordHeaders visible() {
    final RecordHeaders visible = new RecordHeaders();
    if (hasOthers) { // Most records have none but the causes.
      for (Header header : all) {
        if (!ReservedHeaders.isReserved(header.key())) {
          visible.add(header);
        }
      }
    }
    return visible;
  }
}
