package dev.parsley.mutations.internal;

import dev.parsley.mutations.Event;
import dev.parsley.mutations.JournalException;
import dev.parsley.mutations.MutationException;
import dev.parsley.mutations.Poison;
import dev.parsley.mutations.StoreClosedException;
import dev.parsley.streams.internal.NativeLibrary;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.kafka.streams.errors.ProcessorStateException;

/**
 * Does what the native engine asks for.
 *
 * <p>A call of the engine waits until somebody claims it: the executor, or the thread that runs its
 * operation. Who has answered a call has the engine go on, and hands out what comes of it. No
 * thread of the executor ever waits for another operation, so an executor of one thread is enough.
 * Nothing of the application's is called under the lock, and nothing on a native thread.
 */
public final class JournalDriver {

  private static final int EVENTS_BEHIND_MAX = 64;
  private static final int POISON_REPLAYED_MAX = 16;

  private final long journal;
  private final Ports<?, ?> ports;
  private final Executor executor;
  private final Clock clock;
  private final CommitHook hook;
  private final Feed<Event> events = new Feed<>(0, EVENTS_BEHIND_MAX);
  private final Feed<Poison> poison = new Feed<>(POISON_REPLAYED_MAX, EVENTS_BEHIND_MAX);

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Map<Long, Operation> operations = new HashMap<>();

  /** Calls that nobody has claimed yet, oldest first. */
  private final Map<Long, Call> waiting = new LinkedHashMap<>();

  /** Calls that are being done. */
  private final Map<Long, Running> running = new HashMap<>();

  private boolean closing;

  /**
   * How an operation ended.
   *
   * @param outcome null when {@code failure} says why there is none
   * @param errors the errors of callbacks, by the number of their call
   * @param failure the journal broke, or the executor refused; null for neither
   */
  public record Ended(Outcome outcome, Map<Long, Throwable> errors, RuntimeException failure) {

    /** The error by which a callback ended the operation. */
    public Error fatal() {
      return errors.values().stream()
          .filter(Error.class::isInstance)
          .map(Error.class::cast)
          .findFirst()
          .orElseGet(() -> new FatalWithoutError(outcome));
    }
  }

  /** Never seen: a fatal end always comes from an error that was thrown. */
  private static final class FatalWithoutError extends Error {

    private static final long serialVersionUID = 1L;

    FatalWithoutError(Outcome outcome) {
      super("an operation ended fatally without an error: " + outcome);
    }
  }

  private static final class Operation {
    final long task;

    /** Null for an operation that the thread which started it runs. */
    final Consumer<Ended> listener;

    final Map<Long, Throwable> errors = new HashMap<>();
    RuntimeException failure;
    Ended ended;

    Operation(long task, Consumer<Ended> listener) {
      this.task = task;
      this.listener = listener;
    }
  }

  private static final class Running {
    final Thread thread = Thread.currentThread();
    boolean interrupted;
  }

  /** What is to be done once the lock is free. */
  private static final class Handout {
    final List<Call> calls = new ArrayList<>();

    /** What is told to listeners. */
    final List<Runnable> notices = new ArrayList<>();

    /** What is told to those who wait for an operation. */
    final List<Runnable> ends = new ArrayList<>();
  }

  private JournalDriver(
      long journal, Ports<?, ?> ports, Executor executor, Clock clock, CommitHook hook) {
    this.journal = journal;
    this.ports = ports;
    this.executor = executor;
    this.clock = clock;
    this.hook = hook;
  }

  /**
   * Opens a journal.
   *
   * @param directory null for memory
   * @param hook null for none
   */
  public static JournalDriver open(
      String directory,
      JournalConfig config,
      Ports<?, ?> ports,
      Executor executor,
      Clock clock,
      CommitHook hook) {
    try {
      NativeLibrary.load();
    } catch (ProcessorStateException e) {
      throw new JournalException(e.getMessage(), e);
    }
    final long journal = NativeJournal.open(directory, config.message(hook != null));
    return new JournalDriver(journal, ports, executor, clock, hook);
  }

  public Feed<Event> events() {
    return events;
  }

  public Feed<Poison> poison() {
    return poison;
  }

  /** Starts an operation whose calls are done on the executor; the end is told there too. */
  public long start(byte[] message, Consumer<Ended> listener) {
    return started(message, listener).task;
  }

  private Operation started(byte[] message, Consumer<Ended> listener) {
    final long now = clock.millis();
    final Handout handout = new Handout();
    final Operation operation;
    lock.lock();
    try {
      if (closing) {
        throw new StoreClosedException("the mutation store is closed: open it again");
      }
      operation = new Operation(NativeJournal.start(journal, message), listener);
      operations.put(operation.task, operation);
      pump(now, handout);
    } finally {
      lock.unlock();
    }
    settle(handout, null);
    return operation;
  }

