package dev.parsley.mutations;

/**
 * One thing that happened, and is durable. Advisory: what is durable is told by the store's lists.
 *
 * @param at when, in milliseconds of the Unix epoch
 * @param sequence the mutation; 0 for the checkpoint
 * @param identity where it was enqueued, later where its generation is pushed, never rewritten by
 *     an alias; null for the checkpoint
 * @param what what happened
 */
public record Event(long at, long sequence, Identity identity, What what) {

  /**
   * A failure as it is told.
   *
   * @param kind what kind of thing failed
   * @param detail what exactly
   * @param message the text for people
   * @param occurredAt when, in milliseconds of the Unix epoch
   */
  public record Note(FailureKind kind, String detail, String message, long occurredAt) {}

  /** What happened. */
  public sealed interface What {}

  /** A mutation was accepted. */
  public record Enqueued(String mutator) implements What {}

  /** A generation is about to be pushed; {@code attempt} counts its pushes from 1. */
  public record Attempted(int generation, int attempt) implements What {}

  /** The server signalled a conflict; {@code server} is null when it told nothing of its value. */
  public record ConflictObserved(int generation, Meta server) implements What {}

  /** The server's answer is durable; {@code present} tells whether it has a value now. */
  public record Acknowledged(int generation, boolean present) implements What {}

  /** The answer is adopted. */
  public record Adopted(int generation, boolean present) implements What {}

  /** An effect is done. */
  public record EffectApplied(int generation, int effectIndex) implements What {}

  /** An effect will not be done. */
  public record EffectSkipped(int generation, int effectIndex) implements What {}

  /** Something failed and will be tried again. */
  public record Failed(int generation, PendingState state, Note failure) implements What {}

  /** The mutation became a dead letter. */
  public record Parked(int generation, Note failure) implements What {}

  /** The mutation is done; {@code retiredThrough} is the settled prefix. */
  public record Retired(int generation, long retiredThrough) implements What {}

  /** The server confirmed a later checkpoint. */
  public record CheckpointConfirmed(long requested, long confirmed) implements What {}

  /** The checkpoint was not confirmed or not stored. */
  public record CheckpointFailed(long requested, Note failure) implements What {}
}
