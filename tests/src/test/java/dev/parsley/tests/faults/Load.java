package dev.parsley.tests.faults;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.tests.streams.Payload;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.apache.kafka.common.Uuid;

/**
 * A made-up history of one partition over several topics that never ends by itself, in the order in
 * which its records are sent. Each topic keeps its own order, while between topics effects overtake
 * their causes. A few records of a topic of their own wait for a cause far ahead, so that at any
 * moment something is held that was held for long. Where records will lie is known in advance, so
 * nothing else may be written to the topics.
 */
final class Load {

  /** So many events an effect can overtake, and so many records may wait for what is not sent. */
  static final int DISPLACEMENT = 40;

  private static final int CAUSE_DISTANCE_MAX = 40;
  private static final int CAUSES_MAX = 3;
  private static final int BURST_MAX = 8;

  /** For about so many steps a topic is behind the others as far as it is. */
  private static final int LAG_STEPS = 25;

  /**
   * What is to be sent next.
   *
   * @param offset where it will lie
   * @param causes null for a burst
   * @param payload null for a burst
   * @param late it waits for a cause far ahead
   * @param abortedCount of a burst: so many records of a transaction that is aborted. They and the
   *     marker behind them take positions that nobody will ever be fed
   */
  record Step(
      String topic,
      int partition,
      long offset,
      Causes causes,
      Payload payload,
      boolean late,
      int abortedCount) {

    boolean isBurst() {
      return abortedCount > 0;
    }
  }

  private record Placed(Step step, int index, int place) {}

  private final List<String> topics; // the last one is for late records
  private final Map<String, Uuid> topicIds;
  private final int partition;
  private final int lateMax;
  private final boolean bursts;
  private final Random random;
  private final Map<String, Long> ends = new HashMap<>();
  private final Map<String, Integer> lags = new HashMap<>(); // how late a topic's records are now
  private final Map<String, Integer> lastPlaces = new HashMap<>();
  private final Deque<Step> recent = new ArrayDeque<>();
  private final PriorityQueue<Placed> placed =
      new PriorityQueue<>(Comparator.comparingInt(Placed::place).thenComparingInt(Placed::index));
  private int index;
  private long awaited = -1; // the position of the first topic that late records wait for
  private long come = -1; // the position of the first topic's last record
  private boolean ending;

  /**
   * @param topics in the order they were named in; the last one is for records that are late
   * @param lateMax how many positions of the first topic a late record waits for at most
   * @param bursts whether positions are lost to aborted transactions
   */
  Load(
      List<String> topics,
      Map<String, Uuid> topicIds,
      int partition,
      int lateMax,
      boolean bursts,
      long seed) {
    this.topics = topics;
    this.topicIds = topicIds;
    this.partition = partition;
    this.lateMax = lateMax;
    this.bursts = bursts;
    this.random = new Random(seed);
  }

  /** Brings the history to an end as soon as every cause that a record waits for has come. */
  void end() {
    ending = true;
  }

  /** The next step; null at the end. */
  Step next() {
    while (placed.isEmpty() || placed.peek().place > index) {
      if (ending && come >= awaited) {
        final Placed last = placed.poll();
        return last == null ? null : last.step;
      }
      happen();
    }
    return placed.poll().step;
  }

  private void happen() {
    if (!ending && random.nextInt(40) == 0) {
      final String late = topics.get(topics.size() - 1);
      final String cause = topics.get(0);
      final long position =
          ends.getOrDefault(cause, 0L) + lateMax / 4 + random.nextInt(lateMax - lateMax / 4);
      awaited = Math.max(awaited, position);
      place(step(late, Causes.of(channel(cause), position), true));
    }
    final String topic = topics.get(random.nextInt(topics.size() - 1));
    if (bursts && random.nextInt(60) == 0) {
      final int count = 1 + random.nextInt(BURST_MAX);
      final long offset = ends.merge(topic, count + 1L, Long::sum) - count - 1;
      place(new Step(topic, partition, offset, null, null, false, count));
      return;
    }
    final Causes.Builder causes = Causes.builder();
    final List<Step> earlier = List.copyOf(recent);
    for (int cause = random.nextInt(CAUSES_MAX + 1); cause > 0 && !earlier.isEmpty(); cause--) {
      final Step chosen = earlier.get(random.nextInt(earlier.size()));
      causes.add(channel(chosen.topic), chosen.offset);
    }
    final Step step = step(topic, causes.build(), false);
    if (topic.equals(topics.get(0))) {
      come = step.offset;
    }
    recent.addLast(step);
    if (recent.size() > CAUSE_DISTANCE_MAX) {
      recent.removeFirst();
    }
    place(step);
  }

  private Step step(String topic, Causes causes, boolean late) {
    final long offset = ends.merge(topic, 1L, Long::sum) - 1;
    return new Step(topic, partition, offset, causes, payload(), late, 0);
  }

  private void place(Step step) {
    if (lags.isEmpty() || random.nextInt(LAG_STEPS) == 0) {
      topics.forEach(topic -> lags.put(topic, random.nextInt(DISPLACEMENT)));
    }
    // One behind the other within a topic, wherever chance would put it.
    final int place = index + (step.late ? 0 : lags.get(step.topic));
    placed.add(new Placed(step, index++, lastPlaces.merge(step.topic, place, Math::max)));
  }

  private ChannelId channel(String topic) {
    return new ChannelId(topicIds.get(topic), partition);
  }

  /** Every shape there is, the large one more rarely. */
  private Payload payload() {
    return Payload.awkward(index % 8 == 5 && index % 64 != 5 ? index + 1 : index);
  }
}
