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
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
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
 * The main consumer of a stream thread, with three things added.
 *
 * <ul>
 *   <li>When partitions are assigned, the first positions of those that have none are committed
 *       before Kafka Streams hears of the assignment, and so before a causal node looks for them.
 *       The commit carries the member's generation: a start that was overtaken by another is
 *       fenced.
 *   <li>A position that is not in the log is a refusal. Kafka Streams never sees the consumer's own
 *       exception on topics of causal nodes, so it cannot reset to another position either.
 *   <li>After a failure, refusals among them, it leaves the group as it closes. Kafka Streams' own
 *       way is to stay a member until the session times out. Until then nobody reads its
 *       partitions, and Kafka moves no offsets of the group, which is the way out of some refusals.
 * </ul>
 *
 * <p>A proxy, since only three of some fifty methods differ. Used by the thread that uses the
 * consumer.
 */
final class FirstPositionsConsumer implements InvocationHandler {

  private static final Logger LOG = LoggerFactory.getLogger(FirstPositionsConsumer.class);

  private final Consumer<byte[], byte[]> consumer;
  private final FirstPositions firstPositions;
  private final Duration timeout;
  private final BooleanSupplier failed;

  private FirstPositionsConsumer(
      Consumer<byte[], byte[]> consumer,
      FirstPositions firstPositions,
      Duration timeout,
      BooleanSupplier failed) {
    this.consumer = consumer;
    this.firstPositions = firstPositions;
    this.timeout = timeout;
    this.failed = failed;
  }

  /**
   * Wraps a consumer.
   *
   * @param timeout how long a commit or a look at the log may take
   * @param failed whether a failure has stopped the client; asked as the consumer is closed
   */
  @SuppressWarnings("unchecked") // The proxy implements Consumer, whatever its type arguments.
  static Consumer<byte[], byte[]> around(
      Consumer<byte[], byte[]> consumer,
      FirstPositions firstPositions,
      Duration timeout,
      BooleanSupplier failed) {
    return (Consumer<byte[], byte[]>)
        Proxy.newProxyInstance(
            FirstPositionsConsumer.class.getClassLoader(),
            new Class<?>[] {Consumer.class},
            new FirstPositionsConsumer(consumer, firstPositions, timeout, failed));
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
    if (method.getName().equals("close")
        && arguments != null
        && arguments[0] instanceof CloseOptions options
        && failed.getAsBoolean()) {
      options.withGroupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP);
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
        final Set<TopicPartition> one = Set.of(partition);
        final long start = consumer.beginningOffsets(one, timeout).get(partition);
        final boolean below = position < start;
        return new RefusalException(
            RefusalReason.POSITIONS_DISCARDED_UNREAD,
            below
                ? "the log starts above the position to be read next"
                : "the log was cut below the position to be read next",
            firstPositions.channelOf(partition),
            partition.topic(),
            position,
            below ? start : consumer.endOffsets(one, timeout).get(partition),
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
