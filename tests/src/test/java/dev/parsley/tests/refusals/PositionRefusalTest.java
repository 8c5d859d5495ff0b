package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.Optional;
import java.util.OptionalLong;

/** Received topics that lost records, read ones and others. */
class PositionRefusalTest {

  @BrokerTest
  @Reaches(RefusalReason.POSITIONS_DISCARDED_UNREAD)
  void shouldGoOnBehindTheGapWhenItIsAccepted() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      final Application.Fed lost = app.feed("orders", "removed unread");
      app.feed("orders", "kept");
      app.discardBefore(app.topic("orders"), 0, lost.offset() + 1);
      final RefusalException refusal = app.refused(RefusalReason.POSITIONS_DISCARDED_UNREAD);
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
      assertEquals(OptionalLong.of(lost.offset()), refusal.position());
      assertEquals(OptionalLong.of(lost.offset() + 1), refusal.bound());
      app.operator.sayAdvised(refusal, "--to-earliest");
      app.run();
      // The payment waited for what was removed, which counts as never to come.
      app.requireDelivered(app.allBut(lost));
    }
  }

  @BrokerTest
  void shouldNotMindWhenRecordsAreRemovedThatWereRead() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      app.discardBefore(app.topic("orders"), 0, 2);
      app.discardBefore(app.topic("payments"), 0, 1);
      app.run();
      app.feed("orders", "c");
      app.requireDelivered(app.fed);
    }
  }
}
