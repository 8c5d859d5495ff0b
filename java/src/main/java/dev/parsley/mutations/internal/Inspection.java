package dev.parsley.mutations.internal;

import dev.parsley.mutations.DeadLetter;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Lane;
import dev.parsley.mutations.PendingRow;
import java.util.List;

/** The journal of a driver as values. Each answer is one look at committed rows. */
public record Inspection(JournalDriver driver) {

  /** The pending mutations of an identity and of all that leads to the same end. */
  public List<PendingRow> pending(Identity identity) {
    return Messages.pending(NativeJournal.pending(driver.journal(), Messages.identity(identity)));
  }

  /** All pending mutations. */
  public List<PendingRow> pendingWrites() {
    return Messages.pending(NativeJournal.pendingWrites(driver.journal()));
  }

  /** The mutations that were given up. */
  public List<DeadLetter> deadLetters() {
    return Messages.deadLetters(NativeJournal.deadLetters(driver.journal()));
  }

  /** The lanes that have work. */
  public List<Lane> lanes() {
    return Messages.lanes(NativeJournal.lanes(driver.journal()));
  }
}
