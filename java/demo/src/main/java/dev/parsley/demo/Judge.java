package dev.parsley.demo;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Compares what happened with what the last service saw. Knows nothing of the causal node: it has
 * the events with their causes and the committed sightings in the order of the output topic.
 */
final class Judge {

  private record Place(String topic, long offset) {}

  /** Rank of an event that was never seen: after everything. */
  private static final int NEVER = Integer.MAX_VALUE;

  private Judge() {}

  static Outcome judge(
      String run, List<Workload.Placed> events, List<Sighting> sightings, OptionalInt heldAtKill) {
    final Map<Place, Integer> eventByPlace = new HashMap<>();
    for (int i = 0; i < events.size(); i++) {
      for (long offset : events.get(i).offsets()) {
        eventByPlace.put(new Place(events.get(i).topic(), offset), i);
      }
    }
    final int[] firstSeen = new int[events.size()];
    Arrays.fill(firstSeen, NEVER);
    int duplicates = 0;
    for (int rank = 0; rank < sightings.size(); rank++) {
      final Sighting seen = sightings.get(rank);
      final Integer event = eventByPlace.get(new Place(seen.topic(), seen.offset()));
      if (event == null) {
        throw new IllegalStateException("the service saw a record that nobody sent: " + seen);
      }
      if (firstSeen[event] == NEVER) {
        firstSeen[event] = rank;
      } else {
        duplicates++;
      }
    }
    int lost = 0;
    int beforeCause = 0;
    for (int i = 0; i < firstSeen.length; i++) {
      final int seen = firstSeen[i];
      if (seen == NEVER) {
        lost++;
      } else if (events.get(i).causes().stream().anyMatch(cause -> firstSeen[cause] > seen)) {
        beforeCause++;
      }
    }
    final long[] micros =
        sightings.stream()
            .filter(seen -> seen.micros().isPresent())
            .mapToLong(seen -> seen.micros().getAsLong())
            .sorted()
            .toArray();
    final int restored =
        (int) sightings.stream().filter(seen -> seen.life() > 1 && seen.micros().isEmpty()).count();
    return new Outcome(
        run,
        events.size(),
        beforeCause,
        heldAtKill,
        restored,
        duplicates,
        lost,
        percentileMs(micros, 50),
        percentileMs(micros, 99));
  }

  private static double percentileMs(long[] sortedMicros, int percent) {
    if (sortedMicros.length == 0) {
      return Double.NaN;
    }
    final int rank = (int) Math.ceil(sortedMicros.length * percent / 100.0);
    return sortedMicros[rank - 1] / 1_000.0;
  }
}
