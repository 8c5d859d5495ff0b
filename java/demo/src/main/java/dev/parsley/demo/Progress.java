package dev.parsley.demo;

import java.time.Duration;

/** Says what is going on: one line that changes on a terminal, a line now and then elsewhere. */
final class Progress {

  private static final long LIVE_PERIOD_NANOS = Duration.ofMillis(200).toNanos();
  private static final long PLAIN_PERIOD_NANOS = Duration.ofSeconds(5).toNanos();
  private static final int WIDTH = 78;

  private final boolean live;
  private final long startedNanos = System.nanoTime();
  private long saidNanos = Long.MIN_VALUE;

  Progress(boolean live) {
    this.live = live;
  }

  /** Shows a state, unless the last one was shown a moment ago. */
  void show(String state) {
    final long now = System.nanoTime();
    final long period = live ? LIVE_PERIOD_NANOS : PLAIN_PERIOD_NANOS;
    if (saidNanos != Long.MIN_VALUE && now - saidNanos < period) {
      return;
    }
    saidNanos = now;
    final String line = String.format("%4d s  %s", (now - startedNanos) / 1_000_000_000, state);
    if (live) {
      System.out.print("\r" + pad(line));
      System.out.flush();
    } else {
      System.out.println(line);
    }
  }

  /** Says something that stays. */
  void say(String text) {
    if (live) {
      System.out.print("\r" + pad("") + "\r");
    }
    System.out.println(text);
    saidNanos = Long.MIN_VALUE;
  }

  private static String pad(String line) {
    return String.format("%-" + WIDTH + "s", line.substring(0, Math.min(WIDTH, line.length())));
  }
}
