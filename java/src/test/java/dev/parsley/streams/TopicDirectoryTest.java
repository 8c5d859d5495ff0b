package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.TopicDirectory.Topic;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

class TopicDirectoryTest {

  @Test
  void shouldKnowTheFixedTopicsAndNoOthers() {
    final Uuid id = new Uuid(1, 2);
    final Map<String, Uuid> given = new HashMap<>(Map.of("orders", id));
    try (TopicDirectory directory = TopicDirectory.fixed(given)) {
      given.clear();
      assertEquals(
          Map.of("orders", new Topic(id, Integer.MAX_VALUE)),
          directory.describe(Set.of("orders", "payments")));
      assertTrue(directory.gone(Set.of(id)).isEmpty());
      assertTrue(directory.committed(Set.of(new TopicPartition("orders", 0))).isEmpty());
    }
  }
}
