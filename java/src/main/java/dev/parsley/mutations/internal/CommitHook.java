package dev.parsley.mutations.internal;

/** For tests: sees each transaction of the journal, and may kill the store there by an error. */
public interface CommitHook {

  /** Before a transaction is written; {@code sequence} is 0 for none. */
  void before(String transition, long sequence);

  /** After it was written. */
  void after(String transition, long sequence);
}
