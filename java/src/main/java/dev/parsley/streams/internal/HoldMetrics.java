package dev.parsley.streams.internal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MeasurableStat;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.metrics.Sensor.RecordingLevel;
import org.apache.kafka.common.metrics.stats.Avg;
import org.apache.kafka.common.metrics.stats.CumulativeCount;
import org.apache.kafka.common.metrics.stats.Max;
import org.apache.kafka.common.metrics.stats.Rate;
import org.apache.kafka.common.metrics.stats.WindowedCount;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * What one node of one task tells about its holds, among the metrics of Kafka Streams. A record
 * that is delivered at once is not counted, so that it costs nothing.
 *
 * <p>When each record was held is not kept, since that would be memory for each of them. What is
 * kept for each topic is since when its first held record has been the first: a topic is delivered
 * in its own order, so that record is the one that everything behind it waits for.
 *
 * <p>Made at the end of an initialisation and told by the stream thread; read by any thread.
 */
final class HoldMetrics implements AutoCloseable {

  static final String GROUP = "stream-parsley-metrics";

  private final ProcessorContext<?, ?> context;
  private final String sensorPrefix;
  private final Map<String, String> tags = new LinkedHashMap<>();
  private final List<Sensor> sensors = new ArrayList<>();
  private final AtomicLongArray counts;
  private final AtomicLongArray headSinceMs;
  private final Sensor held;
  private final Sensor released;
  private final Sensor duplicates;

  private HoldMetrics(ProcessorContext<?, ?> context, String node, long[] heldCounts) {
    this.context = context;
    final String thread = Thread.currentThread().getName();
    sensorPrefix = thread + ".parsley." + context.taskId() + "." + node + ".";
    tags.put("thread-id", thread);
    tags.put("task-id", context.taskId().toString());
    tags.put("parsley-id", node); // As Kafka Streams names the tags of its kinds of stores.
    counts = new AtomicLongArray(heldCounts);
    headSinceMs = new AtomicLongArray(heldCounts.length);
    held = counting("held", "records that were held back");
    released = counting("released", "held records that were delivered");
    duplicates = counting("duplicate", "records that had been taken in before and were dropped");
    final String headWait = " time in ms for which a released record had been its topic's first";
    released.add(name("head-wait-ms-avg", "The average" + headWait, tags), new Avg());
    released.add(name("head-wait-ms-max", "The longest" + headWait, tags), new Max());
  }

  /**
   * @param heldCounts for each received topic, how many records are held from before
   */
  static HoldMetrics of(
      ProcessorContext<?, ?> context,
      String node,
      List<? extends ReceivedTopic<?, ?>> received,
      long[] heldCounts) {
    final HoldMetrics metrics = new HoldMetrics(context, node, heldCounts);
    for (int channel = 0; channel < received.size(); channel++) {
      metrics.restartHead(channel);
      metrics.gaugesOf(channel, received.get(channel).name());
    }
    return metrics;
  }

  /** A record of this channel is held from now on. */
  void held(int channel) {
    if (counts.get(channel) == 0) {
      restartHead(channel); // Before the count, so that no reader sees an age that was before.
    }
    counts.incrementAndGet(channel);
    held.record();
  }

  /** The first held record of this channel is delivered. */
  void released(int channel) {
    released.record(context.currentSystemTimeMs() - headSinceMs.get(channel));
    restartHead(channel);
    counts.decrementAndGet(channel);
  }

  /** A record was dropped because it had been taken in before. */
  void duplicate() {
    duplicates.record();
  }

  @Override
  public void close() {
    sensors.forEach(context.metrics()::removeSensor);
    sensors.clear();
  }

  private void restartHead(int channel) {
    headSinceMs.set(channel, context.currentSystemTimeMs());
  }

  private Sensor counting(String what, String description) {
    final Sensor sensor = sensor(what);
    sensor.add(
        name(what + "-rate", "The number of " + description + ", per second", tags),
        new Rate(TimeUnit.SECONDS, new WindowedCount()));
    sensor.add(
        name(what + "-total", "The total number of " + description, tags), new CumulativeCount());
    return sensor;
  }

  private void gaugesOf(int channel, String topic) {
    final Map<String, String> topicTags = new LinkedHashMap<>(tags);
    topicTags.put("topic", topic);
    final Sensor sensor = sensor("held-now." + topic);
    sensor.add(
        name("held-count", "The number of records of the topic that are held", topicTags),
        new Gauge(nowMs -> counts.get(channel)));
    sensor.add(
        name(
            "head-age-ms",
            "The time in ms for which the topic's first held record has been its first; 0 without",
            topicTags),
        new Gauge(
            nowMs -> counts.get(channel) == 0 ? 0 : Math.max(0, nowMs - headSinceMs.get(channel))));
  }

  /**
   * A sensor of this name without the metrics of an earlier one: where another node of the task
   * failed to initialise, Kafka Streams does not close those that had.
   */
  private Sensor sensor(String what) {
    final StreamsMetrics metrics = context.metrics();
    final String name = sensorPrefix + what;
    metrics.removeSensor(metrics.addSensor(name, RecordingLevel.INFO));
    final Sensor sensor = metrics.addSensor(name, RecordingLevel.INFO);
    sensors.add(sensor);
    return sensor;
  }

  private static MetricName name(String name, String description, Map<String, String> tags) {
    return new MetricName(name, GROUP, description, tags);
  }

  /** What can be read at any time and is not recorded. It hangs on a sensor to go with it. */
  private record Gauge(LongUnaryOperator valueAtMs) implements MeasurableStat {
    @Override
    public double measure(MetricConfig config, long nowMs) {
      return valueAtMs.applyAsLong(nowMs);
    }

    @Override
    public void record(MetricConfig config, double value, long timeMs) {
      // Nothing is recorded on its sensor.
    }
  }
}
