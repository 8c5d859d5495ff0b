package dev.parsley.benches;

/** Something that keeps entries and drains them to {@link OtherSide}. For one thread. */
interface Drained extends AutoCloseable {

  /** Keeps an entry; as durable as this side is when it returns. */
  void accept(String namespace, String key, String value);

  /** Drains all that was accepted, and returns when it has left this side for good. */
  void drain() throws InterruptedException;

  @Override
  void close();
}
