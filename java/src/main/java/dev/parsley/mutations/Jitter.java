package dev.parsley.mutations;

/** Draws how long a head that failed waits. Called on the store's executor. */
@FunctionalInterface
public interface Jitter {

  /** A number of milliseconds from 0 to {@code windowMs}, both included. */
  long draw(long windowMs);
}
