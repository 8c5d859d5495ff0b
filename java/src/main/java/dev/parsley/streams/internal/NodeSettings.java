package dev.parsley.streams.internal;

import dev.parsley.streams.TopicDirectory;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What the builder was told about a causal node. Immutable; shared by all tasks of the node.
 *
 * @param name without the prefix of its store
 * @param topics those received, in the order they were declared
 * @param budgetBytes the node's own budget, if it has one
 * @param directory null for the one of the brokers; one that was given is not closed by the node
 * @param storeNames the stores the application's processor may reach
 */
public record NodeSettings<K, V>(
    String name,
    List<DeclaredTopic<K, V>> topics,
    OptionalLong budgetBytes,
    TopicDirectory directory,
    Set<String> storeNames) {

  /** What the name of every ordering store begins with. No application store may. */
  public static final String STORE_PREFIX = "__parsley.";

  public NodeSettings {
    topics = List.copyOf(topics);
    storeNames = Collections.unmodifiableSet(new LinkedHashSet<>(storeNames));
  }

  Set<String> topicNames() {
    final Set<String> names = new LinkedHashSet<>();
    topics.forEach(topic -> names.add(topic.name()));
    return names;
  }

  String storeName() {
    return STORE_PREFIX + name;
  }
}
