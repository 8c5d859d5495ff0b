package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.BatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The contract of a key-value store, and of one that keeps its changelog offset beside its rows.
 */
class NativeKeyValueStoreTest {

  private static final TopicPartition CHANGELOG = new TopicPartition("app-rows-changelog", 0);

  @TempDir Path directory;

  @TestFactory
  Stream<DynamicTest> shouldAnswerAsASortedMapDoes() {
    return Stream.of(1L, 2L, 3L)
        .map(seed -> DynamicTest.dynamicTest("seed " + seed, () -> compareWithMap(seed)));
  }

  /** Random writes and reads; a commit, which moves rows to the disk, now and then. */
  private void compareWithMap(long seed) {
    final Random random = new Random(seed);
    final NavigableMap<Bytes, byte[]> model = new TreeMap<>();
    final NativeKeyValueStore store = OpenStore.in(directory.resolve("seed-" + seed));
    try {
      for (int step = 0; step < 3000; step++) {
        final Bytes key = key(random);
        switch (random.nextInt(12)) {
          case 0:
          case 1:
          case 2:
          case 3:
            final byte[] value = new byte[random.nextInt(40)];
            random.nextBytes(value);
            store.put(key, value);
            model.put(key, value);
            break;
          case 4:
            assertArrayEquals(model.remove(key), store.delete(key));
            break;
          case 5:
            store.put(key, null);
            model.remove(key);
            break;
          case 6:
            final byte[] first = {1};
            assertArrayEquals(model.putIfAbsent(key, first), store.putIfAbsent(key, first));
            break;
          case 7:
            final Bytes other = key(random);
            store.putAll(List.of(KeyValue.pair(key, new byte[0]), KeyValue.pair(other, null)));
            model.put(key, new byte[0]);
            model.remove(other);
            break;
          case 8:
            store.commit(Map.of(CHANGELOG, (long) step));
            break;
          default:
            assertArrayEquals(model.get(key), store.get(key));
        }
        if (step % 50 == 0) {
          compareScans(store, model, random);
        }
      }
      compareScans(store, model, random);
    } finally {
      store.close();
    }
  }

  private void compareScans(
      NativeKeyValueStore store, NavigableMap<Bytes, byte[]> model, Random random) {
    assertEquals(rows(model), rows(store.all()));
    assertEquals(rows(model.descendingMap()), rows(store.reverseAll()));
    final Bytes one = key(random);
    final Bytes two = key(random);
    final Bytes from = one.compareTo(two) < 0 ? one : two;
    final Bytes to = from.equals(one) ? two : one;
    final NavigableMap<Bytes, byte[]> range = model.subMap(from, true, to, true);
    assertEquals(rows(range), rows(store.range(from, to)));
    assertEquals(rows(range.descendingMap()), rows(store.reverseRange(from, to)));
    assertEquals(rows(model.headMap(to, true)), rows(store.range(null, to)));
    assertEquals(
        rows(model.tailMap(from, true).descendingMap()), rows(store.reverseRange(from, null)));
    final TreeMap<Bytes, byte[]> prefixed = new TreeMap<>(model);
    prefixed.keySet().removeIf(key -> !hex(key.get()).startsWith(hex(from.get())));
    assertEquals(rows(prefixed), rows(store.prefixScan(from, new BytesSerializer())));
  }

