package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.tests.streams.WireCauses.Channel;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * Judges what a causal node sent from the committed records alone: those it was fed, and the copies
 * that {@link CopyingNode} made of them, in the order they lie in the output.
 *
 * <p>Each record must be there once, after everything it depends on that was fed to the same task,
 * in the order of its own channel, with the content it had, and stamped with what it depends on.
 */
public final class Judge {

  private static final Set<String> ADDED =
      Set.of(WireCauses.HEADER, Origin.HEADER, CopyingNode.COUNT_HEADER);

  private final Map<String, Uuid> topicIds;
  private final Map<Uuid, String> topicNames = new HashMap<>();
  private final List<String> violations = new ArrayList<>();

  /**
   * @param topicIds the received topics
   */
  public Judge(Map<String, Uuid> topicIds) {
    this.topicIds = topicIds;
    topicIds.forEach((name, id) -> topicNames.put(id, name));
  }

  /** Fails with all that is wrong. */
  static void requireCausal(
      Map<String, Uuid> topicIds,
      Collection<ConsumerRecord<byte[], byte[]>> fed,
      List<ConsumerRecord<byte[], byte[]>> copies) {
    final List<String> violations = new Judge(topicIds).violations(fed, copies);
    assertEquals(List.of(), violations.stream().limit(10).toList(), violations.size() + " faults");
  }

  /** What is wrong, in words; empty when nothing is. For one use. */
  public List<String> violations(
      Collection<ConsumerRecord<byte[], byte[]>> fed, List<ConsumerRecord<byte[], byte[]>> copies) {
    final Map<Origin, ConsumerRecord<byte[], byte[]>> originals = new TreeMap<>();
    final Map<Channel, TreeSet<Long>> undelivered = new HashMap<>();
    final Map<Channel, Long> named = new HashMap<>();
    for (ConsumerRecord<byte[], byte[]> record : fed) {
      originals.put(Origin.of(record), record);
      undelivered.computeIfAbsent(channel(record), c -> new TreeSet<>()).add(record.offset());
      named.merge(channel(record), record.offset(), Math::max);
      WireCauses.of(record).forEach((cause, position) -> named.merge(cause, position, Math::max));
    }
    final Map<Integer, Map<Channel, Long>> due = new HashMap<>();
    final Map<Integer, Long> counts = new HashMap<>();
    final Set<Origin> seen = new HashSet<>();
    for (ConsumerRecord<byte[], byte[]> copy : copies) {
      final Origin origin = Origin.named(copy);
      final ConsumerRecord<byte[], byte[]> original = origin == null ? null : originals.get(origin);
      if (original == null) {
        violations.add("nobody fed " + origin + ", of which there is a copy at " + copy.offset());
      } else if (!seen.add(origin)) {
        violations.add("duplicate of " + origin);
      } else {
        requireOrder(original, undelivered);
        requireContent(original, copy);
        requireStamp(
            original, copy, due.computeIfAbsent(origin.partition(), p -> new HashMap<>()), named);
        requireCount(origin, copy, counts.merge(origin.partition(), 1L, Long::sum));
      }
    }
    originals.keySet().removeAll(seen);
    originals.keySet().forEach(origin -> violations.add("lost " + origin));
    return violations;
  }

  private void requireOrder(
      ConsumerRecord<byte[], byte[]> original, Map<Channel, TreeSet<Long>> undelivered) {
    final TreeSet<Long> own = undelivered.get(channel(original));
    if (own.first() != original.offset()) {
      violations.add(Origin.of(original) + " came before position " + own.first() + " of its own");
    }
    WireCauses.of(original)
        .forEach(
            (cause, position) -> {
              // A cause on another partition is another task's concern.
              final TreeSet<Long> open = undelivered.getOrDefault(cause, new TreeSet<>());
              if (cause.partition() == original.partition()
                  && !open.isEmpty()
                  && open.first() <= position) {
                violations.add(
                    Origin.of(original)
                        + " came before "
                        + topicNames.get(cause.topicId())
                        + " "
                        + open.first()
                        + ", though it comes after "
                        + position);
              }
            });
    own.remove(original.offset());
  }

  private void requireContent(
      ConsumerRecord<byte[], byte[]> original, ConsumerRecord<byte[], byte[]> copy) {
    final Origin origin = Origin.of(original);
    if (!Arrays.equals(original.key(), copy.key())) {
      violations.add("the key changed: " + origin);
    }
    if (!Arrays.equals(original.value(), copy.value())) {
      violations.add("the value changed: " + origin);
    }
    if (original.timestamp() != copy.timestamp()) {
      violations.add("the timestamp changed: " + origin);
    }
    if (!others(original.headers()).equals(others(copy.headers()))) {
      violations.add("the headers changed: " + origin);
    }
  }

  /** The headers that neither the library nor the copying processor adds. */
  private static List<String> others(Headers headers) {
    final List<String> others = new ArrayList<>();
    for (Header header : headers) {
      if (!ADDED.contains(header.key())) {
        others.add(header.key() + "=" + Arrays.toString(header.value()));
      }
    }
    return others;
  }

  /**
   * A copy depends on all that its task had copied before and on what that depended on. It may also
   * name what the task had learned from records it still held, but nothing that nobody named.
   */
  private void requireStamp(
      ConsumerRecord<byte[], byte[]> original,
      ConsumerRecord<byte[], byte[]> copy,
      Map<Channel, Long> due,
      Map<Channel, Long> named) {
    due.merge(channel(original), original.offset(), Math::max);
    WireCauses.of(original).forEach((cause, position) -> due.merge(cause, position, Math::max));
    if (copy.headers().lastHeader(WireCauses.HEADER) == null) {
      violations.add("no stamp on the copy of " + Origin.of(original));
      return;
    }
    final Map<Channel, Long> stamp;
    try {
      stamp = WireCauses.of(copy);
    } catch (IllegalArgumentException e) {
      violations.add(e.getMessage() + " on the copy of " + Origin.of(original));
      return;
    }
    due.forEach(
        (channel, position) -> {
          if (stamp.getOrDefault(channel, -1L) < position) {
            violations.add(
                "the stamp of " + Origin.of(original) + " lacks " + channel + " " + position);
          }
        });
    stamp.forEach(
        (channel, position) -> {
          if (named.getOrDefault(channel, -1L) < position) {
            violations.add(
                "the stamp of " + Origin.of(original) + " invents " + channel + " " + position);
          }
        });
  }

  private void requireCount(Origin origin, ConsumerRecord<byte[], byte[]> copy, long count) {
    final long said =
        ByteBuffer.wrap(copy.headers().lastHeader(CopyingNode.COUNT_HEADER).value()).getLong();
    if (said != count) {
      violations.add(
          "the application's own store counted " + said + " instead of " + count + " at " + origin);
    }
  }

  private Channel channel(ConsumerRecord<byte[], byte[]> record) {
    return new Channel(topicIds.get(record.topic()), record.partition());
  }
}
