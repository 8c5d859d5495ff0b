package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The judge of the other tests sees each kind of fault. */
class JudgeTest {

  private static final Map<String, Uuid> TOPIC_IDS =
      Map.of("orders", new Uuid(1, 1), "payments", new Uuid(2, 2));
  private static final ChannelId ORDERS = new ChannelId(TOPIC_IDS.get("orders"), 0);
  private static final ChannelId PAYMENTS = new ChannelId(TOPIC_IDS.get("payments"), 0);

  private final List<ConsumerRecord<byte[], byte[]>> fed = new ArrayList<>();
  private final List<ConsumerRecord<byte[], byte[]>> copies = new ArrayList<>();

  @BeforeEach
  void feed() {
    fed.add(record("orders", 0, Causes.none()));
    fed.add(record("orders", 1, Causes.none()));
    fed.add(record("payments", 0, Causes.of(ORDERS, 1)));
  }

  @Test
  void shouldAcceptCausesBeforeEffects() {
    copy(0, Causes.of(ORDERS, 0));
    copy(1, Causes.of(ORDERS, 1));
    copy(2, Causes.of(ORDERS, 1).plus(PAYMENTS, 0));
    assertEquals(List.of(), violations());
  }

  @Test
  void shouldSeeAnEffectBeforeItsCause() {
    copy(0, Causes.of(ORDERS, 0));
    copy(2, Causes.of(ORDERS, 1).plus(PAYMENTS, 0));
    copy(1, Causes.of(ORDERS, 1).plus(PAYMENTS, 0));
    requireOne("payments/0/0 came before orders 1");
  }

  @Test
  void shouldSeeALossAndADuplicate() {
    copy(0, Causes.of(ORDERS, 0));
    copy(1, Causes.of(ORDERS, 1));
    copy(1, Causes.of(ORDERS, 1));
    assertEquals(List.of("duplicate of orders/0/1", "lost payments/0/0"), violations());
  }

  @Test
  void shouldSeeAChannelOutOfItsOrder() {
    fed.remove(2);
    copy(1, Causes.of(ORDERS, 1));
    copy(0, Causes.of(ORDERS, 1));
    requireOne("orders/0/1 came before position 0 of its own");
  }

  @Test
  void shouldTellNullFromEmptyInEachPart() {
    fed.clear();
    final ConsumerRecord<byte[], byte[]> original = record("orders", 0, Causes.none());
    fed.add(original);
    for (int part = 0; part < 4; part++) {
      copies.clear();
      final Headers headers = new RecordHeaders(original.headers().toArray());
      if (part == 2) {
        headers.remove("null").add("null", new byte[0]);
      }
      copies.add(
          copyOf(
              original,
              part == 0 ? null : original.key(),
              part == 1 ? new byte[0] : original.value(),
              part == 3 ? original.timestamp() + 1 : original.timestamp(),
              headers,
              Causes.of(ORDERS, 0),
              1));
      requireOne(
          List.of("the key", "the value", "the headers", "the timestamp").get(part) + " changed");
    }
  }

  @Test
  void shouldSeeAStampThatLacksOrInvents() {
    fed.subList(1, 3).clear();
    copy(0, Causes.of(PAYMENTS, 9));
    assertEquals(2, violations().size(), violations()::toString);
  }

  @Test
  void shouldSeeACountOfTheApplicationThatIsBehind() {
    fed.subList(1, 3).clear();
    final ConsumerRecord<byte[], byte[]> original = fed.get(0);
    copies.add(
        copyOf(
            original,
            original.key(),
            original.value(),
            original.timestamp(),
            original.headers(),
            Causes.of(ORDERS, 0),
            2));
    requireOne("the application's own store counted 2 instead of 1");
  }

  private List<String> violations() {
    return new Judge(TOPIC_IDS).violations(fed, copies);
  }

  private void requireOne(String beginning) {
    final List<String> violations = violations();
    assertEquals(1, violations.size(), violations::toString);
    assertTrue(violations.get(0).startsWith(beginning), violations::toString);
  }

  private void copy(int index, Causes stamp) {
    final ConsumerRecord<byte[], byte[]> original = fed.get(index);
    copies.add(
        copyOf(
            original,
            original.key(),
            original.value(),
            original.timestamp(),
            original.headers(),
            stamp,
            copies.size() + 1L));
  }

  private static ConsumerRecord<byte[], byte[]> record(String topic, long offset, Causes causes) {
    final Headers headers = new RecordHeaders().add("null", null);
    causes.writeTo(headers);
    return at(topic, offset, new byte[0], null, 5, headers);
  }

  private ConsumerRecord<byte[], byte[]> copyOf(
      ConsumerRecord<byte[], byte[]> original,
      byte[] key,
      byte[] value,
      long timestamp,
      Headers originals,
      Causes stamp,
      long count) {
    final Headers headers = new RecordHeaders(originals.toArray());
    stamp.writeTo(headers);
    headers.add(Origin.HEADER, Origin.of(original).toBytes());
    headers.add(CopyingNode.COUNT_HEADER, ByteBuffer.allocate(Long.BYTES).putLong(count).array());
    return at("output", copies.size(), key, value, timestamp, headers);
  }

  private static ConsumerRecord<byte[], byte[]> at(
      String topic, long offset, byte[] key, byte[] value, long timestamp, Headers headers) {
    return new ConsumerRecord<>(
        topic,
        0,
        offset,
        timestamp,
        TimestampType.CREATE_TIME,
        -1,
        -1,
        key,
        value,
        headers,
        Optional.empty());
  }
}
