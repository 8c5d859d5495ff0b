package dev.parsley.mutations;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A store under a name, for one registration of that name. Its passes come one after the other. */
final class Registration {

  private final Coordinator coordinator;
  private final String name;
  private final Drainable store;
  private final Constraints constraints;
  private final DrainPolicy policy;

  private Pass current;
  private Pass queued;

  /** What the last pass left, and for how many passes it has been that. */
  private Long fingerprint;

  private int unchanged;

  Registration(
      Coordinator coordinator,
      String name,
      Drainable store,
      Constraints constraints,
      DrainPolicy policy) {
    this.coordinator = coordinator;
    this.name = name;
    this.store = store;
    this.constraints = constraints;
    this.policy = policy;
  }

  String name() {
    return name;
  }

  Drainable store() {
    return store;
  }

  Constraints constraints() {
    return constraints;
  }

  DrainPolicy policy() {
    return policy;
  }

  synchronized boolean isBusy() {
    return current != null;
  }

  /** A pass that begins from now on: a new one, or the one that waits for the running one. */
  CompletableFuture<PassOutcome> pass(boolean isGuarded) {
    final Pass pass;
    synchronized (this) {
      if (queued != null) {
        if (isGuarded) {
          queued.guard();
        }
        return queued;
      }
      pass = new Pass(coordinator, this, isGuarded);
      if (current != null) {
        queued = pass;
        return pass;
      }
      current = pass;
    }
    pass.begin();
    return pass;
  }

  /** The current pass is over. */
  void ended() {
    final Pass next;
    synchronized (this) {
      next = queued;
      queued = null;
      current = next;
    }
    if (next != null) {
      next.begin();
    }
  }

  /**
   * Takes note of what a pass has left, null for nothing at all.
   *
   * @return the number of passes in a row that have changed nothing
   */
  synchronized int seen(List<PendingRow> rows) {
    // Of a million rows their fingerprint is kept, not they. That two of them collide makes the
    // next
    // pass a little later.
    final Long now = rows == null ? null : fingerprint(rows);
    unchanged = now != null && now.equals(fingerprint) ? unchanged + 1 : 0;
    fingerprint = now;
    return unchanged;
  }

  private static long fingerprint(List<PendingRow> rows) {
    long hash = rows.size();
    for (PendingRow row : rows) {
      hash = hash * 0x9E3779B97F4A7C15L + row.hashCode();
    }
    return hash;
  }
}