  @Test
  void shouldGiveNothingForARangeThatRunsBackwards() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("02"), new byte[0]);

    assertEquals(List.of(), rows(store.range(bytes("03"), bytes("01"))));
    assertEquals(List.of(), rows(store.reverseRange(bytes("03"), bytes("01"))));
    store.close();
  }

  @Test
  void shouldFindPrefixesOfTheHighestByte() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    for (String key : List.of("fe", "feff", "ff", "ff00", "ffff", "ffffff")) {
      store.put(bytes(key), new byte[0]);
    }

    assertEquals(
        List.of("ff=", "ff00=", "ffff=", "ffffff="),
        rows(store.prefixScan(bytes("ff"), new BytesSerializer())));
    assertEquals(
        List.of("fe=", "feff="), rows(store.prefixScan(bytes("fe"), new BytesSerializer())));
    store.close();
  }

  @Test
  void shouldWalkRowsThatTakeManyChunks() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    final NavigableMap<Bytes, byte[]> model = new TreeMap<>();
    for (int i = 0; i < 300; i++) {
      final Bytes key = bytes(String.format("%04x", i * 7));
      final byte[] value = new byte[i == 150 ? 200_000 : 1000]; // One larger than a whole chunk.
      store.put(key, value);
      model.put(key, value);
    }

    assertEquals(rows(model), rows(store.all()));
    assertEquals(rows(model.descendingMap()), rows(store.reverseAll()));
    store.close();
  }

  @Test
  void shouldPeekWithoutStepping() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[0]);
    store.put(bytes("02"), new byte[0]);

    try (KeyValueIterator<Bytes, byte[]> rows = store.all()) {
      assertEquals(bytes("01"), rows.peekNextKey());
      assertEquals(bytes("01"), rows.next().key);
      assertEquals(bytes("02"), rows.next().key);
      assertFalse(rows.hasNext());
      assertThrows(NoSuchElementException.class, rows::next);
      assertThrows(NoSuchElementException.class, rows::peekNextKey);
    }
    store.close();
  }

  @Test
  void shouldRefuseAnIteratorAfterItsClose() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[0]);
    final KeyValueIterator<Bytes, byte[]> rows = store.all();
    assertTrue(rows.hasNext());

    rows.close();
    rows.close();

    assertThrows(InvalidStateStoreException.class, rows::hasNext);
    store.close();
  }

  @Test
  void shouldEndAnIteratorWithTheStore() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[0]);
    final KeyValueIterator<Bytes, byte[]> rows = store.all();
    assertTrue(rows.hasNext());

    store.close();

    assertThrows(InvalidStateStoreException.class, rows::next);
    rows.close();
  }

  @Test
  void shouldRefuseCallsAfterClose() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    final long stale = store.handle();
    store.close();
    store.close();

    assertFalse(store.isOpen());
    final Bytes key = bytes("01");
    assertClosed(() -> store.get(key));
    assertClosed(() -> store.put(key, new byte[0]));
    assertClosed(() -> store.putIfAbsent(key, new byte[0]));
    assertClosed(() -> store.putAll(List.of(KeyValue.pair(key, new byte[0]))));
    assertClosed(() -> store.delete(key));
    assertClosed(() -> store.range(key, key));
    assertClosed(() -> store.reverseRange(key, key));
    assertClosed(() -> store.prefixScan(key, new BytesSerializer()));
    assertClosed(store::all);
    assertClosed(store::reverseAll);
    assertClosed(store::approximateNumEntries);
    assertClosed(() -> store.commit(Map.of()));
    assertClosed(() -> store.committedOffset(CHANGELOG));
    assertClosed(store::handle);
    assertEquals(0, store.approximateNumUncommittedBytes());
    assertClosed(() -> NativeStore.get(stale, key.get()));
  }

  @Test
  void shouldOpenAgainAfterAClose() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[] {5});
    store.commit(Map.of(CHANGELOG, 7L));
    store.close();

    OpenStore.context(directory).open(store);

    assertArrayEquals(new byte[] {5}, store.get(bytes("01")));
    assertEquals(7, store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void shouldRegisterOnlyWhenInitialisedTwice() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[] {5});
    final long handle = store.handle();

    OpenStore.context(directory).open(store);

    assertEquals(handle, store.handle());
    assertArrayEquals(new byte[] {5}, store.get(bytes("01")));
    store.close();
  }

  @Test
  void shouldForgetWhatWasNotCommitted() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    store.put(bytes("01"), new byte[] {1});
    store.commit(Map.of(CHANGELOG, 1L));
    store.put(bytes("02"), new byte[] {2});
    assertTrue(store.approximateNumUncommittedBytes() > 0);
    store.close();

    OpenStore.context(directory).open(store);

    assertEquals(List.of("01=01"), rows(store.all()));
    assertEquals(0, store.approximateNumUncommittedBytes());
    store.close();
  }

  @Test
  void shouldKeepTheOffsetsOfKafkaStreamsAsTheyAre() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    final TopicPartition other = new TopicPartition("other-changelog", 3);
    assertTrue(store.managesOffsets());
    assertNull(store.committedOffset(CHANGELOG));

    store.commit(Map.of(CHANGELOG, -4L, other, 12L)); // -4 says "unknown" in Kafka Streams.
    assertEquals(-4, store.committedOffset(CHANGELOG));
    assertEquals(12, store.committedOffset(other));

    store.commit(Collections.singletonMap(CHANGELOG, null));
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(12, store.committedOffset(other));

    store.commit(Map.of());
    assertNull(store.committedOffset(other));
    store.close();
  }

  @Test
  void shouldRestoreBatchesLargerThanOneCall() {
    final NativeKeyValueStore store = new NativeKeyValueStore("rows");
    final OpenStore context = OpenStore.context(directory).open(store);
    final List<KeyValue<byte[], byte[]>> batch = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      batch.add(KeyValue.pair(bytes(String.format("%04x", i)).get(), new byte[10_000]));
    }
    batch.add(KeyValue.pair(bytes("0000").get(), null));

    ((BatchingStateRestoreCallback) context.restoring()).restoreAll(batch);

    final List<String> rows = rows(store.all());
    assertEquals(299, rows.size());
    assertTrue(rows.get(0).startsWith("0001="), rows.get(0));
    store.close();
  }

  @Test
  void shouldMoveItsPositionWithTheRecordsItIsWrittenFor() {
    final NativeKeyValueStore store = new NativeKeyValueStore("rows");
    final OpenStore context = OpenStore.context(directory).open(store);
    store.put(bytes("01"), new byte[0]); // Between steps there is no record.
    assertEquals(Position.emptyPosition(), store.getPosition());

    context.at(at("orders", 2, 7));
    store.put(bytes("01"), new byte[0]);
    context.at(at(null, -1, -1)); // As in a punctuation.
    store.put(bytes("01"), new byte[0]);

    assertEquals(Position.emptyPosition().withComponent("orders", 2, 7), store.getPosition());
    store.close();
  }

  @Test
  void shouldNotTakeInAgainWhatTheEngineHasStaged() {
    final NativeKeyValueStore store = OpenStore.in(directory);

    store.whileStagedByEngine(() -> store.put(bytes("01"), new byte[] {1}));
    store.put(bytes("02"), new byte[] {2});

    assertEquals(List.of("02=02"), rows(store.all()));
    store.close();
  }

  @Test
  void shouldCountEntriesMoreOrLess() {
    final NativeKeyValueStore store = OpenStore.in(directory);
    for (int i = 0; i < 100; i++) {
      store.put(bytes(String.format("%04x", i)), new byte[1]);
    }
    store.commit(Map.of(CHANGELOG, 1L));

    assertTrue(store.approximateNumEntries() > 0);
    store.close();
  }

  private static RecordMetadata at(String topic, int partition, long offset) {
    return new RecordMetadata() {
      @Override
      public String topic() {
        return topic;
      }

      @Override
      public int partition() {
        return partition;
      }

      @Override
      public long offset() {
        return offset;
      }
    };
  }

  private static void assertClosed(Runnable call) {
    assertThrows(InvalidStateStoreException.class, call::run);
  }

  /** Few bytes of few values, so that keys meet and share prefixes, the highest byte among them. */
  private static Bytes key(Random random) {
    final byte[] key = new byte[1 + random.nextInt(3)];
    for (int i = 0; i < key.length; i++) {
      key[i] = new byte[] {0, 1, 0x7f, (byte) 0x80, (byte) 0xff}[random.nextInt(5)];
    }
    return Bytes.wrap(key);
  }

  private static List<String> rows(Map<Bytes, byte[]> model) {
    final List<String> rows = new ArrayList<>();
    model.forEach((key, value) -> rows.add(hex(key.get()) + "=" + hex(value)));
    return rows;
  }

  private static List<String> rows(KeyValueIterator<Bytes, byte[]> iterator) {
    final List<String> rows = new ArrayList<>();
    try (iterator) {
      iterator.forEachRemaining(row -> rows.add(hex(row.key.get()) + "=" + hex(row.value)));
    }
    return rows;
  }

  private static Bytes bytes(String hex) {
    return Bytes.wrap(HexFormat.of().parseHex(hex));
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
