package dev.parsley.mutations;

/** The store is closed: open it again. */
public final class StoreClosedException extends MutationException {

  private static final long serialVersionUID = 1L;

  /** Made by the store, and by the native side for a handle that stands for nothing. */
  public StoreClosedException(String message) {
    super(message, null);
  }
}
