package dev.parsley.mutations;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads of a store that was given no executor. */
final class CallbackThreads {

  private static final long IDLE_SECONDS_MAX = 10;

  private CallbackThreads() {}

  static ExecutorService start(String clientId) {
    final AtomicInteger count = new AtomicInteger();
    return new ThreadPoolExecutor(
        0,
        Integer.MAX_VALUE,
        IDLE_SECONDS_MAX,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        task -> {
          final Thread thread =
              new Thread(task, "parsley-mutations-" + clientId + "-" + count.incrementAndGet());
          // A process that is done need not wait for what a journal has kept.
          thread.setDaemon(true);
          return thread;
        });
  }
}
