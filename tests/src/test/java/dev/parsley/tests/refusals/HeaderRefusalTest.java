package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Headers that cannot be taken in. */
class HeaderRefusalTest {

  @BrokerTest
  @Reaches(RefusalReason.UNDECODABLE_METADATA)
  void shouldPassOverOneUndecodableRecordAlone() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.feed("orders", "a");
      app.feed("orders", "b");
      final long bad = app.feedUndecodable("orders");
      app.feed("orders", "c");
      app.feed("payments", "of the bad one", app.after("orders", bad));

      final RefusalException refusal = app.refused(RefusalReason.UNDECODABLE_METADATA);
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertEquals(OptionalLong.of(bad), refusal.position());

      app.refusedRecordByRecord(RefusalReason.UNDECODABLE_METADATA, "orders", bad);
      // At once: an instance that was refused has left its group.
      app.operator.sayAdvised(refusal, "--to-offset");
      assertEquals(bad + 1, app.committed("orders", 0));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches({RefusalReason.UNDECODABLE_METADATA, RefusalReason.ORDERING_STATE_LOST})
  void shouldPassOverAnUndecodableRecordThatIsTheFirstOfItsGroup() throws Exception {
    try (Application app = new Application("orders")) {
      final long bad = app.feedUndecodable("orders");
      app.feed("orders", "a");
      final RefusalException refusal = app.refused(RefusalReason.UNDECODABLE_METADATA);
      app.refusedRecordByRecord(RefusalReason.UNDECODABLE_METADATA, "orders", bad);
      app.operator.sayAdvised(refusal, "--to-offset");

      // Nothing was read, so there is no state, and the offset looks as if something had been.
      final RefusalException lost = app.refused(RefusalReason.ORDERING_STATE_LOST);
      assertEquals(OptionalLong.of(bad + 1), lost.position());
      app.operator.sayAdvised(lost, "--delete-offsets");
      app.set("parsley.first.positions", "earliest," + app.topic("orders") + ":0=" + (bad + 1));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.METADATA_BUDGET_EXCEEDED)
  void shouldGoOnWithALargerBudget() throws Exception {
    try (Application app = new Application("orders", "payments", "others")) {
      app.feed("others", "a");
      app.feed("payments", "b", app.after("orders", 0).merge(app.after("others", 0)));
      app.feed("orders", "c");

      // A header with two topics of one partition each takes 54 bytes.
      final RefusalException refusal =
          app.refused(RefusalReason.METADATA_BUDGET_EXCEEDED, Map.of("parsley.budget.bytes", "53"));
      assertEquals(Optional.of(app.topic("payments")), refusal.topic());
      assertEquals(OptionalLong.of(0), refusal.position());
      assertEquals(OptionalLong.of(53), refusal.bound());
      assertEquals(List.of(), app.changelog.held());
      // What is sent names all three topics.
      app.set("parsley.budget.bytes", "80");
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  void shouldRefusePositionsThatTheLogDoesNotHave() throws Exception {
    try (Application app = new Application("orders")) {
      app.feed("orders", "a");
      app.feed("orders", "b");
      app.discardBefore(app.topic("orders"), 0, 1);
      final String named = "earliest," + app.topic("orders") + ":0=";
      assertEquals(
          OptionalLong.of(1),
          app.refused(
                  RefusalReason.POSITIONS_DISCARDED_UNREAD,
                  Map.of("parsley.first.positions", named + 0))
              .bound());
      assertEquals(
          OptionalLong.of(2),
          app.refused(
                  RefusalReason.SUBSTRATE_MISCONFIGURED,
                  Map.of("parsley.first.positions", named + 3))
              .bound());
      assertFalse(app.cluster.topicExists(app.changelog.name()));
    }
  }
}
