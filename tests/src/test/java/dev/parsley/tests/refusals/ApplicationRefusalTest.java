package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.ProcessingExceptionHandler;
import org.apache.kafka.streams.processor.api.Record;

/** What the application's own code and settings get wrong. */
class ApplicationRefusalTest {

  @BrokerTest
  @Reaches(RefusalReason.RESERVED_HEADER_USED)
  void shouldGoOnOnceTheReservedHeaderIsTakenOut() throws Exception {
    try (Application app = fed()) {
      app.code.forwarded =
          record ->
              record.withHeaders(
                  new RecordHeaders(record.headers().toArray())
                      .add("parsley.mine", new byte[] {1}));
      final RefusalException refusal = app.refused(RefusalReason.RESERVED_HEADER_USED);
      assertTrue(refusal.getMessage().contains("parsley.mine"), refusal.getMessage());
      app.code.forwarded = record -> record;
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE)
  void shouldGoOnOnceTheForeignStoreIsLeftAlone() throws Exception {
    try (Application app = fed()) {
      app.code.opening = context -> context.getStateStore("__parsley." + Code.NODE);
      final RefusalException refusal = app.refused(RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE);
      assertTrue(refusal.getMessage().contains("__parsley." + Code.NODE), refusal.getMessage());
      app.code.opening = context -> {};
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE)
  void shouldGoOnOnceTheDeserializerTakesARecordThatIsHeld() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      final var reading = app.code.deserializer;
      app.code.deserializer =
          value -> {
            if (new String(value, StandardCharsets.UTF_8).equals("held")) {
              throw new IllegalArgumentException("cannot read it");
            }
            return reading.apply(value);
          };
      app.feed("orders", "c");
      final RefusalException refusal = app.refused(RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE);
      assertEquals(Optional.of(app.topic("payments")), refusal.topic());
      assertEquals(Optional.of(app.channel("payments", 0)), refusal.channel());
      assertEquals(OptionalLong.of(0), refusal.position());
      app.code.deserializer = reading;
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE)
  void shouldPassOverOneUndecodablePayloadAlone() throws Exception {
    try (Application app = fed()) {
      app.code.deserializer =
          value -> {
            final String text = new String(value, StandardCharsets.UTF_8);
            if (text.equals("bad")) {
              throw new IllegalArgumentException("cannot read it");
            }
            return text;
          };
      final Application.Fed bad = app.feed("orders", "bad");
      app.feed("payments", "of the bad one", app.after("orders", bad.offset()));
      final RefusalException refusal = app.refused(RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE);
      assertEquals(OptionalLong.of(bad.offset()), refusal.position());
      app.refusedRecordByRecord(
          RefusalReason.APPLICATION_PAYLOAD_UNDECODABLE, "orders", bad.offset());
      app.operator.sayAdvised(refusal, "--to-offset");
      app.run();
      app.requireDelivered(app.allBut(bad));
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.APPLICATION_PAYLOAD_UNSERIALIZABLE)
  void shouldGoOnOnceTheSerializerTakesTheValue() throws Exception {
    try (Application app = fed()) {
      final var writing = app.code.serializer;
      app.code.serializer =
          value -> {
            throw new IllegalArgumentException("cannot write it");
          };
      app.refused(RefusalReason.APPLICATION_PAYLOAD_UNSERIALIZABLE);
      app.code.serializer = writing;
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.SUBSTRATE_MISCONFIGURED)
  void shouldGoOnOnceAHandlerFailsAndTheGuaranteeIsExactlyOnce() throws Exception {
    try (Application app = fed()) {
      final var good = app.code.forwarded;
      app.code.forwarded =
          record -> {
            throw new IllegalStateException("the application's own bug");
          };
      final RefusalException refusal =
          app.refused(
              RefusalReason.SUBSTRATE_MISCONFIGURED,
              Map.of("processing.exception.handler", Resuming.class.getName()));
      assertTrue(refusal.getMessage().contains(Resuming.class.getName()), refusal.getMessage());
      app.code.forwarded = good;
      assertTrue(
          app.refused(
                  RefusalReason.SUBSTRATE_MISCONFIGURED,
                  Map.of("processing.guarantee", "at_least_once"))
              .getMessage()
              .contains("exactly_once_v2"));
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  private static Application fed() {
    final Application app = new Application("orders", "payments");
    app.feed("payments", "a", app.after("orders", 0));
    app.feed("orders", "b");
    return app;
  }

  /** Answers to pass over the record. */
  public static final class Resuming implements ProcessingExceptionHandler {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public Response handleError(
        ErrorHandlerContext context, Record<?, ?> record, Exception failure) {
      return Response.resume();
    }
  }
}
