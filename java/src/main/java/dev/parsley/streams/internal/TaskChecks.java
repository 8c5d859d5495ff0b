package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * What the brokers must show about one task before it takes in a record: that the group has read
 * nothing that the restored state does not know of, and that what it reads next is in the log. The
 * launcher asks the same of all tasks before a start; this also protects an application that is
 * started without it, and a task that moves while others run.
 *
 * <p>For one initialisation of a task, on the thread that does it.
 */
final class TaskChecks {

  private final BrokerTopicDirectory brokers;
  private final CausalStore store;
  private final boolean storeIsFresh;
  // Ordered by topic, so that of several faults the same one is told each time.
  private final Map<String, ChannelId> channels = new TreeMap<>();
  private Map<TopicPartition, OffsetAndMetadata> committed = Map.of();

  private TaskChecks(BrokerTopicDirectory brokers, CausalStore store) {
    this.brokers = brokers;
    this.store = store;
    this.storeIsFresh = store.get(StoreKeys.VERSION) == null;
  }

  /** Nothing can be checked where the application brings a directory of its own. */
  static Optional<TaskChecks> of(TopicDirectory directory, CausalStore store) {
    return directory instanceof BrokerTopicDirectory brokers
        ? Optional.of(new TaskChecks(brokers, store))
        : Optional.empty();
  }

  /**
   * The group's offsets of the received partitions, which {@link #requireStateAndPositions} judges.
   */
  Map<TopicPartition, Long> committed(
      Map<String, TopicDirectory.Topic> topics, Set<TopicPartition> received) {
    for (TopicPartition partition : received) {
      channels.put(
          partition.topic(),
          new ChannelId(topics.get(partition.topic()).id(), partition.partition()));
    }
    committed = brokers.committedWithMetadata(received);
    final Map<TopicPartition, Long> offsets = new HashMap<>();
    committed.forEach((partition, offset) -> offsets.put(partition, offset.offset()));
    return offsets;
  }

  /**
   * Judges, once the rows themselves were found right.
   *
   * @throws RefusalException ORDERING_STATE_LOST when stream threads have committed positions and
   *     there are no rows; POSITIONS_DISCARDED_UNREAD when the next position is below the log's
   *     start
   */
  void requireStateAndPositions() {
    final Map<TopicPartition, ChannelId> partitions = new HashMap<>();
    channels.forEach(
        (topic, channel) -> {
          final TopicPartition partition = new TopicPartition(topic, channel.partition());
          partitions.put(partition, channel);
          requireState(partition, channel);
        });
    final Map<TopicPartition, Long> starts = brokers.questions().logStarts(partitions.keySet());
    channels.forEach(
        (topic, channel) -> {
          final TopicPartition partition = new TopicPartition(topic, channel.partition());
          requireInLog(partition, channel, starts.get(partition));
        });
  }

  /**
   * An offset that a tool committed is let through: without the launcher that is how a group is
   * given its first positions, and it cannot be told from one that was moved later.
   */
  private void requireState(TopicPartition partition, ChannelId channel) {
    final OffsetAndMetadata offset = committed.get(partition);
    if (storeIsFresh && offset != null && FirstPositions.isOfStreams(offset)) {
      throw new RefusalException(
          RefusalReason.ORDERING_STATE_LOST,
          "the group has read this far, and the task has no ordering state: partition "
              + partition.partition()
              + " of the changelog of store "
              + store.name()
              + " has been deleted or emptied",
          channel,
          partition.topic(),
          offset.offset(),
          null,
          null);
    }
  }

  private void requireInLog(TopicPartition partition, ChannelId channel, long start) {
    final OffsetAndMetadata offset = committed.get(partition);
    final Long next = offset != null ? Long.valueOf(offset.offset()) : nextByState(channel);
    if (next != null && next < start) {
      throw new RefusalException(
          RefusalReason.POSITIONS_DISCARDED_UNREAD,
          "the log starts above the position to be read next",
          channel,
          partition.topic(),
          next,
          start,
          null);
    }
  }

  private Long nextByState(ChannelId channel) {
    final byte[] fedUpTo = store.get(StoreKeys.fedUpTo(channel));
    if (fedUpTo == null) {
      return null;
    }
    final long position = ByteBuffer.wrap(fedUpTo).getLong();
    return position == Long.MAX_VALUE ? null : position + 1;
  }
}
