package dev.parsley.streams;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/**
 * Tells a causal node which topics there are, by id, and where its group stands.
 *
 * <p>Asked once for each task initialisation, on the thread that initialises it; several stream
 * threads may ask at the same time. An answer is believed, so an implementation that could not get
 * one throws instead of answering with less.
 */
public interface TopicDirectory extends AutoCloseable {

  /**
   * What a topic is now.
   *
   * @param id the id the broker gave it
   * @param partitions how many partitions it has
   */
  record Topic(Uuid id, int partitions) {}

  /** The topics with these names. A name that is not in the answer is confirmed not to exist. */
  Map<String, Topic> describe(Set<String> names);

  /** Those of the given ids that are confirmed to exist no more. */
  Set<Uuid> gone(Set<Uuid> topicIds);

  /** The offsets the group has committed; a partition it has none for is not in the answer. */
  Map<TopicPartition, Long> committed(Set<TopicPartition> partitions);

  /** Gives up what the directory uses. Calling it again does nothing. */
  @Override
  void close();

  /**
   * A directory that never changes, for {@code TopologyTestDriver}: each topic has every partition,
   * nothing is committed and nothing is gone.
   *
   * @param topicIds the id of each topic; copied
   */
  static TopicDirectory fixed(Map<String, Uuid> topicIds) {
    final Map<String, Topic> topics = new HashMap<>();
    topicIds.forEach((name, id) -> topics.put(name, new Topic(id, Integer.MAX_VALUE)));
    return new TopicDirectory() {
      @Override
      public Map<String, Topic> describe(Set<String> names) {
        final Map<String, Topic> answer = new HashMap<>(topics);
        answer.keySet().retainAll(names);
        return answer;
      }

      @Override
      public Set<Uuid> gone(Set<Uuid> ids) {
        return Set.of();
      }

      @Override
      public Map<TopicPartition, Long> committed(Set<TopicPartition> partitions) {
        return Map.of();
      }

      @Override
      public void close() {}
    };
  }
}
