package dev.parsley.mutations.internal;

import dev.parsley.mutations.Blocked;
import dev.parsley.mutations.DeadLetter;
import dev.parsley.mutations.Event;
import dev.parsley.mutations.Failure;
import dev.parsley.mutations.FailureKind;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Lane;
import dev.parsley.mutations.PendingRow;
import dev.parsley.mutations.PendingState;
import dev.parsley.mutations.Report;
import java.util.List;

/**
 * The messages, built of the parts of {@link Wire}. Their fields are listed in {@code
 * native/jni/src/journal_answers.rs} (what Java sends), {@code journal_calls.rs} and {@code
 * journal_lists.rs} (what it gets).
 */
final class Messages {

  private Messages() {}

  static byte[] identity(Identity key) {
    return new Wire.Writer().identity(key).message();
  }

  static Event event(Wire.Reader in) {
    final long at = in.number();
    final long sequence = in.number();
    return new Event(at, sequence, in.identityOrNone(), what(in));
  }

  private static Event.What what(Wire.Reader in) {
    final int kind = in.kind();
    switch (kind) {
      case 1:
        return new Event.Enqueued(in.text());
      case 2:
        return new Event.Attempted(in.integer(), in.integer());
      case 3:
        return new Event.ConflictObserved(in.integer(), in.meta());
      case 4:
        return new Event.Acknowledged(in.integer(), in.flag());
      case 5:
        return new Event.Adopted(in.integer(), in.flag());
      case 6:
        return new Event.EffectApplied(in.integer(), in.integer());
      case 7:
        return new Event.EffectSkipped(in.integer(), in.integer());
      case 8:
        return new Event.Failed(in.integer(), in.name(PendingState.class), note(in));
      case 9:
        return new Event.Parked(in.integer(), note(in));
      case 10:
        return new Event.Retired(in.integer(), in.number());
      case 11:
        return new Event.CheckpointConfirmed(in.number(), in.number());
      case 12:
        return new Event.CheckpointFailed(in.number(), note(in));
      default:
        throw unknown("event", kind);
    }
  }

  private static Event.Note note(Wire.Reader in) {
    return new Event.Note(in.name(FailureKind.class), in.text(), in.text(), in.number());
  }

  static Outcome outcome(Wire.Reader in) {
    final int kind = in.kind();
    switch (kind) {
      case 1:
      case 2:
        return new Outcome.Done(in.number(), null);
      case 3:
        return new Outcome.Done(in.number(), in.identityOrNone());
      case 4:
        return new Outcome.Refused(Outcome.Refusal.values()[in.kind() - 1], in.text(), in.number());
      case 5:
        return new Outcome.Drained(report(in), in.flag() ? drainError(in) : null);
      default:
        throw unknown("outcome", kind);
    }
  }

  private static Outcome.DrainError drainError(Wire.Reader in) {
    final int kind = in.kind();
    final FailureKind failure = kind == 1 ? in.name(FailureKind.class) : FailureKind.PERSISTENCE;
    return new Outcome.DrainError(
        failure, kind == 3, kind == 4, in.text(), in.number(), in.list(Messages::otherError));
  }

  private static Outcome.Other otherError(Wire.Reader in) {
    return new Outcome.Other(in.text(), in.number());
  }

  private static Report report(Wire.Reader in) {
    return new Report(
        in.list(Messages::visit), new Report.Checkpoint(in.number(), in.number(), in.flag()));
  }

  private static Report.Visit visit(Wire.Reader in) {
    return new Report.Visit(
        in.identity(),
        in.integer(),
        in.integer(),
        in.integer(),
        in.list(Wire.Reader::number),
        in.flag() ? blocked(in) : null);
  }

  private static Blocked blocked(Wire.Reader in) {
    final int kind = in.kind();
    switch (kind) {
      case 1:
        return new Blocked.Owner(in.number());
      case 2:
        return new Blocked.Busy();
      case 3:
        return new Blocked.Backoff(in.number(), in.number());
      case 4:
        return new Blocked.Declined(in.number());
      case 5:
        return new Blocked.Unavailable(in.identity());
      case 6:
        return new Blocked.Unresolved(in.identity(), in.text());
      case 7:
        return new Blocked.Failed(in.number(), in.name(FailureKind.class), in.text());
      case 8:
        return new Blocked.Conflict(in.number());
      default:
        throw unknown("reason", kind);
    }
  }

  static List<PendingRow> pending(byte[] message) {
    return new Wire.Reader(message)
        .list(
            in ->
                new PendingRow(
                    in.identity(),
                    in.number(),
                    in.text(),
                    in.name(PendingState.class),
                    in.integer(),
                    in.number(),
                    in.textOrNone()));
  }

  static List<DeadLetter> deadLetters(byte[] message) {
    return new Wire.Reader(message)
        .list(
            in ->
                new DeadLetter(
                    in.identity(),
                    in.number(),
                    in.text(),
                    in.integer(),
                    in.integer(),
                    failure(in),
                    in.number(),
                    in.flag()));
  }

  static Failure failure(Wire.Reader in) {
    return new Failure(
        in.integer(),
        in.name(FailureKind.class),
        in.text(),
        in.text(),
        in.number(),
        in.number(),
        in.integer());
  }

  static List<Lane> lanes(byte[] message) {
    return new Wire.Reader(message)
        .list(
            in -> new Lane(in.text(), in.flag() ? laneOwner(in) : null, in.number(), in.number()));
  }

  private static Lane.Owner laneOwner(Wire.Reader in) {
    return new Lane.Owner(
        in.number(), in.name(PendingState.class), in.integer(), in.numberOrNone());
  }

  static IllegalStateException unknown(String what, int kind) {
    return new IllegalStateException("the native library sent an unknown " + what + ": " + kind);
  }
}
