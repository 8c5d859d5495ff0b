package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.io.File;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/**
 * What the application's processor gets for its context: that of Kafka Streams, with what it
 * forwards stamped, its punctuators run as steps of the node, and its stores limited to those it
 * declared. For the stream thread; made anew at each initialisation.
 */
final class CausalContext<KOut, VOut> implements ProcessorContext<KOut, VOut> {

  /** Wraps a punctuator so that it runs as a step of the node. */
  @FunctionalInterface
  interface Steps {
    Punctuator step(Punctuator ofApplication);
  }

  private final ProcessorContext<KOut, VOut> context;
  private final Execution execution;
  private final Set<String> storeNames;
  private final Steps steps;

  CausalContext(
      ProcessorContext<KOut, VOut> context,
      Execution execution,
      Set<String> storeNames,
      Steps steps) {
    this.context = context;
    this.execution = execution;
    this.storeNames = storeNames;
    this.steps = steps;
  }

  @Override
  public <K extends KOut, V extends VOut> void forward(Record<K, V> record) {
    final Record<K, V> stamped = stamped(record);
    try {
      context.forward(stamped);
    } catch (RuntimeException e) {
      execution.note(e); // The application may swallow it on its way.
      throw e;
    }
  }

  @Override
  public <K extends KOut, V extends VOut> void forward(Record<K, V> record, String childName) {
    final Record<K, V> stamped = stamped(record);
    try {
      context.forward(stamped, childName);
    } catch (RuntimeException e) {
      execution.note(e);
      throw e;
    }
  }

  private <K extends KOut, V extends VOut> Record<K, V> stamped(Record<K, V> record) {
    execution.rethrow();
    return new StampedRecord<>(
        record.key(),
        record.value(),
        record.timestamp(),
        new StampedHeaders(record.headers(), execution.stamp(), execution));
  }

  @Override
  public <S extends StateStore> S getStateStore(String name) {
    if (!storeNames.contains(name)) {
      throw execution.refuse(
          new RefusalException(
              RefusalReason.STATE_ACCESS_TO_UNDECLARED_STORE,
              "the application's processor asked for the store '"
                  + name
                  + "'; it declared "
                  + storeNames));
    }
    return context.getStateStore(name);
  }

  @Override
  public Cancellable schedule(Duration interval, PunctuationType type, Punctuator punctuator) {
    return context.schedule(interval, type, steps.step(punctuator));
  }

  @Override
  public Cancellable schedule(
      Instant startTime, Duration interval, PunctuationType type, Punctuator punctuator) {
    return context.schedule(startTime, interval, type, steps.step(punctuator));
  }

  @Override
  public String applicationId() {
    return context.applicationId();
  }

  @Override
  public TaskId taskId() {
    return context.taskId();
  }

  @Override
  public Optional<RecordMetadata> recordMetadata() {
    return context.recordMetadata();
  }

  @Override
  public Serde<?> keySerde() {
    return context.keySerde();
  }

  @Override
  public Serde<?> valueSerde() {
    return context.valueSerde();
  }

  @Override
  public File stateDir() {
    return context.stateDir();
  }

  @Override
  public StreamsMetrics metrics() {
    return context.metrics();
  }

  @Override
  public void commit() {
    context.commit();
  }

  @Override
  public Map<String, Object> appConfigs() {
    return context.appConfigs();
  }

  @Override
  public Map<String, Object> appConfigsWithPrefix(String prefix) {
    return context.appConfigsWithPrefix(prefix);
  }

  @Override
  public long currentSystemTimeMs() {
    return context.currentSystemTimeMs();
  }

  @Override
  public long currentStreamTimeMs() {
    return context.currentStreamTimeMs();
  }
}
