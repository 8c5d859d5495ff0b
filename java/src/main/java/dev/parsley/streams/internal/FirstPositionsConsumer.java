package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The main consumer of a stream thread, with two things added.
 *
 * <ul>
 *   <li>When partitions are assigned, the first positions of those that have none are committed
 *       before Kafka Streams hears of the assignment, and so before a causal node looks for them.
 *       The commit carries the member's generation: a start that was overtaken by another is
 *       fenced.
 *   <li>A position that is not in the log is a refusal. Kafka Streams never sees the consumer's own
 *       exception on topics of causal nodes, so it cannot reset to another position either.
 * </ul>
 *
 * <p>A proxy, since only two of some fifty methods differ. Used by the thread that uses the
 * consumer.
 */
final class FirstPositionsConsumer implements InvocationHandler {

  private static final Logger LOG = LoggerFactory.getLogger(FirstPositionsConsumer.class);

  private final Consumer<byte[], byte[]> consumer;
  private final FirstPositions firstPositions;
  private final Duration timeout;

  private FirstPositionsConsumer(
      Consumer<byte[], byte[]> consumer, FirstPositions firstPositions, Duration timeout) {
    this.consumer = consumer;
    this.firstPositions = firstPositions;
    this.timeout = timeout;
  }

  /**
   * Wraps a consumer.
   *
   * @param timeout how long a commit or a look at the log may take
   */
  @SuppressWarnings("unchecked") // The proxy implements Consumer, whatever its type arguments.
  static Consumer<byte[], byte[]> around(
      Consumer<byte[], byte[]> consumer, FirstPositions firstPositions, Duration timeout) {
    return (Consumer<byte[], byte[]>)
        Proxy.newProxyInstance(
            FirstPositionsConsumer.class.getClassLoader(),
            new Class<?>[] {Consumer.class},
            new FirstPositionsConsumer(consumer, firstPositions, timeout));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().equals("poll")) {
      return poll((Duration) arguments[0]);
    }
    if (method.getName().equals("subscribe")
        && arguments[arguments.length - 1] instanceof ConsumerRebalanceListener listener) {
      arguments[arguments.length - 1] = new CommittingListener(listener);
    }
    try {
      return method.invoke(consumer, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private ConsumerRecords<byte[], byte[]> poll(Duration duration) {
    try {
      return consumer.poll(duration);
    } catch (OffsetOutOfRangeException e) {
      throw refusalOf(e);
    } catch (NoOffsetForPartitionException e) {
      // The commit at the assignment was fenced, or the offset was deleted since. The next poll
      // joins the group again or finds what is committed here.
      if (e.partitions().stream().noneMatch(p -> firstPositions.covers(p.topic()))) {
        throw e;
      }
      commitMissing(e.partitions());
      return ConsumerRecords.empty();
    }
  }

  private RuntimeException refusalOf(OffsetOutOfRangeException failure) {
    for (Map.Entry<TopicPartition, Long> entry : failure.offsetOutOfRangePartitions().entrySet()) {
      final TopicPartition partition = entry.getKey();
      if (firstPositions.isReceived(partition.topic())) {
        final long position = entry.getValue();
        final long start = consumer.beginningOffsets(Set.of(partition), timeout).get(partition);
        return new RefusalException(
            RefusalReason.POSITIONS_DISCARDED_UNREAD,
            position < start
                ? "the log starts above the position to be read next"
                : "the log was cut below the position to be read next",
            firstPositions.channelOf(partition),
            partition.topic(),
            position,
            start,
            failure);
      }
    }
    return failure;
  }

  private void commitMissing(Collection<TopicPartition> assigned) {
    final Set<TopicPartition> missing = firstPositions.missing(new HashSet<>(assigned));
    if (missing.isEmpty()) {
      return;
    }
    final Map<TopicPartition, OffsetAndMetadata> offsets = firstPositions.decide(missing);
    try {
      consumer.commitSync(offsets, timeout);
      LOG.info("Committed the first positions {}", forPeople(offsets));
    } catch (CommitFailedException | RebalanceInProgressException e) {
      LOG.info("The assignment of {} was overtaken; its next owner commits", missing, e);
    }
  }

  /** Such as {@code orders-0 at 17, payments-0 at 4}; without the mark, which is bytes. */
  static String forPeople(Map<TopicPartition, OffsetAndMetadata> offsets) {
    return offsets.entrySet().stream()
        .map(
            entry ->
                entry.getKey()
                    + " at "
                    + entry.getValue().offset()
                    + (FirstPositions.isMarked(entry.getValue())
                        ? ""
                        : " (its offset was lost; what was read before is passed over)"))
        .sorted()
        .collect(Collectors.joining(", "));
  }

  private final class CommittingListener implements ConsumerRebalanceListener {

    private final ConsumerRebalanceListener listener;

    CommittingListener(ConsumerRebalanceListener listener) {
      this.listener = listener;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
      commitMissing(partitions);
      listener.onPartitionsAssigned(partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
      listener.onPartitionsRevoked(partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
      listener.onPartitionsLost(partitions);
    }
  }
}
