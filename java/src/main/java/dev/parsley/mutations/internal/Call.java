package dev.parsley.mutations.internal;

/**
 * A call of the engine that waits for its answer.
 *
 * @param task the operation that it belongs to
 * @param id what to answer with
 * @param kind one of the constants
 * @param fields those of the kind, to be read once
 */
record Call(long task, long id, int kind, Wire.Reader fields) {

  static final int COMMIT = 1;
  static final int SYNC = 2;
  static final int DRAW = 3;
  static final int RESOLVE = 4;
  static final int STATUS = 5;
  static final int READ = 6;
  static final int PROJECT = 7;
  static final int PRECONDITION = 8;
  static final int STALES = 9;
  static final int DECODE = 10;
  static final int PUSH = 11;
  static final int FRESH_READ = 12;
  static final int MERGE = 13;
  static final int APPLY = 14;
  static final int CONFIRM_FRESH = 15;
  static final int CLEAR = 16;
  static final int MARK_STALE = 17;
  static final int INVALIDATE = 18;
  static final int RETIRE = 19;
}
