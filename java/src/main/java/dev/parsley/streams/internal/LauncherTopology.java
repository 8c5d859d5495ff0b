package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyDescription;
import org.apache.kafka.streams.TopologyDescription.Processor;
import org.apache.kafka.streams.TopologyDescription.Sink;
import org.apache.kafka.streams.TopologyDescription.Source;
import org.apache.kafka.streams.TopologyDescription.Subtopology;

/**
 * The causal nodes of a topology, as its public description shows them: a processor that has a
 * store named {@code __parsley.<name>} is one.
 *
 * @param applicationId the application they run in, which their topics of our own are named after
 * @param nodes every causal node, at least one
 * @param internalTopics full names of the repartition topics that the topology reads
 */
public record LauncherTopology(
    String applicationId, List<CausalNode> nodes, Set<String> internalTopics) {

  private static final String STORE_PREFIX = NodeSettings.STORE_PREFIX;
  private static final String INTERNAL_TOPIC_SUFFIX = "-repartition";

  /**
   * One causal node.
   *
   * @param name its name, without the prefix of its store
   * @param topics the topics whose records reach it
   * @param taskTopics every topic its tasks read, which decides how many tasks there are
   */
  public record CausalNode(String name, SortedSet<String> topics, SortedSet<String> taskTopics) {}

  /**
   * Finds the causal nodes and refuses what they cannot be fed by.
   *
   * @throws RefusalException SUBSTRATE_MISCONFIGURED for a topic pattern, a repartition topic or
   *     another causal node above a causal node
   * @throws IllegalArgumentException when there is no causal node
   */
  public static LauncherTopology of(Topology topology, String applicationId) {
    final TopologyDescription description = topology.describe();
    final Set<String> written = new HashSet<>();
    for (Subtopology part : description.subtopologies()) {
      for (TopologyDescription.Node node : part.nodes()) {
        if (node instanceof Sink sink && sink.topic() != null) {
          written.add(sink.topic());
        }
      }
    }
    final List<CausalNode> nodes = new ArrayList<>();
    final Set<String> internalTopics = new TreeSet<>();
    for (Subtopology part : description.subtopologies()) {
      final Names names = new Names(applicationId, written);
      final SortedSet<String> taskTopics = new TreeSet<>();
      for (TopologyDescription.Node node : part.nodes()) {
        if (node instanceof Source source && source.topicSet() != null) {
          source.topicSet().forEach(topic -> taskTopics.add(names.full(topic)));
        }
      }
      internalTopics.addAll(names.internalTopics);
      for (TopologyDescription.Node node : part.nodes()) {
        final String name = causalName(node);
        if (name != null) {
          nodes.add(new CausalNode(name, topicsAbove(name, node, names), taskTopics));
        }
      }
    }
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException(
          "the topology has no causal node: add one built with CausalProcessor, or start the"
              + " application with KafkaStreams");
    }
    return new LauncherTopology(applicationId, List.copyOf(nodes), Set.copyOf(internalTopics));
  }

  /** Every topic that some causal node receives. */
  Set<String> receivedTopics() {
    final Set<String> topics = new TreeSet<>();
    nodes.forEach(node -> topics.addAll(node.topics()));
    return topics;
  }

  /** The received topics of each node by its name. */
  public Map<String, Set<String>> fedTopics() {
    final Map<String, Set<String>> fed = new TreeMap<>();
    nodes.forEach(node -> fed.put(node.name(), node.topics()));
    return fed;
  }

  /** The topic that holds a node's ordering state, one partition for each task. */
  String changelogOf(CausalNode node) {
    return applicationId + "-" + STORE_PREFIX + node.name() + "-changelog";
  }

  private static String causalName(TopologyDescription.Node node) {
    if (node instanceof Processor processor) {
      for (String store : processor.stores()) {
        if (store.startsWith(STORE_PREFIX)) {
          return store.substring(STORE_PREFIX.length());
        }
      }
    }
    return null;
  }

  private static SortedSet<String> topicsAbove(
      String name, TopologyDescription.Node causal, Names names) {
    final SortedSet<String> topics = new TreeSet<>();
    final Set<TopologyDescription.Node> seen = new HashSet<>();
    final List<TopologyDescription.Node> open = new ArrayList<>(causal.predecessors());
    while (!open.isEmpty()) {
      final TopologyDescription.Node node = open.remove(open.size() - 1);
      if (!seen.add(node)) {
        continue;
      }
      if (causalName(node) != null) {
        throw misfed(
            name,
            "is fed by the causal node '"
                + causalName(node)
                + "'; let that one write to a topic, and this one read it");
      }
      if (node instanceof Source source) {
        if (source.topicSet() == null) {
          throw misfed(
              name,
              "is fed by the topic pattern "
                  + source.topicPattern()
                  + "; name the topics, since the received ones must be known");
        }
        for (String topic : source.topicSet()) {
          if (names.isInternal(topic)) {
            throw misfed(
                name,
                "is fed by the repartition topic "
                    + topic
                    + "; write to a topic of your own, and read it with a source of byte arrays");
          }
          topics.add(topic);
        }
      }
      open.addAll(node.predecessors());
    }
    return topics;
  }

  private static RefusalException misfed(String name, String detail) {
    return new RefusalException(
        RefusalReason.SUBSTRATE_MISCONFIGURED, "the causal node '" + name + "' " + detail);
  }

  /** Tells repartition topics, which a description shows without the application's id. */
  private static final class Names {
    private final String applicationId;
    private final Set<String> written;
    private final Set<String> internalTopics = new TreeSet<>();

    Names(String applicationId, Set<String> written) {
      this.applicationId = applicationId;
      this.written = written;
    }

    boolean isInternal(String topic) {
      return topic.endsWith(INTERNAL_TOPIC_SUFFIX) && written.contains(topic);
    }

    String full(String topic) {
      if (!isInternal(topic)) {
        return topic;
      }
      internalTopics.add(applicationId + "-" + topic);
      return applicationId + "-" + topic;
    }
  }
}
