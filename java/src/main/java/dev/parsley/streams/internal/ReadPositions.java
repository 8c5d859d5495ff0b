package dev.parsley.streams.internal;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextImpl;
import org.apache.kafka.streams.processor.internals.StreamTask;

/**
 * Where a task reads next, which Kafka Streams commits with a transaction that consumed nothing.
 *
 * <p>It only knows that of partitions of which something was fetched, and after a dirty close it
 * goes on with what it knew before, although the consumer was set back. So a punctuation right
 * after a start either has no positions, and nothing fences an instance whose place was taken, or
 * has positions behind records that nobody has processed. Both end when the positions are set to
 * the committed ones whenever a task is initialised. There is no public way to them.
 *
 * <p>For the thread that initialises the task.
 */
final class ReadPositions {

  private static final Field TASK = field(ProcessorContextImpl.class, "streamTask");
  private static final Field QUEUES = field(StreamTask.class, "partitionGroup");
  private static final Field NEXT = field(StreamTask.class, "nextOffsetsAndMetadataToBeConsumed");
  private static final Method BUFFERED = method(QUEUES.getType(), "numBuffered");

  private ReadPositions() {}

  /**
   * Sets where a task that has processed nothing yet reads next. A partition of which records wait
   * already is left out: the first of them tells its position.
   *
   * @param committed the group's offsets; a partition without one has no position
   */
  static void begin(ProcessorContext<?, ?> context, Map<TopicPartition, Long> committed) {
    if (!(context instanceof ProcessorContextImpl)) {
      return; // A context without a task, of which nothing is ever committed.
    }
    try {
      final StreamTask task = (StreamTask) TASK.get(context);
      final Object queues = QUEUES.get(task);
      @SuppressWarnings("unchecked") // As the field is declared in 4.4.
      final Map<TopicPartition, OffsetAndMetadata> next =
          (Map<TopicPartition, OffsetAndMetadata>) NEXT.get(task);
      for (TopicPartition partition : task.inputPartitions()) {
        if ((int) BUFFERED.invoke(queues, partition) > 0) {
          continue;
        }
        final Long offset = committed.get(partition);
        if (offset == null) {
          next.remove(partition);
        } else {
          next.put(partition, new OffsetAndMetadata(offset));
        }
      }
    } catch (ReflectiveOperationException | ClassCastException e) {
      throw otherKafka(e);
    }
  }

  private static Field field(Class<?> owner, String name) {
    try {
      return accessible(owner.getDeclaredField(name));
    } catch (NoSuchFieldException e) {
      throw otherKafka(e);
    }
  }

  private static Method method(Class<?> owner, String name) {
    try {
      return accessible(owner.getDeclaredMethod(name, TopicPartition.class));
    } catch (NoSuchMethodException e) {
      throw otherKafka(e);
    }
  }

  private static <T extends AccessibleObject> T accessible(T member) {
    member.setAccessible(true);
    return member;
  }

  private static IllegalStateException otherKafka(Exception cause) {
    return new IllegalStateException(
        "this Kafka Streams keeps a task's read positions elsewhere; use kafka-streams 4.4 with"
            + " this version of Parsley",
        cause);
  }
}
