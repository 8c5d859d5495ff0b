package dev.parsley.tests.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.ChannelId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

/** What the trials take for granted about the records they are fed with. */
class LoadTest {

  private static final List<String> TOPICS = List.of("orders", "payments", "late");
  private static final Map<String, Uuid> TOPIC_IDS =
      Map.of("orders", new Uuid(1, 1), "payments", new Uuid(2, 2), "late", new Uuid(3, 3));
  private static final int STEPS = 3_000;

  @Test
  void shouldSendEachTopicInItsOrderAndLeaveNoPositionOut() {
    final Map<String, Long> ends = new HashMap<>();
    for (Load.Step step : steps(true, 1)) {
      assertEquals(ends.getOrDefault(step.topic(), 0L), step.offset());
      final long positions = step.isBurst() ? step.abortedCount() + 1 : 1;
      ends.merge(step.topic(), positions, Long::sum);
    }
    assertEquals(3, ends.size());
  }

  @Test
  void shouldSendEffectsBeforeTheirCausesAndWaitForFewAtATime() {
    final Map<ChannelId, Deque<Load.Step>> waiting = new HashMap<>();
    final Map<ChannelId, Long> fed = new HashMap<>();
    int waited = 0;
    int waitingMax = 0;
    for (Load.Step step : steps(false, 2)) {
      if (!step.late()) { // Nothing waits for them.
        final ChannelId channel = new ChannelId(TOPIC_IDS.get(step.topic()), 0);
        waiting.computeIfAbsent(channel, c -> new ArrayDeque<>()).add(step);
        fed.put(channel, step.offset());
        while (deliverOne(waiting, fed)) {}
        final int count = waiting.values().stream().mapToInt(Deque::size).sum();
        waited += count > 0 ? 1 : 0;
        waitingMax = Math.max(waitingMax, count);
      }
    }
    final String found = waited + " steps with something held, at most " + waitingMax;
    assertTrue(waited > STEPS / 4, found);
    assertTrue(waitingMax <= Load.DISPLACEMENT, found);
  }

  private static boolean deliverOne(
      Map<ChannelId, Deque<Load.Step>> waiting, Map<ChannelId, Long> fed) {
    for (Deque<Load.Step> channel : waiting.values()) {
      final boolean deliverable =
          !channel.isEmpty()
              && channel.peek().causes().positions().entrySet().stream()
                  .allMatch(cause -> cause.getValue() <= settled(cause.getKey(), waiting, fed));
      if (deliverable) {
        channel.remove();
        return true;
      }
    }
    return false;
  }

  private static long settled(
      ChannelId channel, Map<ChannelId, Deque<Load.Step>> waiting, Map<ChannelId, Long> fed) {
    final Deque<Load.Step> held = waiting.getOrDefault(channel, new ArrayDeque<>());
    return held.isEmpty() ? fed.getOrDefault(channel, -1L) : held.peek().offset() - 1;
  }

  @Test
  void shouldEndWithEveryCauseSent() {
    for (long seed = 0; seed < 50; seed++) {
      final Map<ChannelId, Long> records = new HashMap<>();
      final List<Load.Step> steps = steps(true, seed);
      for (Load.Step step : steps) {
        if (!step.isBurst()) {
          records.put(new ChannelId(TOPIC_IDS.get(step.topic()), 0), step.offset());
        }
      }
      for (Load.Step step : steps) {
        if (!step.isBurst()) {
          step.causes()
              .positions()
              .forEach((channel, position) -> assertTrue(records.get(channel) >= position));
        }
      }
    }
  }

  @Test
  void shouldRepeatItselfForTheSameSeed() {
    assertEquals(places(steps(true, 3)), places(steps(true, 3)));
  }

  private static List<String> places(List<Load.Step> steps) {
    return steps.stream()
        .map(step -> step.topic() + step.offset() + step.causes() + step.abortedCount())
        .toList();
  }

  /** A number of steps, and then those to the end. */
  private static List<Load.Step> steps(boolean bursts, long seed) {
    final Load load = new Load(TOPICS, TOPIC_IDS, 0, 200, bursts, seed);
    final List<Load.Step> steps = new ArrayList<>();
    for (Load.Step step = load.next(); step != null; step = load.next()) {
      steps.add(step);
      if (steps.size() == STEPS) {
        load.end();
      }
    }
    return steps;
  }
}