  /**
   * Runs an operation on this thread. An interrupt cancels it, and stays set for the caller to see.
   */
  public Ended run(byte[] message) {
    final Operation operation = started(message, null);
    boolean interrupted = false;
    try {
      while (true) {
        final Call call;
        lock.lock();
        try {
          if (operation.ended != null) {
            return operation.ended;
          }
          call = claimFor(operation.task);
          if (call == null) {
            if (interrupted) {
              changed.awaitUninterruptibly();
            } else {
              changed.await();
            }
            continue;
          }
        } catch (InterruptedException e) {
          interrupted = true;
          cancel(operation.task);
          continue;
        } finally {
          lock.unlock();
        }
        step(call, false);
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Gives an operation up: interrupts its callbacks, and has it end without them. */
  public void cancel(long task) {
    final long now = clock.millis();
    final Handout handout = new Handout();
    lock.lock();
    try {
      if (operations.containsKey(task)) {
        give(() -> NativeJournal.cancel(journal, task), handout);
        pump(now, handout);
      }
    } finally {
      lock.unlock();
    }
    settle(handout, null);
  }

  /** The number of the journal, for reads of its rows. */
  long journal() {
    lock.lock();
    try {
      if (closing) {
        throw new StoreClosedException("the mutation store is closed: open it again");
      }
      return journal;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Cancels what runs, waits for its callbacks to return, and frees the journal. Can be repeated.
   *
   * @throws IllegalStateException from a callback, which would wait for itself
   */
  public void close() {
    final long now = clock.millis();
    final Handout handout = new Handout();
    lock.lock();
    try {
      final Thread self = Thread.currentThread();
      if (running.values().stream().anyMatch(call -> call.thread == self)) {
        throw new IllegalStateException("a callback can't close its own store: it would wait");
      }
      closing = true;
      for (Long task : List.copyOf(operations.keySet())) {
        give(() -> NativeJournal.cancel(journal, task), handout);
      }
      if (!operations.isEmpty()) {
        pump(now, handout);
      }
    } finally {
      lock.unlock();
    }
    settle(handout, null);
    awaitEnd();
    NativeJournal.close(journal);
  }

  private void awaitEnd() {
    while (true) {
      final Call call;
      lock.lock();
      try {
        if (operations.isEmpty() && running.isEmpty()) {
          return;
        }
        // An executor that was shut down may have dropped what it was given.
        call = waiting.isEmpty() ? null : claim(waiting.keySet().iterator().next());
        if (call == null) {
          changed.awaitUninterruptibly();
          continue;
        }
      } finally {
        lock.unlock();
      }
      step(call, false);
    }
  }

  private Call claim(long id) {
    final Call call = waiting.remove(id);
    if (call != null) {
      running.put(id, new Running());
    }
    return call;
  }

  private Call claimFor(long task) {
    for (Call call : waiting.values()) {
      if (call.task() == task) {
        return claim(call.id());
      }
    }
    return null;
  }

  /** Does a call on the executor, and what comes of it. */
  private void work(long id) {
    Call call;
    lock.lock();
    try {
      call = claim(id);
    } finally {
      lock.unlock();
    }
    while (call != null) {
      call = step(call, true);
    }
  }

  /**
   * Does a claimed call and has the engine go on.
   *
   * @return the next call for this thread, claimed; null for none
   */
  private Call step(Call call, boolean onExecutor) {
    final Answer answer = perform(call);
    final long now = clock.millis();
    final Handout handout = new Handout();
    Call next = null;
    lock.lock();
    try {
      if (running.remove(call.id()).interrupted) {
        Thread.interrupted(); // It was meant for the call, which is over.
      } else if (answer.error() instanceof InterruptedException) {
        Thread.currentThread()
            .interrupt(); // It was meant for the thread, whose owner looks for it.
      }
      final Operation operation = operations.get(call.task());
      if (operation != null && answer.error() != null) {
        operation.errors.put(call.id(), answer.error());
      }
      give(() -> NativeJournal.answer(journal, call.id(), answer.message()), handout);
      pump(now, handout);
      if (onExecutor && !handout.calls.isEmpty() && !Thread.currentThread().isInterrupted()) {
        next = claim(handout.calls.get(0).id());
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    settle(handout, next);
    return next;
  }

  private Answer perform(Call call) {
    switch (call.kind()) {
      case Call.SYNC:
        return attempt(() -> NativeJournal.sync(journal));
      case Call.COMMIT:
        final String transition = call.fields().text();
        final long sequence = call.fields().number();
        return attempt(
            () -> {
              hook.before(transition, sequence);
              NativeJournal.commit(journal, call.id());
              hook.after(transition, sequence);
            });
      default:
        return ports.perform(call);
    }
  }

  private static Answer attempt(Runnable write) {
    try {
      write.run();
      return Answer.done();
    } catch (RuntimeException e) {
      return Answer.threw(e);
    } catch (Error e) {
      return Answer.fatal(e);
    }
  }

  /** Tells the engine something. Under the lock. */
  private void give(Runnable message, Handout handout) {
    try {
      message.run();
    } catch (MutationException e) {
      breakDown(e, handout);
    }
  }

  /** Has the engine go on, and notes what it hands out. Under the lock. */
  private void pump(long now, Handout handout) {
    try {
      final byte[] actions = NativeJournal.next(journal, now);
      if (actions != null) {
        final Wire.Reader in = new Wire.Reader(actions);
        while (in.hasMore()) {
          take(in, handout);
        }
      }
    } catch (MutationException e) {
      breakDown(e, handout);
    }
  }

  private void take(Wire.Reader in, Handout handout) {
    final int kind = in.kind();
    switch (kind) {
      case 1:
        final Call call = new Call(in.number(), in.number(), in.kind(), in.framed());
        waiting.put(call.id(), call);
        if (operations.get(call.task()).listener != null) {
          handout.calls.add(call);
        }
        changed.signalAll();
        break;
      case 2:
        abandon(in.number());
        break;
      case 3:
        events.send(Messages.event(in), handout.notices::add);
        break;
      case 4:
        poison(in.number(), in.number(), handout);
        break;
      case 5:
        end(operations.remove(in.number()), Messages.outcome(in), handout);
        break;
      default:
        throw Messages.unknown("action", kind);
    }
  }

  private void abandon(long id) {
    waiting.remove(id);
    final Running call = running.get(id);
    if (call != null) {
      call.interrupted = true;
      call.thread.interrupt();
    }
  }

  private void poison(long sequence, long call, Handout handout) {
    for (Operation operation : operations.values()) {
      final Throwable error = operation.errors.get(call);
      if (error != null) {
        poison.send(new Poison(sequence, error), handout.notices::add);
      }
    }
  }

  private void end(Operation operation, Outcome outcome, Handout handout) {
    operation.ended = new Ended(outcome, operation.errors, operation.failure);
    if (operation.listener != null) {
      handout.ends.add(() -> operation.listener.accept(operation.ended));
    }
    changed.signalAll();
  }

  /** The native side has given the journal up. What is durable is durable; all else ends here. */
  private void breakDown(MutationException error, Handout handout) {
    closing = true;
    waiting.clear();
    handout.calls.clear();
    for (Operation operation : List.copyOf(operations.values())) {
      operation.failure = error;
      operations.remove(operation.task);
      end(operation, null, handout);
    }
  }

  /** Does what was handed out, with the lock free. {@code claimed} is done by the caller. */
  private void settle(Handout handout, Call claimed) {
    for (Call call : handout.calls) {
      if (call != claimed) {
        try {
          executor.execute(() -> work(call.id()));
        } catch (RejectedExecutionException e) {
          refuse(call, e);
        }
      }
    }
    handout.notices.forEach(this::later);
    for (Runnable end : handout.ends) {
      try {
        executor.execute(end);
      } catch (RejectedExecutionException e) {
        end.run(); // Nobody may wait for ever.
      }
    }
  }

  /** Runs something advisory on the executor, or not at all if that takes nothing more. */
  public void later(Runnable notice) {
    try {
      executor.execute(notice);
    } catch (RejectedExecutionException e) {
      return; // Whoever shut the executor down no longer listens.
    }
  }

  /** The executor will not do a call, so its operation ends. */
  private void refuse(Call call, RejectedExecutionException error) {
    final long now = clock.millis();
    final Handout handout = new Handout();
    lock.lock();
    try {
      final Operation operation = operations.get(call.task());
      if (waiting.remove(call.id()) == null || operation == null) {
        return;
      }
      operation.failure = error;
      give(() -> NativeJournal.cancel(journal, call.task()), handout);
      give(
          () -> NativeJournal.answer(journal, call.id(), Answer.cancelled(error).message()),
          handout);
      pump(now, handout);
    } finally {
      lock.unlock();
    }
    settle(handout, null);
  }
}
