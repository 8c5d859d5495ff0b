package dev.parsley.tests.streams;

import dev.parsley.streams.Causes;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * What a record says, apart from where it lies and what it depends on.
 *
 * @param key null and empty are two things
 * @param value null and empty are two things
 */
public record Payload(byte[] key, byte[] value, List<Header> headers) {

  private static final int LARGE_BYTES = 100_000;

  public static Payload of(String value) {
    return new Payload(bytes(value), bytes(value), List.of());
  }

  /**
   * One of several shapes that are easily confused or damaged, with a number to tell them apart.
   */
  public static Payload awkward(int number) {
    final byte[] text = bytes("number " + number);
    final List<Header> plain = List.of(new RecordHeader("number", text));
    return switch (number % 8) {
      case 0 -> new Payload(null, text, plain);
      case 1 -> new Payload(text, null, plain);
      case 2 -> new Payload(new byte[0], new byte[0], plain);
      case 3 -> new Payload(null, null, List.of());
      case 4 ->
          new Payload(
              text,
              text,
              List.of(
                  new RecordHeader("twice", text),
                  new RecordHeader("null", (byte[]) null),
                  new RecordHeader("empty", new byte[0]),
                  new RecordHeader("twice", bytes("again"))));
      case 5 -> new Payload(text, filled(LARGE_BYTES, (byte) number), plain);
      case 6 -> new Payload(text, text, List.of(new RecordHeader("größe €", text)));
      default -> new Payload(text, text, plain);
    };
  }

  public ProducerRecord<byte[], byte[]> to(
      String topic, int partition, long timestamp, Causes causes) {
    final ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(topic, partition, timestamp, key, value, headers);
    if (!causes.equals(Causes.none())) {
      causes.writeTo(record.headers());
    }
    return record;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] filled(int size, byte content) {
    final byte[] bytes = new byte[size];
    Arrays.fill(bytes, content);
    return bytes;
  }
}
