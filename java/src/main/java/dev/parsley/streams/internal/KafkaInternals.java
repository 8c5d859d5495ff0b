package dev.parsley.streams.internal;

import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * Everything we need of Kafka Streams that it does not offer in public, in one place, since it may
 * change in any release. It is four things:
 *
 * <ul>
 *   <li>setting the record context around the user's call. A released record keeps its own topic,
 *       offset and headers whatever record triggered the release, and {@code recordMetadata()}, the
 *       stores and the children all read them from the context, which has no public setter;
 *   <li>a record context at a flush that has none, because change-logging takes its timestamp;
 *   <li>the store behind the wrapper that {@code getStateStore} puts around it;
 *   <li>read positions in a transaction of a punctuation. Kafka Streams leaves them out when no
 *       record was read, and then nothing fences an instance whose place was taken. {@link
 *       ReadPositions} is the other half of it.
 * </ul>
 *
 * <p>Apart from this, {@link CausalStore} implements the internal {@code CachedStateStore}, which
 * is how a store is told that a commit begins. {@code RecordHeaders} and {@code RecordHeader} live
 * in a package of that name too, but are the only headers one can make and count as public.
 *
 * <p>For the thread that owns the context.
 */
final class KafkaInternals {

  private final InternalProcessorContext<?, ?> context;

  private KafkaInternals(InternalProcessorContext<?, ?> context) {
    this.context = context;
  }

  static KafkaInternals of(ProcessorContext<?, ?> context) {
    return new KafkaInternals(internal(context));
  }

  static KafkaInternals of(StateStoreContext context) {
    return new KafkaInternals(internal(context));
  }

  private static InternalProcessorContext<?, ?> internal(Object context) {
    if (context instanceof InternalProcessorContext<?, ?> internal) {
      return internal;
    }
    throw new IllegalArgumentException(
        "a causal node needs a context of Kafka Streams itself, not a "
            + context.getClass().getName()
            + ": test it with TopologyTestDriver");
  }

  /** Where and when the current record is from; null between steps. */
  RecordContext recordContext() {
    return context.recordContext();
  }

  /** Makes a record the current one. */
  void enter(long timestamp, String topic, int partition, long offset, Headers headers) {
    context.setRecordContext(
        new ProcessorRecordContext(timestamp, offset, partition, topic, headers));
  }

  /** Gives the current record other headers. */
  void enterWithHeaders(RecordContext current, Headers headers) {
    context.setRecordContext(
        new ProcessorRecordContext(
            current.timestamp(),
            current.offset(),
            current.partition(),
            current.topic(),
            headers,
            current.sourceRawKey(),
            current.sourceRawValue()));
  }

  /** Puts back what {@link #recordContext()} gave. */
  void leave(RecordContext before) {
    context.setRecordContext((ProcessorRecordContext) before);
  }

  /**
   * Has the next commit carry the positions of all inputs, also if nothing was read. They go with
   * the generation of the group's member, so that a member that was replaced is fenced. That there
   * are some, and that they are right, is what {@link ReadPositions} sees to.
   */
  void commitPositions(String reason) {
    context.addProcessorMetadataKeyValue(reason, 1);
  }

  /** The ordering store as {@code getStateStore} gave it. */
  static CausalStore unwrap(StateStore given) {
    StateStore store = given;
    while (store instanceof WrappedStateStore<?, ?, ?> wrapper) {
      store = wrapper.wrapped();
    }
    if (store instanceof CausalStore causal) {
      return causal;
    }
    throw new IllegalStateException("there is no ordering store behind " + given.getClass());
  }
}
