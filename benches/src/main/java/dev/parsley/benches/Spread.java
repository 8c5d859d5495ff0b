package dev.parsley.benches;

import java.util.Locale;
import java.util.stream.DoubleStream;

/** The middle half of repeated measurements: what is left when a busy machine spoils some. */
record Spread(double low, double median, double high) {

  /** Lower quartile, median and upper quartile; there must be at least one figure. */
  static Spread of(DoubleStream figures) {
    final double[] sorted = figures.sorted().toArray();
    final int last = sorted.length - 1;
    return new Spread(sorted[last / 4], sorted[last / 2], sorted[last - last / 4]);
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%.3f (quartiles %.3f and %.3f)", median, low, high);
  }
}
