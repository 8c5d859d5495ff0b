package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Records that come again, and offsets of the group that somebody moves or deletes. */
class FeedRefusalTest {

  private static final String TO_OFFSET =
      "kafka-consumer-groups.sh --bootstrap-server <brokers> --group <application.id> --topic %s:0"
          + " --reset-offsets --to-offset %d --execute";
  private static final String DELETE_GROUP =
      "kafka-consumer-groups.sh --bootstrap-server <brokers> --group <application.id> --delete";

  @BrokerTest
  @Reaches(RefusalReason.OUT_OF_ORDER_FEED)
  void shouldGoOnOnceNothingSeeksBackAnyMore() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.feed("orders", "a");
      app.feed("orders", "b");
      app.feed("payments", "c", app.after("orders", 1));
      for (int start = 0; start < 2; start++) { // It comes back, as the advice says it may.
        final RefusalException refusal =
            app.refused(
                RefusalReason.OUT_OF_ORDER_FEED,
                app.instance(Map.of()).clientSupplier(new SeekingSupplier(app.topic("orders"))));
        assertEquals(Optional.of(app.topic("orders")), refusal.topic());
        assertEquals(Optional.of(app.channel("orders", 0)), refusal.channel());
        assertEquals(OptionalLong.of(0), refusal.position());
      }
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  void shouldDropReplaysOfAGroupThatWasMovedBackOrDeleted() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.feed("orders", "a");
      app.feed("orders", "b");
      app.feed("payments", "c", app.after("orders", 2));
      app.run();
      app.changelog.awaitHeld(1);
      app.fed.forEach(app::awaitRead);
      // Kafka itself does not move a group that reads.
      final String answer = app.operator.run(TO_OFFSET.formatted(app.topic("orders"), 0));
      assertTrue(answer.contains("Error"), answer);
      assertEquals(2, app.committed("orders", 0));
      app.stop();

      app.operator.say(TO_OFFSET.formatted(app.topic("orders"), 0));
      app.operator.say(TO_OFFSET.formatted(app.topic("payments"), 0));
      app.run();
      app.feed("orders", "d");
      app.requireDelivered(app.fed);

      app.operator.say(DELETE_GROUP);
      app.feed("orders", "e");
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  void shouldNeverDeliverWhatTheGroupWasMovedPast() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.feed("orders", "a");
      app.run();
      app.fed.forEach(app::awaitRead);
      app.stop();
      final Application.Fed passed = app.feed("orders", "passed over");
      app.feed("orders", "b");
      app.feed("payments", "of the one passed over", app.after("orders", passed.offset()));
      app.operator.say(TO_OFFSET.formatted(app.topic("orders"), passed.offset() + 1));
      app.run();
      app.requireDelivered(app.allBut(passed));

      // Moved back later it is a replay: what was caused by it is out already.
      app.operator.say(TO_OFFSET.formatted(app.topic("orders"), 0));
      app.feed("orders", "c");
      app.run();
      app.requireDelivered(app.allBut(passed));
    }
  }

  /** A consumer that is set back to the first record, once, behind Kafka Streams' back. */
  private static final class SeekingSupplier extends PlainClients {

    private final String topic;

    SeekingSupplier(String topic) {
      this.topic = topic;
    }

    @Override
    public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
      final AtomicBoolean sought = new AtomicBoolean();
      return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()) {
        @Override
        public ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
          final ConsumerRecords<byte[], byte[]> records = super.poll(timeout);
          if (records.records(topic).iterator().hasNext() && sought.compareAndSet(false, true)) {
            seek(new TopicPartition(topic, 0), 0);
          }
          return records;
        }
      };
    }
  }
}
