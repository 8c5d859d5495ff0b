package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory.Topic;
import dev.parsley.streams.internal.BrokerQuestions.LogRange;
import dev.parsley.streams.internal.ChangelogReader.OrderingState;
import dev.parsley.streams.internal.LauncherTopology.CausalNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Decides where the group starts on partitions it has no committed offset for. With the offset
 * reset at none it would otherwise not start at all, and a causal node would not know that what
 * came before the first position will never come.
 *
 * <p>Immutable but for the clients it asks; used by the launcher and by its stream threads.
 */
final class FirstPositions {

  private static final String MARK_TEXT = "parsley:first-position";

  /**
   * Metadata of an offset that was committed before anything was read, so that a group which has
   * only such offsets is not taken for one that lost its state. Kafka Streams reads its own
   * metadata back: a version byte and the partition's time, -1 here. It passes over what follows
   * them in version 1, and over metadata it cannot read with no more than a line in the log.
   */
  static final String MARK =
      Base64.getEncoder()
          .encodeToString(
              ByteBuffer.allocate(1 + Long.BYTES + MARK_TEXT.length())
                  .put((byte) 1)
                  .putLong(-1L)
                  .put(MARK_TEXT.getBytes(StandardCharsets.US_ASCII))
                  .array());

  private final LauncherTopology topology;
  private final BrokerQuestions questions;
  private final ChangelogReader changelogs;
  private final FirstPositionsSetting setting;
  private final Set<String> received;

  /**
   * @param setting where a partition that was never read before is read from
   */
  FirstPositions(
      LauncherTopology topology,
      BrokerQuestions questions,
      ChangelogReader changelogs,
      FirstPositionsSetting setting) {
    this.topology = topology;
    this.questions = questions;
    this.changelogs = changelogs;
    this.setting = setting;
    this.received = topology.receivedTopics();
  }

  /** Whether an offset is a first position that nothing was read from yet. */
  static boolean isMarked(OffsetAndMetadata offset) {
    return offset.metadata().equals(MARK);
  }

  /**
   * Whether an offset was certainly committed by a stream thread that had read up to it. Tools and
   * plain consumers commit no metadata, so theirs do not tell.
   */
  static boolean isOfStreams(OffsetAndMetadata offset) {
    return !offset.metadata().isEmpty() && !isMarked(offset);
  }

  /** Whether a causal node receives this topic. */
  boolean isReceived(String topic) {
    return received.contains(topic);
  }

  /** Whether the first position of a partition of this topic is ours to commit. */
  boolean covers(String topic) {
    return isReceived(topic) || topology.internalTopics().contains(topic);
  }

  /** The channel that a partition of a received topic is now; null when the topic is gone. */
  ChannelId channelOf(TopicPartition partition) {
    return channelsOf(Set.of(partition)).get(partition);
  }

  private Map<TopicPartition, ChannelId> channelsOf(Set<TopicPartition> partitions) {
    final Set<String> names = new HashSet<>();
    partitions.forEach(partition -> names.add(partition.topic()));
    names.retainAll(received);
    final Map<String, Topic> topics = questions.describe(names);
    final Map<TopicPartition, ChannelId> channels = new HashMap<>();
    for (TopicPartition partition : partitions) {
      final Topic topic = topics.get(partition.topic());
      if (topic != null) {
        channels.put(partition, new ChannelId(topic.id(), partition.partition()));
      }
    }
    return channels;
  }

  /** Those of the partitions that are ours and have no committed offset. */
  Set<TopicPartition> missing(Set<TopicPartition> partitions) {
    final Set<TopicPartition> missing = new HashSet<>(partitions);
    missing.removeIf(partition -> !covers(partition.topic()));
    missing.removeAll(questions.committed(topology.applicationId(), missing).keySet());
    return missing;
  }

