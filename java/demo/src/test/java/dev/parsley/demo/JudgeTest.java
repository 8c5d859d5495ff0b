package dev.parsley.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class JudgeTest {

  private static final Workload.Placed ORDER = new Workload.Placed("o", List.of(0L), List.of());
  private static final Workload.Placed PAYMENT = new Workload.Placed("p", List.of(4L), List.of(0));

  @Test
  void shouldFindNothingWrongWithCausalOrder() {
    final Outcome outcome = judge(seen("o", 0), seen("p", 4));
    assertEquals(0, outcome.beforeCause());
    assertEquals(0, outcome.lost());
    assertEquals(0, outcome.duplicates());
    assertEquals(2, outcome.records());
  }

  @Test
  void shouldCountAnEffectThatWasSeenBeforeItsCause() {
    assertEquals(1, judge(seen("p", 4), seen("o", 0)).beforeCause());
  }

  @Test
  void shouldCountAnEffectWhoseCauseWasNeverSeen() {
    final Outcome outcome = judge(seen("p", 4));
    assertEquals(1, outcome.beforeCause());
    assertEquals(1, outcome.lost());
  }

  @Test
  void shouldJudgeTheFirstSightingAndCountTheOthersAsDuplicates() {
    final Outcome outcome = judge(seen("p", 4), seen("o", 0), seen("p", 4));
    assertEquals(1, outcome.beforeCause());
    assertEquals(1, outcome.duplicates());
  }

  @Test
  void shouldCountARecordWrittenTwiceOnItsWayAsADuplicate() {
    final Workload.Placed twice = new Workload.Placed("o", List.of(0L, 1L), List.of());
    final Outcome outcome =
        Judge.judge("run", List.of(twice), List.of(seen("o", 0), seen("o", 1)), notKilled());
    assertEquals(1, outcome.duplicates());
  }

  @Test
  void shouldCountWhatTheSecondLifeSawWithoutAnArrivalAsRestored() {
    final Sighting restored = new Sighting("p", 4, 2, OptionalLong.empty());
    assertEquals(1, judge(seen("o", 0), restored).restored());
  }

  @Test
  void shouldTakeThePercentilesOfKnownArrivalsOnly() {
    final Outcome outcome =
        judge(
            new Sighting("o", 0, 1, OptionalLong.of(2_000)),
            new Sighting("p", 4, 2, OptionalLong.empty()));
    assertEquals(2.0, outcome.p50Ms());
    assertEquals(2.0, outcome.p99Ms());
  }

  @Test
  void shouldNotJudgeSightingsOfRecordsThatNobodySent() {
    assertThrows(IllegalStateException.class, () -> judge(seen("o", 9)));
  }

  @Test
  void shouldReadASightingAsItWasWritten() {
    final Sighting known = new Sighting("a.orders", 12, 1, OptionalLong.of(345));
    final Sighting unknown = new Sighting("a.orders", 12, 2, OptionalLong.empty());
    assertEquals(known, Sighting.decode(known.encode()));
    assertEquals(unknown, Sighting.decode(unknown.encode()));
  }

  private static Outcome judge(Sighting... sightings) {
    return Judge.judge("run", List.of(ORDER, PAYMENT), List.of(sightings), notKilled());
  }

  private static OptionalInt notKilled() {
    return OptionalInt.empty();
  }

  private static Sighting seen(String topic, long offset) {
    return new Sighting(topic, offset, 1, OptionalLong.of(1_000));
  }
}
