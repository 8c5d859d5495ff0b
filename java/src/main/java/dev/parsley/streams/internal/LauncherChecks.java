package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory.Topic;
import dev.parsley.streams.internal.ChangelogReader.OrderingState;
import dev.parsley.streams.internal.LauncherTopology.CausalNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * What the brokers must show before an application with causal nodes may start. Changes nothing,
 * neither here nor on the brokers, so it can be done while other instances run.
 */
final class LauncherChecks {

  private final LauncherTopology topology;
  private final BrokerQuestions questions;
  private final ChangelogReader changelogs;
  private final FirstPositions firstPositions;

  LauncherChecks(
      LauncherTopology topology,
      BrokerQuestions questions,
      ChangelogReader changelogs,
      FirstPositions firstPositions) {
    this.topology = topology;
    this.questions = questions;
    this.changelogs = changelogs;
    this.firstPositions = firstPositions;
  }

  /** Throws the first {@link RefusalException} that applies. */
  void run() {
    final Set<String> names = new HashSet<>(topology.receivedTopics());
    for (CausalNode node : topology.nodes()) {
      names.addAll(node.taskTopics());
      names.add(topology.changelogOf(node));
    }
    final Map<String, Topic> topics = questions.describe(names);
    for (CausalNode node : topology.nodes()) {
      requireTopics(node, topics);
      requireWidth(node, topics);
    }
    // The offsets come first: what is committed with them is then certain to be in the changelog
    // once the transactions that are open by now have ended.
    final Set<TopicPartition> received = partitionsOf(topology.receivedTopics(), topics);
    final Map<TopicPartition, OffsetAndMetadata> committed =
        questions.committed(topology.applicationId(), received);
    for (CausalNode node : topology.nodes()) {
      requireState(node, topics, committed);
    }
    received.removeAll(committed.keySet());
    firstPositions.decide(received); // For what it refuses; committed when they are assigned.
  }

  private void requireTopics(CausalNode node, Map<String, Topic> topics) {
    for (String name : node.topics()) {
      if (!topics.containsKey(name)) {
        requireNoHolds(node, name, topics);
        throw new RefusalException(
            RefusalReason.SUBSTRATE_MISCONFIGURED,
            "the topic that '"
                + node.name()
                + "' receives does not exist; create it first, or take it out of the topology",
            null,
            name,
            null,
            null,
            null);
      }
    }
  }

  private void requireNoHolds(CausalNode node, String name, Map<String, Topic> topics) {
    final Map<TopicPartition, OrderingState> states =
        changelogs.read(partitionsOf(Set.of(topology.changelogOf(node)), topics));
    final TreeSet<ChannelId> lost = new TreeSet<>();
    final Map<ChannelId, TreeSet<Long>> held = new HashMap<>();
    for (OrderingState state : states.values()) {
      final ChannelId channel = state.named(name);
      if (channel != null && !state.held(channel).isEmpty()) {
        lost.add(channel);
        held.put(channel, state.held(channel));
      }
    }
    if (!lost.isEmpty()) {
      final ChannelId first = lost.first();
      throw new RefusalException(
          RefusalReason.CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES,
          "the topic does not exist any more, and '"
              + node.name()
              + "' holds "
              + held.values().stream().mapToInt(TreeSet::size).sum()
              + " records of it, on "
              + lost.size()
              + " partitions; the first position is of the first of them",
          first,
          name,
          held.get(first).first(),
          null,
          null);
    }
  }

  private void requireWidth(CausalNode node, Map<String, Topic> topics) {
    final Topic changelog = topics.get(topology.changelogOf(node));
    if (changelog == null) {
      return;
    }
    String widest = node.topics().first();
    for (String name : node.taskTopics()) {
      // A repartition topic may not have been made yet; Kafka Streams fits it to the others.
      if (topics.containsKey(name)
          && topics.get(name).partitions() > topics.get(widest).partitions()) {
        widest = name;
      }
    }
    final int width = topics.get(widest).partitions();
    if (changelog.partitions() != width) {
      throw new RefusalException(
          RefusalReason.TASK_WIDTH_CHANGED,
          "the ordering state of '"
              + node.name()
              + "' was kept for "
              + changelog.partitions()
              + " tasks, and the widest topic has "
              + width
              + " partitions",
          null,
          widest,
          null,
          null,
          null);
    }
  }

  private void requireState(
      CausalNode node,
      Map<String, Topic> topics,
      Map<TopicPartition, OffsetAndMetadata> committed) {
    final String changelog = topology.changelogOf(node);
    // One partition with its offset for each task that must have state, to name in the refusal.
    final Map<Integer, TopicPartition> readFrom = new TreeMap<>();
    committed.forEach(
        (partition, offset) -> {
          if (node.topics().contains(partition.topic()) && !FirstPositions.isMarked(offset)) {
            readFrom.merge(
                partition.partition(),
                partition,
                (one, other) -> one.topic().compareTo(other.topic()) < 0 ? one : other);
          }
        });
    final Set<TopicPartition> needed = new HashSet<>();
    readFrom.keySet().forEach(task -> needed.add(new TopicPartition(changelog, task)));
    final Set<TopicPartition> lost =
        topics.containsKey(changelog) ? changelogs.withoutState(needed) : needed;
    for (Map.Entry<Integer, TopicPartition> task : readFrom.entrySet()) {
      if (lost.contains(new TopicPartition(changelog, task.getKey()))) {
        final TopicPartition partition = task.getValue();
        throw new RefusalException(
            RefusalReason.ORDERING_STATE_LOST,
            "the group has read this far, and partition "
                + task.getKey()
                + " of the changelog topic "
                + changelog
                + (topics.containsKey(changelog) ? " is empty" : " does not exist"),
            new ChannelId(topics.get(partition.topic()).id(), partition.partition()),
            partition.topic(),
            committed.get(partition).offset(),
            null,
            null);
      }
    }
  }

  private static Set<TopicPartition> partitionsOf(Set<String> names, Map<String, Topic> topics) {
    final Set<TopicPartition> partitions = new HashSet<>();
    for (String name : names) {
      final Topic topic = topics.get(name);
      for (int index = 0; topic != null && index < topic.partitions(); index++) {
        partitions.add(new TopicPartition(name, index));
      }
    }
    return partitions;
  }
}
