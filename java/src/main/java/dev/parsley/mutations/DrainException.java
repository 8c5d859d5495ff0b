package dev.parsley.mutations;

/**
 * A drain stopped with an error of the application's or of the storage. The cause is the very
 * exception that a callback threw, if one did; others of the same step are suppressed exceptions.
 */
public final class DrainException extends MutationException {

  private static final long serialVersionUID = 1L;

  /** What kind of thing failed. */
  private final FailureKind kind;

  /** What the drain did. */
  private final transient Report report;

  DrainException(FailureKind kind, String message, Throwable cause, Report report) {
    super(message, cause);
    this.kind = kind;
    this.report = report;
  }

  /**
   * ADOPTION, EFFECT or IDENTITY: durable, and tried again by the next drain. PERSISTENCE: a local
   * port or the storage failed.
   */
  public FailureKind kind() {
    return kind;
  }

  /** What the drain did; null in an exception that was serialized. */
  public Report report() {
    return report;
  }
}
