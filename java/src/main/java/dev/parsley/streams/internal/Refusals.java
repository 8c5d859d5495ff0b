package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import java.util.Optional;

/** Finds our exception in what Kafka Streams made of it. */
public final class Refusals {

  /** Longer chains are taken for circular ones. */
  private static final int CHAIN_MAX = 100;

  private Refusals() {}

  /** The first refusal in a chain of causes. */
  public static Optional<RefusalException> in(Throwable failure) {
    Throwable link = failure;
    for (int depth = 0; link != null && depth < CHAIN_MAX; depth++) {
      if (link instanceof RefusalException refusal) {
        return Optional.of(refusal);
      }
      link = link.getCause();
    }
    return Optional.empty();
  }
}
