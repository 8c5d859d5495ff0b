package dev.parsley.mutations;

/** What a {@link Coordinator} tells of. */
public sealed interface PassEvent {

  /** A pass ended. */
  record PassEnded(String name, PassOutcome outcome) implements PassEvent {}

  /** A drain threw; {@code error} is what it threw. */
  record PassFailed(String name, Throwable error) implements PassEvent {}

  /** The alarm threw when it was set. */
  record ScheduleFailed(String name, Throwable error) implements PassEvent {}
}
