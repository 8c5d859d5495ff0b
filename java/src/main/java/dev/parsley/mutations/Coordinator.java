package dev.parsley.mutations;

import dev.parsley.mutations.internal.Feed;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Drains stores again when that is due: after a failed push without new input, after a restart in
 * the middle of a backoff, after a mutation was accepted. It keeps nothing durable, the journals
 * are the truth. Passes over one store come one after the other.
 *
 * <p>Any thread may use it. Never wait for a pass in a callback of a store: it would wait for
 * itself.
 */
public final class Coordinator implements AutoCloseable {

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");
  private static final int EVENTS_BEHIND_MAX = 64;

  private final DrainScheduler alarm;
  private final Executor listeners;
  private final Feed<PassEvent> events = new Feed<>(0, EVENTS_BEHIND_MAX);
  private final Map<String, Registration> registrations = new HashMap<>();
  private final Map<Registration, Subscription> watched = new HashMap<>();

  /**
   * A coordinator without stores.
   *
   * @param alarm of no other coordinator
   * @param listeners where those of {@link #events} run
   */
  public Coordinator(DrainScheduler alarm, Executor listeners) {
    this.alarm = alarm;
    this.listeners = listeners;
    alarm.attach(this::fired);
  }

  /** Registers a store with the default constraints and policy. */
  public void register(String name, MutationStore<?, ?> store) {
    register(name, store, Constraints.DEFAULT, DrainPolicy.DEFAULT);
  }

  /**
   * Registers a store. Nothing is drained yet: see {@link #watch} and {@link #reconcile}.
   *
   * @param name the same after a restart: 1 to 64 letters, digits, dots, underscores and dashes
   * @throws IllegalArgumentException when the name is none or taken, the store is registered
   *     already, or the alarm can't observe the constraints
   */
  public void register(
      String name, MutationStore<?, ?> store, Constraints constraints, DrainPolicy policy) {
    add(name, store, constraints, policy);
  }

  synchronized void add(String name, Drainable store, Constraints constraints, DrainPolicy policy) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("'" + name + "' does not match " + NAME.pattern());
    }
    for (Registration other : registrations.values()) {
      if (other.name().equals(name) || other.store() == store) {
        throw new IllegalArgumentException(
            "name " + name + " or its store is registered already, as " + other.name());
      }
    }
    alarm.validate(constraints);
    registrations.put(name, new Registration(this, name, store, constraints, policy));
  }

  /** Forgets a store and its alarm. A pass that runs goes on and sets no further one. */
  public synchronized void unregister(String name) {
    final Registration gone = registrations.remove(name);
    if (gone == null) {
      return;
    }
    final Subscription watching = watched.remove(gone);
    if (watching != null) {
      watching.close();
    }
    alarm.cancel(name);
  }

  /**
   * Makes a pass now, or after the one that runs. Cancelling the future cancels its drain.
   *
   * @throws IllegalArgumentException when no store has the name
   */
  public CompletableFuture<PassOutcome> pass(String name) {
    return registered(name).pass(true);
  }

  /** Makes one pass over each store that has none at the moment. */
  public CompletableFuture<List<PassOutcome>> reconcile() {
    final List<Registration> all;
    synchronized (this) {
      all = List.copyOf(registrations.values());
    }
    final List<CompletableFuture<PassOutcome>> passes =
        all.stream().filter(it -> !it.isBusy()).map(it -> it.pass(true)).toList();
    return CompletableFuture.allOf(passes.toArray(new CompletableFuture<?>[0]))
        .thenApply(done -> passes.stream().map(CompletableFuture::join).toList());
  }

  /**
   * Makes a pass now, and one after mutations are accepted from now on: several that come while one
   * runs make one more. With {@code drainOnEnqueue} off the alarm is set without delay instead.
   *
   * @return the first pass
   */
  public CompletableFuture<PassOutcome> watch(String name) {
    final Registration registration;
    synchronized (this) {
      registration = registered(name);
      if (!watched.containsKey(registration)) {
        watched.put(registration, registration.store().events(it -> happened(registration, it)));
      }
    }
    return registration.pass(true);
  }

  private void happened(Registration registration, Event event) {
    if (!(event.what() instanceof Event.Enqueued)) {
      return;
    }
    if (registration.policy().drainOnEnqueue()) {
      registration.pass(false);
    } else {
      schedule(registration, Duration.ZERO);
    }
  }

  /** Listens from now on. A listener that is more than 64 events behind loses the oldest. */
  public Subscription events(Consumer<? super PassEvent> listener) {
    return events.listen(listener, this::later);
  }

  /** Forgets all stores and alarms. */
  @Override
  public synchronized void close() {
    List.copyOf(registrations.keySet()).forEach(this::unregister);
  }

  private synchronized Registration registered(String name) {
    final Registration registration = registrations.get(name);
    if (registration == null) {
      throw new IllegalArgumentException("no store is registered as " + name);
    }
    return registration;
  }

  private void fired(String name) {
    final Registration registration;
    synchronized (this) {
      registration = registrations.get(name);
    }
    if (registration != null) {
      registration.pass(true);
    }
  }

  /** Sets the alarm of a store that is still registered; false if that failed. */
  boolean schedule(Registration of, Duration delay) {
    try {
      synchronized (this) {
        if (registrations.get(of.name()) != of) {
          return false;
        }
        alarm.schedule(of.name(), of.constraints(), delay);
      }
      return true;
    } catch (RuntimeException e) {
      tell(new PassEvent.ScheduleFailed(of.name(), e));
      return false;
    }
  }

  /** Takes the alarm of a store back that is still registered. */
  synchronized void cancel(Registration of) {
    if (registrations.get(of.name()) == of) {
      alarm.cancel(of.name());
    }
  }

  void tell(PassEvent event) {
    events.send(event, this::later);
  }

  private void later(Runnable notice) {
    try {
      listeners.execute(notice);
    } catch (RejectedExecutionException e) {
      // Advisory, and whoever shut the executor down no longer listens.
      return;
    }
  }
}
