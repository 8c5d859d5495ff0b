package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.DefaultProductionExceptionHandler;
import org.apache.kafka.streams.errors.DeserializationExceptionHandler;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.errors.LogAndFailExceptionHandler;
import org.apache.kafka.streams.errors.LogAndFailProcessingExceptionHandler;
import org.apache.kafka.streams.errors.ProcessingExceptionHandler;
import org.apache.kafka.streams.errors.ProductionExceptionHandler;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Keeps error handlers from passing over a record. Kafka's own that continue are refused before the
 * start. What a handler of the user's will answer cannot be known by then, so it is put behind a
 * guard: it is asked as ever, and is refused at the moment it answers to go on. A refusal of ours
 * is never put to it.
 */
final class GuardedHandlers {

  private static final String USER_HANDLER_PREFIX = ParsleyConfig.INTERNAL_PREFIX + "guarded.";

  private GuardedHandlers() {}

  static void install(Map<String, Object> settings) {
    // The older name of a key comes first: where both are given Kafka Streams takes the newer one,
    // and so must we.
    for (String prefix : new String[] {"default.", ""}) {
      guard(
          settings,
          prefix + StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG,
          LogAndFailExceptionHandler.class,
          LogAndContinueExceptionHandler.class,
          GuardedDeserialization.class);
      guard(
          settings,
          prefix + StreamsConfig.PRODUCTION_EXCEPTION_HANDLER_CLASS_CONFIG,
          DefaultProductionExceptionHandler.class,
          null, // Kafka has no such handler that continues.
          GuardedProduction.class);
    }
    guard(
        settings,
        StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG,
        LogAndFailProcessingExceptionHandler.class,
        LogAndContinueProcessingExceptionHandler.class,
        GuardedProcessing.class);
  }

  private static void guard(
      Map<String, Object> settings,
      String key,
      Class<?> failing,
      Class<?> continuing,
      Class<?> guarded) {
    final Object value = settings.get(key);
    if (value == null) {
      return;
    }
    final Class<?> handler = classOf(key, value);
    if (continuing != null && continuing.isAssignableFrom(handler)) {
      throw new RefusalException(
          RefusalReason.SUBSTRATE_MISCONFIGURED,
          key + " is " + handler.getName() + ", which passes over records that fail");
    }
    if (handler != failing) {
      settings.put(USER_HANDLER_PREFIX + guarded.getSimpleName(), handler);
      settings.put(key, guarded);
    }
  }

  private static Class<?> classOf(String key, Object value) {
    if (value instanceof Class<?> handler) {
      return handler;
    }
    try {
      return Class.forName(value.toString(), true, Utils.getContextOrKafkaClassLoader());
    } catch (ClassNotFoundException e) {
      throw new ConfigException(key, value, "there is no such class");
    }
  }

  private static <T extends org.apache.kafka.common.Configurable> T userHandler(
      Class<?> guarded, Map<String, ?> configs, Class<T> type) {
    final Object given = configs.get(USER_HANDLER_PREFIX + guarded.getSimpleName());
    final T handler = type.cast(Utils.newInstance((Class<?>) given));
    handler.configure(configs);
    return handler;
  }

  private static RefusalException continued(Object handler, Throwable failure) {
    return new RefusalException(
        RefusalReason.SUBSTRATE_MISCONFIGURED,
        "the exception handler "
            + handler.getClass().getName()
            + " answered to pass over a record that failed; it may only fail",
        null,
        null,
        null,
        null,
        failure);
  }

  private static boolean isRefusal(Throwable failure) {
    return Refusals.in(failure).isPresent();
  }

  /** Made by Kafka Streams, hence public. */
  public static final class GuardedDeserialization implements DeserializationExceptionHandler {
    private DeserializationExceptionHandler handler;

    @Override
    public void configure(Map<String, ?> configs) {
      handler = userHandler(getClass(), configs, DeserializationExceptionHandler.class);
    }

    @Override
    public Response handleError(
        ErrorHandlerContext context, ConsumerRecord<byte[], byte[]> record, Exception failure) {
      if (isRefusal(failure)) {
        return Response.fail();
      }
      final Response response = handler.handleError(context, record, failure);
      if (response.result() != Result.FAIL) {
        throw continued(handler, failure);
      }
      return response;
    }
  }

  /** Made by Kafka Streams, hence public. */
  public static final class GuardedProcessing implements ProcessingExceptionHandler {
    private ProcessingExceptionHandler handler;

    @Override
    public void configure(Map<String, ?> configs) {
      handler = userHandler(getClass(), configs, ProcessingExceptionHandler.class);
    }

    @Override
    public Response handleError(
        ErrorHandlerContext context, Record<?, ?> record, Exception failure) {
      if (isRefusal(failure)) {
        return Response.fail();
      }
      final Response response = handler.handleError(context, record, failure);
      if (response.result() != Result.FAIL) {
        throw continued(handler, failure);
      }
      return response;
    }
  }

  /** Made by Kafka Streams, hence public. A retry of the same send is no gap and is let through. */
  public static final class GuardedProduction implements ProductionExceptionHandler {
    private ProductionExceptionHandler handler;

    @Override
    public void configure(Map<String, ?> configs) {
      handler = userHandler(getClass(), configs, ProductionExceptionHandler.class);
    }

    @Override
    public Response handleError(
        ErrorHandlerContext context, ProducerRecord<byte[], byte[]> record, Exception failure) {
      if (isRefusal(failure)) {
        return Response.fail();
      }
      return judged(handler.handleError(context, record, failure), failure);
    }

    @Override
    @SuppressWarnings("rawtypes") // The interface has the raw type.
    public Response handleSerializationError(
        ErrorHandlerContext context,
        ProducerRecord record,
        Exception failure,
        SerializationExceptionOrigin origin) {
      if (isRefusal(failure)) {
        return Response.fail();
      }
      return judged(handler.handleSerializationError(context, record, failure, origin), failure);
    }

    private Response judged(Response response, Exception failure) {
      if (response.result() == Result.RESUME) {
        throw continued(handler, failure);
      }
      return response;
    }
  }
}
