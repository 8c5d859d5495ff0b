package dev.parsley.mutations;

/** A listener's place in a stream. Any thread may use it. */
public interface Subscription extends AutoCloseable {

  /** How many items this listener has lost because it was too slow. */
  long dropped();

  /** Ends it. An item that is being told now may still be. Can be repeated. */
  @Override
  void close();
}
