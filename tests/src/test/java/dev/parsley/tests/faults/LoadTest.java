package dev.parsley.tests.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.ChannelId;
import java.util.ArrayList;
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
    final List<Load.Step> steps = steps(false, 2);
    final Map<ChannelId, Long> sent = new HashMap<>();
    int overtaken = 0;
    int waiting = 0;
    int waitingMax = 0;
    for (Load.Step step : steps) {
      sent.put(new ChannelId(TOPIC_IDS.get(step.topic()), 0), step.offset());
      final boolean early =
          step.causes().positions().entrySet().stream()
              .anyMatch(cause -> sent.getOrDefault(cause.getKey(), -1L) < cause.getValue());
      overtaken += early && !step.late() ? 1 : 0;
      waiting = early && !step.late() ? waiting + 1 : 0;
      waitingMax = Math.max(waitingMax, waiting);
    }
    assertTrue(overtaken > STEPS / 10, () -> "too orderly: " + steps.size());
    assertTrue(waitingMax < Load.DISPLACEMENT, "more than may be in flight: " + waitingMax);
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
