package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;

/** The header names that are ours: the application neither sees nor writes them. */
final class ReservedHeaders {

  private static final String PREFIX = "parsley.";

  private ReservedHeaders() {}

  static boolean isReserved(String name) {
    return name.startsWith(PREFIX);
  }

  static RefusalException written(String name) {
    return new RefusalException(
        RefusalReason.RESERVED_HEADER_USED,
        "the application wrote the header '" + name + "' on a record it forwards");
  }

  static RefusalException removed(String name) {
    return new RefusalException(
        RefusalReason.RESERVED_HEADER_USED,
        "the application took the header '" + name + "' off a record that was forwarded");
  }
}
