package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;

/** What becomes of headers on their way in and out of a node. */
class HeadersTest {

  private static final byte[] STAMP = {1, 0};

  private final Execution execution = new Execution(NativeStore.NO_STORE, 1, List.of());

  private StampedHeaders stamped(String... names) {
    return new StampedHeaders(headers(names), new RecordHeader(Causes.HEADER, STAMP), execution);
  }

  @Test
  void shouldTellReceivedHeadersApart() {
    final ReceivedHeaders received = new ReceivedHeaders();

    received.read(headers("a", "parsley.x", "b").toArray());
    assertEquals(0, received.causesCount());
    assertEquals(List.of("a", "b"), names(received.visible()));
    assertEquals(3, received.all().length);

    received.read(headers("a").add(Causes.HEADER, STAMP).toArray());
    assertEquals(1, received.causesCount());
    assertSame(STAMP, received.causes());
    assertEquals(List.of("a"), names(received.visible()));

    received.read(headers(Causes.HEADER, Causes.HEADER, Causes.HEADER).toArray());
    assertEquals(2, received.causesCount());
    assertEquals(List.of(), names(received.visible()));

    received.read(headers("a", "Parsley.causes", "parsley").toArray());
    assertEquals(0, received.causesCount());
    assertNull(received.causes());
    assertEquals(List.of("a", "Parsley.causes", "parsley"), names(received.visible()));
  }

  @Test
  void shouldKeepTheStampThroughEveryWayToCopyHeaders() {
    final StampedHeaders stamped = stamped("a");
    final List<String> both = List.of("a", Causes.HEADER);

    assertEquals(both, names(new RecordHeaders(stamped)));
    assertEquals(both, names(new RecordHeaders(stamped.toArray())));
    assertEquals(both, names(new Record<>("k", "v", 1, stamped).headers()));
    assertEquals(both, names(new ProducerRecord<>("t", 0, "k", "v", stamped).headers()));
    final RecordHeaders added = new RecordHeaders();
    stamped.forEach(added::add);
    assertEquals(both, names(added));
  }

  @Test
  void shouldKeepTheStampThroughEveryChangeOfARecord() {
    final StampedRecord<String, String> record = new StampedRecord<>("k", "v", 1, stamped("a"));
    final List<String> both = List.of("a", Causes.HEADER);

    assertEquals(both, names(record.withKey(1).headers()));
    assertEquals(both, names(record.withValue(1).headers()));
    assertEquals(both, names(record.withTimestamp(2).headers()));
    assertEquals(List.of("b", Causes.HEADER), names(record.withHeaders(headers("b")).headers()));
    assertEquals(List.of(Causes.HEADER), names(record.withHeaders(null).headers()));
    // Copied from the record itself, so the stamp is among them and must not be there twice.
    final Headers copied = new RecordHeaders(record.headers()).add("b", STAMP);
    assertEquals(List.of("a", "b", Causes.HEADER), names(record.withHeaders(copied).headers()));
    assertEquals(2, record.withTimestamp(2).timestamp());
    assertEquals(1, record.withKey(1).key());
  }

  @Test
  void shouldGiveChangedRecordsHeadersOfTheirOwn() {
    final StampedRecord<String, String> record = new StampedRecord<>("k", "v", 1, stamped("a"));

    record.withKey("l").headers().add("b", STAMP);

    assertEquals(List.of("a", Causes.HEADER), names(record.headers()));
  }

  @Test
  void shouldRefuseReservedHeadersOnStampedOnes() {
    final StampedHeaders stamped = stamped("a");

    refused(() -> stamped.add("parsley.x", STAMP));
    refused(() -> stamped.add(new RecordHeader(Causes.HEADER, STAMP)));
    refused(() -> stamped.remove(Causes.HEADER));
    refused(() -> removeAll(stamped));
    refused(() -> stamped.replacedBy(headers("parsley.x")));
    refused(() -> stamped("a", "parsley.x"));
    assertEquals(List.of("a", Causes.HEADER), names(stamped("a")));
    assertThrows(RefusalException.class, execution::rethrow);
  }

  @Test
  void shouldAllowOtherHeadersOnStampedOnes() {
    final StampedHeaders stamped = stamped("a", "b");

    stamped.add("c", STAMP).add(new RecordHeader("d", STAMP)).remove("a");

    assertEquals(List.of("b", Causes.HEADER, "c", "d"), names(stamped));
    execution.rethrow(); // Nothing was refused.
  }

  @Test
  void shouldTellStampedRecordsApartByTheirHeaders() {
    final StampedRecord<String, String> record = new StampedRecord<>("k", "v", 1, stamped("a"));

    assertEquals(record, new StampedRecord<>("k", "v", 1, stamped("a")));
    assertEquals(record.hashCode(), new StampedRecord<>("k", "v", 1, stamped("a")).hashCode());
    assertNotEquals(record, new StampedRecord<>("k", "v", 1, stamped("b")));
    assertNotEquals(record, new StampedRecord<>("k", "w", 1, stamped("a")));
    assertTrue(record.toString().contains(Causes.HEADER), record.toString());
  }

  @Test
  void shouldShowSerializersOnlyWhatIsTheirs() {
    final Headers real = headers("a", "parsley.x", "b", Causes.HEADER);
    final VisibleHeaders visible = new VisibleHeaders(real);

    assertEquals(List.of("a", "b"), names(visible));
    assertArrayEquals(new String[] {"a", "b"}, namesOf(visible.toArray()));
    assertNull(visible.lastHeader(Causes.HEADER));
    assertFalse(visible.headers("parsley.x").iterator().hasNext());
    assertEquals("a", visible.lastHeader("a").key());

    visible.add("c", STAMP).remove("a").remove("parsley.x");
    assertEquals(List.of("parsley.x", "b", Causes.HEADER, "c"), names(real));

    removeAll(visible);
    assertEquals(List.of("parsley.x", Causes.HEADER), names(real));
    refused(() -> visible.add("parsley.y", STAMP));
    refused(() -> visible.add(new RecordHeader("parsley.y", STAMP)));
  }

  private static void removeAll(Iterable<Header> headers) {
    final Iterator<Header> iterator = headers.iterator();
    while (iterator.hasNext()) {
      iterator.next();
      iterator.remove();
    }
  }

  private static void refused(Runnable call) {
    final RefusalException refusal = assertThrows(RefusalException.class, call::run);
    assertEquals(RefusalReason.RESERVED_HEADER_USED, refusal.reason());
  }

  private static RecordHeaders headers(String... names) {
    final RecordHeaders headers = new RecordHeaders();
    for (String name : names) {
      headers.add(name, new byte[] {7});
    }
    return headers;
  }

  private static List<String> names(Iterable<Header> headers) {
    final List<String> names = new ArrayList<>();
    headers.forEach(header -> names.add(header.key()));
    return names;
  }

  private static String[] namesOf(Header[] headers) {
    return names(List.of(headers)).toArray(new String[0]);
  }
}
