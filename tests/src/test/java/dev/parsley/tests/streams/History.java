package dev.parsley.tests.streams;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;

/**
 * A made-up history of one partition over several topics, and the order in which its records reach
 * the logs: each topic keeps its own order, while between topics effects overtake their causes.
 */
final class History {

  /** How far back an event's causes lie at most. */
  private static final int CAUSE_DISTANCE_MAX = 40;

  private static final int CAUSES_MAX = 3;

  /**
   * @param offset where it will lie if nothing else is written to the topic
   */
  record Event(String topic, int partition, long offset, Causes causes, Payload payload) {}

  private record Placed(Event event, int place) {}

  private History() {}

  /**
   * @param topicIds the topics to spread the events over
   * @param displacement how many events an effect can overtake
   * @return the events in the order in which they are to be sent
   */
  static List<Event> overtaking(
      Map<String, Uuid> topicIds, int partition, int count, int displacement, long seed) {
    final Random random = new Random(seed);
    final List<String> topics = topicIds.keySet().stream().sorted().toList();
    final Map<String, Long> ends = new HashMap<>();
    final Map<String, Integer> lastPlaces = new HashMap<>();
    final List<Event> happened = new ArrayList<>();
    final List<Placed> placed = new ArrayList<>();
    for (int index = 0; index < count; index++) {
      final String topic = topics.get(random.nextInt(topics.size()));
      final Causes.Builder causes = Causes.builder();
      for (int cause = random.nextInt(CAUSES_MAX + 1); cause > 0 && index > 0; cause--) {
        final Event earlier =
            happened.get(index - 1 - random.nextInt(Math.min(index, CAUSE_DISTANCE_MAX)));
        causes.add(new ChannelId(topicIds.get(earlier.topic), partition), earlier.offset);
      }
      final long offset = ends.merge(topic, 1L, Long::sum) - 1;
      final Event event =
          new Event(topic, partition, offset, causes.build(), Payload.awkward(index));
      happened.add(event);
      final int place = index + random.nextInt(displacement);
      placed.add(new Placed(event, lastPlaces.merge(topic, place, Math::max)));
    }
    placed.sort(Comparator.comparingInt(Placed::place)); // Stable, so a topic keeps its order.
    return placed.stream().map(Placed::event).toList();
  }

  /** The highest offset that a topic's events will lie at. */
  static long lastOffset(List<Event> events, String topic) {
    return events.stream()
        .filter(event -> event.topic().equals(topic))
        .mapToLong(Event::offset)
        .max()
        .orElseThrow();
  }
}
