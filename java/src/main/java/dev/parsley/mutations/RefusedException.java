package dev.parsley.mutations;

/** A mutate, retry or discard is not possible, and nothing has changed. */
public final class RefusedException extends MutationException {

  private static final long serialVersionUID = 1L;

  /** What can be done about it. */
  public enum Kind {
    /**
     * The resolver knows no key for where the mutation leads, or failed; the cause is its error.
     */
    UNRESOLVED,
    /** The resolver cannot tell now: try again. */
    UNAVAILABLE,
    /** The arguments cannot be encoded, or do not read back; the cause is the codec's error. */
    ARGUMENTS,
    /** The row is not one that this can be done to. */
    WRONG_ROW
  }

  /** Why. */
  private final Kind kind;

  RefusedException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  /** What kind of reason. */
  public Kind kind() {
    return kind;
  }
}
