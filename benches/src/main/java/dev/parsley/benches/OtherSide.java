package dev.parsley.benches;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** The server that entries are drained to: takes its time, counts, and looks at the order. */
final class OtherSide {

  private final long answerNanos;
  private final AtomicInteger taken = new AtomicInteger();
  private final AtomicInteger overtaken = new AtomicInteger();
  private final Map<String, Integer> last = new ConcurrentHashMap<>();

  OtherSide(long answerNanos) {
    this.answerNanos = answerNanos;
  }

  /** Takes one entry; {@code number} grows within a key. */
  void take(String namespace, String key, int number) {
    final long begin = System.nanoTime();
    for (long left = answerNanos; left > 0; left = begin + answerNanos - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
    final Integer before = last.put(namespace + '/' + key, number);
    if (before != null && before > number) {
      overtaken.incrementAndGet();
    }
    taken.incrementAndGet();
  }

  int taken() {
    return taken.get();
  }

  /** Entries that came after a later one of their key. */
  int overtaken() {
    return overtaken.get();
  }
}
