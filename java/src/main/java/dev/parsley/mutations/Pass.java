package dev.parsley.mutations;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * One pass over a registered store: an alarm in case the process dies, a drain, a look at what is
 * left, and the alarm that it calls for. Cancelling it cancels the drain and leaves the first
 * alarm.
 */
final class Pass extends CompletableFuture<PassOutcome> {

  /** What a checkpoint that failed waits at least, when nothing else is left. */
  private static final Duration CHECKPOINT_DELAY_MIN = Duration.ofSeconds(30);

  private final Coordinator coordinator;
  private final Registration of;
  private volatile boolean isGuarded;
  private volatile CompletableFuture<Report> drain;

  Pass(Coordinator coordinator, Registration of, boolean isGuarded) {
    this.coordinator = coordinator;
    this.of = of;
    this.isGuarded = isGuarded;
  }

  /** Sets an alarm before it drains. */
  void guard() {
    isGuarded = true;
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    final boolean cancelled = super.cancel(mayInterruptIfRunning);
    final CompletableFuture<Report> running = drain;
    if (running != null) {
      running.cancel(true);
    }
    return cancelled;
  }

  void begin() {
    if (isDone()) {
      of.ended();
      return;
    }
    if (isGuarded) {
      coordinator.schedule(of, of.policy().maxDelay());
    }
    final CompletableFuture<Report> started;
    try {
      started = of.store().drainAll();
    } catch (RuntimeException e) {
      drained(null, e);
      return;
    }
    drain = started;
    if (isCancelled()) {
      started.cancel(true);
    }
    started.whenComplete(this::drained);
  }

  private void drained(Report report, Throwable thrown) {
    final Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
    if (error instanceof CancellationException) {
      completeExceptionally(error);
    } else {
      if (error != null) {
        coordinator.tell(new PassEvent.PassFailed(of.name(), error));
      }
      final PassOutcome outcome = inspect(report != null && report.checkpoint().failed());
      coordinator.tell(new PassEvent.PassEnded(of.name(), outcome));
      complete(outcome);
    }
    of.ended();
  }

  private PassOutcome inspect(boolean checkpointFailed) {
    final List<PendingRow> rows;
    try {
      rows = of.store().pendingWrites();
    } catch (RuntimeException e) {
      return new PassOutcome.Unavailable(of.name(), e.toString());
    }
    if (rows.isEmpty() && !checkpointFailed) {
      of.seen(null);
      coordinator.cancel(of);
      return new PassOutcome.Cleared();
    }
    final Duration escalation = of.policy().delay(of.seen(rows));
    final Duration wanted = rows.isEmpty() ? CHECKPOINT_DELAY_MIN : shortest(rows);
    final Duration delay = wanted.compareTo(escalation) < 0 ? escalation : wanted;
    return new PassOutcome.Remaining(rows.size(), coordinator.schedule(of, delay) ? delay : null);
  }

  /** The shortest wait of the heads, which are the first row of each identity. */
  private Duration shortest(List<PendingRow> rows) {
    Duration shortest = of.policy().maxDelay();
    final Set<Identity> seen = new HashSet<>();
    for (PendingRow row : rows) {
      if (seen.add(row.identity())) {
        final Duration delay = delay(row);
        shortest = delay.compareTo(shortest) < 0 ? delay : shortest;
      }
    }
    return shortest;
  }

  private Duration delay(PendingRow row) {
    switch (row.state()) {
      case PENDING:
      case REFRESHING:
        return of.policy().delay(row.attempt());
      default:
        return Duration.ZERO;
    }
  }
}
