package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** What the log says of first positions; that they are committed is tested against brokers. */
class FirstPositionsConsumerTest {

  @Test
  void shouldTellFirstPositionsWithoutTheirMark() {
    assertEquals(
        "orders-0 at 17, payments-0 at 4 (its offset was lost; what was read before is passed"
            + " over)",
        FirstPositionsConsumer.forPeople(
            Map.of(
                new TopicPartition("payments", 0), new OffsetAndMetadata(4),
                new TopicPartition("orders", 0), new OffsetAndMetadata(17, FirstPositions.MARK))));
  }
}
