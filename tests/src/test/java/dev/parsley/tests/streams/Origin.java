package dev.parsley.tests.streams;

import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** Where a record was read. The processor under test writes it on the copy that it forwards. */
public record Origin(String topic, int partition, long offset) implements Comparable<Origin> {

  /** The header of a copy that carries it. */
  static final String HEADER = "test.origin";

  private static final Comparator<Origin> ORDER =
      Comparator.comparing(Origin::topic)
          .thenComparing(Origin::partition)
          .thenComparing(Origin::offset);

  public static Origin of(ConsumerRecord<?, ?> record) {
    return new Origin(record.topic(), record.partition(), record.offset());
  }

  /** The origin that a copy names; null when it names none. */
  public static Origin named(ConsumerRecord<?, ?> copy) {
    final Header header = copy.headers().lastHeader(HEADER);
    if (header == null) {
      return null;
    }
    final String[] parts = new String(header.value(), StandardCharsets.UTF_8).split("/");
    return new Origin(parts[0], Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
  }

  byte[] toBytes() {
    return toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public int compareTo(Origin other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return topic + "/" + partition + "/" + offset;
  }
}
