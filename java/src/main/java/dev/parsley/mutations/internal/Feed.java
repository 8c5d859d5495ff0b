package dev.parsley.mutations.internal;

import dev.parsley.mutations.Subscription;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Tells listeners of things, each in its own order, and waits for none of them: a listener that is
 * too far behind loses the oldest. Any thread may use it.
 */
public final class Feed<T> {

  private final int replayedMax;
  private final int behindMax;
  private final Deque<T> replayed = new ArrayDeque<>();
  private final List<Listener> listeners = new CopyOnWriteArrayList<>();

  /**
   * A feed without listeners.
   *
   * @param replayedMax how many of the last items a new listener still gets
   * @param behindMax how many items a listener may be behind
   */
  public Feed(int replayedMax, int behindMax) {
    this.replayedMax = replayedMax;
    this.behindMax = behindMax;
  }

  /**
   * Adds a listener.
   *
   * @param later runs what it is given on the listeners' executor, not at once
   */
  public Subscription listen(Consumer<? super T> consumer, Consumer<Runnable> later) {
    final Listener listener = new Listener(consumer);
    synchronized (this) {
      replayed.forEach(listener::add);
      listeners.add(listener);
    }
    listener.schedule(later);
    return listener;
  }

  /** Tells all listeners, by {@code later}. */
  public void send(T item, Consumer<Runnable> later) {
    synchronized (this) {
      if (replayedMax > 0) {
        if (replayed.size() == replayedMax) {
          replayed.removeFirst();
        }
        replayed.addLast(item);
      }
      listeners.forEach(listener -> listener.add(item));
    }
    listeners.forEach(listener -> listener.schedule(later));
  }

  private final class Listener implements Subscription {

    private final Consumer<? super T> consumer;
    private final Deque<T> behind = new ArrayDeque<>();
    private boolean running;
    private long dropped;

    Listener(Consumer<? super T> consumer) {
      this.consumer = consumer;
    }

    private synchronized void add(T item) {
      if (behind.size() == behindMax) {
        behind.removeFirst();
        dropped++;
      }
      behind.addLast(item);
    }

    private void schedule(Consumer<Runnable> later) {
      synchronized (this) {
        if (running || behind.isEmpty()) {
          return;
        }
        running = true;
      }
      later.accept(this::tell);
    }

    private void tell() {
      for (T item = next(); item != null; item = next()) {
        try {
          consumer.accept(item);
        } catch (RuntimeException e) {
          // It has nobody else to be told to, and the next item is not at fault.
          final Thread thread = Thread.currentThread();
          thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
        }
      }
    }

    private synchronized T next() {
      final T item = behind.pollFirst();
      running = item != null;
      return item;
    }

    @Override
    public synchronized long dropped() {
      return dropped;
    }

    @Override
    public void close() {
      listeners.remove(this);
      synchronized (this) {
        behind.clear();
      }
    }
  }
}
