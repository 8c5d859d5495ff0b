package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/**
 * Opens one execution: asks the directory what the declared topics are, restores the engine over
 * the store's rows, and tells it which topics are gone. Writes nothing itself.
 */
final class NodeOpening<K, V> {

  private static final int TOPIC_ID_BYTES = 16;

  private final NodeSettings<K, V> settings;
  private final TopicDirectory directory;
  private final CausalStore store;
  private final int partition;

  NodeOpening(
      NodeSettings<K, V> settings, TopicDirectory directory, CausalStore store, int partition) {
    this.settings = settings;
    this.directory = directory;
    this.store = store;
    this.partition = partition;
  }

  /**
   * An open execution, the topics it receives by their index in it, and the group's offsets of
   * them.
   */
  record Opened<K, V>(
      Execution execution,
      List<ReceivedTopic<K, V>> received,
      Map<TopicPartition, Long> committed) {}

  /**
   * @param budgetBytes that of the node
   */
  Opened<K, V> open(long budgetBytes) {
    final Optional<TaskChecks> checks = TaskChecks.of(directory, store);
    final Set<String> names = new HashSet<>();
    settings.topics().forEach(topic -> names.add(topic.name()));
    final Map<String, TopicDirectory.Topic> existing = directory.describe(names);
    final Map<TopicPartition, Long> committed = committed(existing, checks);
    final List<ReceivedTopic<K, V>> received = receivedTopics(existing, committed);
    final Execution execution = Execution.open(store.handle(), budgetBytes, received);
    checks.ifPresent(TaskChecks::requireStateAndPositions);
    final Set<Uuid> gone = goneTopics(execution, received);
    if (!gone.isEmpty()) {
      execution.topicsGone(packed(gone));
    }
    return new Opened<>(execution, received, committed);
  }

  private Map<TopicPartition, Long> committed(
      Map<String, TopicDirectory.Topic> existing, Optional<TaskChecks> checks) {
    final Set<TopicPartition> partitions = new HashSet<>();
    existing.forEach(
        (name, topic) -> {
          if (topic.partitions() > partition) {
            partitions.add(new TopicPartition(name, partition));
          }
        });
    return checks.isPresent()
        ? checks.get().committed(existing, partitions)
        : directory.committed(partitions);
  }

  /** R of the rules: the declared topics that have a partition of this task's number. */
  private List<ReceivedTopic<K, V>> receivedTopics(
      Map<String, TopicDirectory.Topic> existing, Map<TopicPartition, Long> committed) {
    final List<ReceivedTopic<K, V>> received = new ArrayList<>();
    for (DeclaredTopic<K, V> declared : settings.topics()) {
      final TopicDirectory.Topic topic = existing.get(declared.name());
      if (topic == null) {
        addIfBound(declared, received);
      } else if (topic.id() == null || topic.id().equals(Uuid.ZERO_UUID)) {
        throw Substrate.misconfigured(
            "the topic has no id; it needs brokers that give topics ids", declared.name());
      } else if (topic.partitions() > partition) {
        final Long offset = committed.get(new TopicPartition(declared.name(), partition));
        received.add(
            new ReceivedTopic<>(
                declared, new ChannelId(topic.id(), partition), offset == null ? 0 : offset, true));
      }
    }
    return received;
  }

  /**
   * A topic that does not exist any more is received under the id it had when it was last seen, so
   * that the engine can judge what it holds of it. A store without that name has never seen a
   * partition of this task's number.
   */
  private void addIfBound(DeclaredTopic<K, V> declared, List<ReceivedTopic<K, V>> received) {
    final byte[] bound = store.get(StoreKeys.name(declared.name()));
    if (bound != null) {
      received.add(new ReceivedTopic<>(declared, channelOf(bound, declared.name()), 0, false));
    } else if (store.get(StoreKeys.VERSION) == null) {
      throw Substrate.misconfigured("the topic does not exist", declared.name());
    }
  }

  private static ChannelId channelOf(byte[] bound, String topic) {
    try {
      return ChannelId.ofBytes(bound);
    } catch (IllegalArgumentException e) {
      throw new RefusalException(
          RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT,
          "the row that binds the topic is no channel: " + e.getMessage(),
          null,
          topic,
          null,
          null,
          e);
    }
  }

  private Set<Uuid> goneTopics(Execution execution, List<ReceivedTopic<K, V>> received) {
    final Set<Uuid> gone = new HashSet<>();
    final Set<Uuid> asked = unpacked(execution.knownTopics());
    for (ReceivedTopic<K, V> topic : received) {
      final Uuid id = topic.channel().topicId();
      asked.remove(id); // It was described a moment ago.
      if (!topic.exists()) {
        gone.add(id);
      }
    }
    if (!asked.isEmpty()) {
      gone.addAll(directory.gone(asked));
    }
    return gone;
  }

  private static byte[] packed(Set<Uuid> topicIds) {
    final ByteBuffer out = ByteBuffer.allocate(topicIds.size() * TOPIC_ID_BYTES);
    topicIds.forEach(
        id -> out.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()));
    return out.array();
  }

  private static Set<Uuid> unpacked(byte[] topicIds) {
    final ByteBuffer in = ByteBuffer.wrap(topicIds);
    final Set<Uuid> ids = new HashSet<>();
    while (in.hasRemaining()) {
      ids.add(new Uuid(in.getLong(), in.getLong()));
    }
    return ids;
  }
}
