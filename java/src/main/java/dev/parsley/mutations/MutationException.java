package dev.parsley.mutations;

/** Why a call of a {@link MutationStore} has no answer. */
public abstract sealed class MutationException extends RuntimeException
    permits DrainException, JournalException, RefusedException, StoreClosedException {

  private static final long serialVersionUID = 1L;

  MutationException(String message, Throwable cause) {
    super(message, cause);
  }
}
