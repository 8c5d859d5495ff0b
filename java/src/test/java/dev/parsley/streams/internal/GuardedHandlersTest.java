package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.errors.DefaultProductionExceptionHandler;
import org.apache.kafka.streams.errors.DeserializationExceptionHandler;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.LogAndFailExceptionHandler;
import org.apache.kafka.streams.errors.ProductionExceptionHandler;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;

class GuardedHandlersTest {

  private static final String DESERIALIZATION = "deserialization.exception.handler";
  private static final String PRODUCTION = "production.exception.handler";

  @Test
  void shouldLeaveKafkasFailingHandlersAlone() {
    final Map<String, Object> settings = new HashMap<>();
    settings.put(DESERIALIZATION, LogAndFailExceptionHandler.class.getName());
    settings.put(PRODUCTION, DefaultProductionExceptionHandler.class);
    final Map<String, Object> before = Map.copyOf(settings);
    GuardedHandlers.install(settings);
    assertEquals(before, settings);
  }

  @Test
  void shouldSayThatAHandlersClassIsMissing() {
    final Map<String, Object> settings = new HashMap<>(Map.of(PRODUCTION, "no.such.Handler"));
    final ConfigException error =
        assertThrows(ConfigException.class, () -> GuardedHandlers.install(settings));
    assertTrue(error.getMessage().contains("no.such.Handler"), error.getMessage());
  }

  @Test
  void shouldRefuseADeserializationHandlerThatGoesOn() {
    final var guard = deserialization(Map.of(DESERIALIZATION, Answering.class));
    final Exception failure = new IllegalArgumentException("broken");
    final RefusalException refusal =
        assertThrows(RefusalException.class, () -> guard.handleError(null, null, failure));
    assertEquals(RefusalReason.SUBSTRATE_MISCONFIGURED, refusal.reason());
    assertSame(failure, refusal.getCause());
  }

  @Test
  void shouldTakeTheHandlerOfTheNewerKey() {
    final var guard =
        deserialization(
            Map.of(DESERIALIZATION, Answering.class, "default." + DESERIALIZATION, Failing.class));
    assertThrows(
        RefusalException.class, () -> guard.handleError(null, null, new StreamsException("x")));
  }

  @Test
  void shouldNotPutARefusalToAHandler() {
    final var guard = deserialization(Map.of(DESERIALIZATION, Answering.class));
    final Exception wrapped =
        new StreamsException(new RefusalException(RefusalReason.OUT_OF_ORDER_FEED, "x"));
    assertEquals(
        DeserializationExceptionHandler.Result.FAIL,
        guard.handleError(null, null, wrapped).result());
  }

  @Test
  void shouldLetAProductionHandlerRetryAndFailButNotGoOn() {
    final Map<String, Object> settings = new HashMap<>(Map.of(PRODUCTION, Producing.class));
    GuardedHandlers.install(settings);
    final var guard = new GuardedHandlers.GuardedProduction();
    guard.configure(settings);
    assertEquals(
        ProductionExceptionHandler.Result.RETRY,
        guard.handleError(null, null, new Exception("retry")).result());
    assertEquals(
        ProductionExceptionHandler.Result.FAIL,
        guard.handleError(null, null, new Exception("fail")).result());
    assertThrows(
        RefusalException.class, () -> guard.handleError(null, null, new Exception("resume")));
    assertThrows(
        RefusalException.class,
        () -> guard.handleSerializationError(null, null, new Exception("resume"), null));
  }

  private static DeserializationExceptionHandler deserialization(Map<String, Object> given) {
    final Map<String, Object> settings = new HashMap<>(given);
    GuardedHandlers.install(settings);
    assertSame(GuardedHandlers.GuardedDeserialization.class, settings.get(DESERIALIZATION));
    final DeserializationExceptionHandler guard = new GuardedHandlers.GuardedDeserialization();
    guard.configure(settings);
    return guard;
  }

  /** Goes on past every failure. */
  public static class Answering implements DeserializationExceptionHandler {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public Response handleError(
        ErrorHandlerContext context, ConsumerRecord<byte[], byte[]> record, Exception failure) {
      return Response.resume();
    }
  }

  /** Fails, always. */
  public static final class Failing extends Answering {
    @Override
    public Response handleError(
        ErrorHandlerContext context, ConsumerRecord<byte[], byte[]> record, Exception failure) {
      return Response.fail();
    }
  }

  /** Does what the failure's message says. */
  public static final class Producing implements ProductionExceptionHandler {
    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public Response handleError(
        ErrorHandlerContext context, ProducerRecord<byte[], byte[]> record, Exception failure) {
      return switch (failure.getMessage()) {
        case "retry" -> Response.retry();
        case "fail" -> Response.fail();
        default -> Response.resume();
      };
    }

    @Override
    @SuppressWarnings("rawtypes") // The interface has the raw type.
    public Response handleSerializationError(
        ErrorHandlerContext context,
        ProducerRecord record,
        Exception failure,
        SerializationExceptionOrigin origin) {
      return handleError(context, null, failure);
    }
  }
}