  /**
   * The offsets to commit for partitions that have none.
   *
   * <p>Where the ordering state has been fed from the partition before, the group's offset was lost
   * and the log's start is taken: the positions that were fed are dropped as replays.
   *
   * @throws RefusalException POSITIONS_DISCARDED_UNREAD when the log starts above the position that
   *     would be fed next or that the setting names; SUBSTRATE_MISCONFIGURED when it ends below
   *     that one; CHANNEL_IDENTITY_CHANGED when the state knows another topic by the name
   */
  Map<TopicPartition, OffsetAndMetadata> decide(Set<TopicPartition> missing) {
    final Map<TopicPartition, LogRange> ranges = questions.logRanges(missing);
    final Map<TopicPartition, OrderingState> states = changelogs.read(existingChangelogs(missing));
    final Map<TopicPartition, ChannelId> channels = channelsOf(missing);
    final Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    for (TopicPartition partition : missing) {
      final LogRange range = ranges.get(partition);
      final ChannelId channel = channels.get(partition);
      final OffsetAndMetadata offset;
      if (channel != null && wasFed(partition, channel, range, states)) {
        offset = new OffsetAndMetadata(range.start());
      } else if (isReceived(partition.topic())) {
        offset = new OffsetAndMetadata(firstOf(partition, channel, range), MARK);
      } else {
        offset = new OffsetAndMetadata(range.start(), MARK);
      }
      offsets.put(partition, offset);
    }
    return offsets;
  }

  /** Where the setting says that a partition begins which was never read. */
  private long firstOf(TopicPartition partition, ChannelId channelOrNull, LogRange range) {
    final Long named = setting.named().get(partition);
    if (named == null) {
      return setting.latest() ? range.end() : range.start();
    }
    if (named < range.start() || named > range.end()) {
      throw new RefusalException(
          named < range.start()
              ? RefusalReason.POSITIONS_DISCARDED_UNREAD
              : RefusalReason.SUBSTRATE_MISCONFIGURED,
          "parsley.first.positions names position "
              + named
              + ", and the log has "
              + range.start()
              + " to "
              + range.end(),
          channelOrNull,
          partition.topic(),
          named,
          named < range.start() ? range.start() : range.end(),
          null);
    }
    return named;
  }

  private Set<TopicPartition> existingChangelogs(Set<TopicPartition> missing) {
    final Map<String, Set<Integer>> wanted = new HashMap<>();
    for (CausalNode node : topology.nodes()) {
      for (TopicPartition partition : missing) {
        if (node.topics().contains(partition.topic())) {
          wanted
              .computeIfAbsent(topology.changelogOf(node), changelog -> new HashSet<>())
              .add(partition.partition());
        }
      }
    }
    final Set<TopicPartition> existing = new HashSet<>();
    if (!wanted.isEmpty()) {
      questions
          .describe(wanted.keySet())
          .forEach(
              (changelog, topic) -> {
                for (int partition : wanted.get(changelog)) {
                  if (partition < topic.partitions()) {
                    existing.add(new TopicPartition(changelog, partition));
                  }
                }
              });
    }
    return existing;
  }

  private boolean wasFed(
      TopicPartition partition,
      ChannelId channel,
      LogRange range,
      Map<TopicPartition, OrderingState> states) {
    boolean fed = false;
    for (CausalNode node : topology.nodes()) {
      final OrderingState state =
          states.get(new TopicPartition(topology.changelogOf(node), partition.partition()));
      if (state == null || !node.topics().contains(partition.topic())) {
        continue;
      }
      final ChannelId named = state.named(partition.topic());
      if (named != null && !named.equals(channel)) {
        throw new RefusalException(
            RefusalReason.CHANNEL_IDENTITY_CHANGED,
            "the ordering state of '" + node.name() + "' knows this topic as channel " + named,
            channel,
            partition.topic(),
            null,
            null,
            null);
      }
      final Long fedUpTo = state.fedUpTo(channel);
      if (fedUpTo != null) {
        fed = true;
        if (fedUpTo != Long.MAX_VALUE && range.start() > fedUpTo + 1) {
          throw new RefusalException(
              RefusalReason.POSITIONS_DISCARDED_UNREAD,
              "the group has no committed offset here, and the log starts above the position that '"
                  + node.name()
                  + "' would read next",
              channel,
              partition.topic(),
              fedUpTo + 1,
              range.start(),
              null);
        }
      }
    }
    return fed;
  }
}
