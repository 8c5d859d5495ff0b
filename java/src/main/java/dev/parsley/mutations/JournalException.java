package dev.parsley.mutations;

/**
 * The journal could not be read or written, or is damaged; the message names the rule and the row.
 * Whether what was being written is durable is not known until the store is opened again.
 */
public final class JournalException extends MutationException {

  private static final long serialVersionUID = 1L;

  /** Made by the store, and by the native side. */
  public JournalException(String message) {
    super(message, null);
  }

  /** Made by the store where something else has failed before. */
  public JournalException(String message, Throwable cause) {
    super(message, cause);
  }
}
