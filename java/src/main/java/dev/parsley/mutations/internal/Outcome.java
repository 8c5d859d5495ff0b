package dev.parsley.mutations.internal;

import dev.parsley.mutations.FailureKind;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Report;
import java.util.List;

/** How an operation ended, as the engine tells it. Calls are numbers, 0 for none. */
public sealed interface Outcome {

  /** A mutate, retry or discard is done. {@code refresh} is null for none. */
  record Done(long sequence, Identity refresh) implements Outcome {}

  /** A mutate, retry or discard is not possible. {@code call} is the one that failed. */
  record Refused(Refusal kind, String message, long call) implements Outcome {}

  /** A drain ended. {@code error} is null when it went through. */
  record Drained(Report report, DrainError error) implements Outcome {}

  /** Why a drain throws. {@code call} is the one that failed. */
  record DrainError(
      FailureKind kind,
      boolean cancelled,
      boolean fatal,
      String message,
      long call,
      List<Other> others) {}

  /** Another failure of the same step. */
  record Other(String message, long call) {}

  /** Why something is not possible, in the order of the wire. */
  enum Refusal {
    UNRESOLVED,
    UNAVAILABLE,
    CANCELLED,
    FATAL,
    WRONG_ROW,
    STORAGE
  }
}
