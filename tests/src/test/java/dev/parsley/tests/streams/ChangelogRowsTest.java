package dev.parsley.tests.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** What a commit writes to the changelog, counted there. */
class ChangelogRowsTest {

  private static final int RECORDS = 500;

  /** How far it was fed, its frontier, its delivered past. */
  private static final int ROWS_PER_CHANNEL_MAX = 3;

  @WithBothStoreModes
  void shouldWriteOnlyChangedChannelsWhenAllIsDeliverableAtOnce(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      for (int number = 0; number < RECORDS; number++) {
        scenario.feed("orders", Payload.awkward(number), Causes.none());
        scenario.feed("payments", Payload.awkward(number), scenario.after("orders", number));
      }
      scenario.run(scenario.newDirectory());
      scenario.requireCausal();

      final var transactions = Changelog.transactions(scenario.changelog.records());
      int rows = 0;
      for (List<ConsumerRecord<byte[], byte[]>> transaction : transactions) {
        final Set<ByteBuffer> keys = new HashSet<>();
        final Set<ByteBuffer> channels = new HashSet<>();
        int ofChannels = 0;
        for (ConsumerRecord<byte[], byte[]> row : transaction) {
          assertTrue(keys.add(ByteBuffer.wrap(row.key())), "a row is written once for each commit");
          switch (row.key()[0]) {
            case Changelog.FED_UP_TO, Changelog.FRONTIER, Changelog.PAST -> {
              channels.add(ByteBuffer.wrap(Arrays.copyOfRange(row.key(), 1, row.key().length)));
              ofChannels++;
            }
            case Changelog.VERSION, Changelog.NAME ->
                assertEquals(transactions.get(0), transaction, "the first commit alone has these");
            default -> throw new AssertionError("there is a row " + (char) row.key()[0]);
          }
        }
        assertTrue(ofChannels <= ROWS_PER_CHANNEL_MAX * channels.size());
        rows += transaction.size();
      }
      assertTrue(rows < RECORDS, rows + " rows for " + 2 * RECORDS + " records");
      requireLast(scenario, Changelog.FED_UP_TO, scenario.channel("payments"));
      requireLast(scenario, Changelog.FRONTIER, scenario.channel("orders"));
      requireLast(scenario, Changelog.PAST, scenario.channel("orders"));
    }
  }

  @WithBothStoreModes
  void shouldWriteAHoldOnceAndItsTombstoneOnce(boolean transactionalStores) {
    try (Scenario scenario = Scenario.of(transactionalStores, "orders", "payments")) {
      scenario.run(scenario.newDirectory());
      for (int number = 0; number < 10; number++) {
        scenario.feed("payments", Payload.awkward(number), scenario.after("orders", 0));
      }
      scenario.changelog.awaitHeld(10);
      scenario.feed("payments", Payload.awkward(10), scenario.after("orders", 0));
      scenario.changelog.awaitHeld(11);
      scenario.feed("orders", Payload.awkward(0), Causes.none());
      scenario.requireCausal();

      final List<ConsumerRecord<byte[], byte[]>> held =
          scenario.changelog.records().stream()
              .filter(row -> row.key()[0] == Changelog.HELD)
              .toList();
      assertEquals(11, held.stream().filter(row -> row.value() != null).count());
      assertEquals(11, held.stream().filter(row -> row.value() == null).count());
    }
  }

  private static void requireLast(Scenario scenario, byte tag, ChannelId channel) {
    final byte[] id = channel.toBytes();
    final ByteBuffer key = ByteBuffer.allocate(1 + id.length).put(tag).put(id).flip();
    assertEquals(RECORDS - 1, ByteBuffer.wrap(scenario.changelog.rows(0).get(key)).getLong());
  }
}
