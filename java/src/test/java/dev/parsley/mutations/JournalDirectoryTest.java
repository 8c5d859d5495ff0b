package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** A journal in a directory, over restarts. */
class JournalDirectoryTest {

  private static final Identity KEY = new Identity("orders", "17");

  @TempDir Path directory;

  private final SetClock clock = new SetClock();

  private MutationStore.Builder<Identity, String> store(OtherSide side) {
    return side.store()
        .directory(directory)
        .executor(Runnable::run)
        .clock(clock)
        .jitter(window -> window);
  }

  @Test
  void shouldTryAFailedPushAgainAfterARestartInTheMiddleOfItsBackoff() {
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
            if (pushes.size() == 1) {
              throw new IOException("no network");
            }
            return new PushOutcome.Accepted<>(push.mine());
          }
        };
    final ManualAlarm alarm = new ManualAlarm();
    clock.now = 5000;
    try (MutationStore<Identity, String> store = store(side).open();
        Coordinator coordinator = new Coordinator(alarm, Runnable::run)) {
      store.mutate(KEY, side.set, "a");
      coordinator.register("orders", store);
      coordinator.watch("orders").join();
      assertEquals(Duration.ofSeconds(30), alarm.set.get("orders"));
    }

    final ManualAlarm next = new ManualAlarm();
    clock.now = 5999; // One millisecond too early.
    try (MutationStore<Identity, String> store = store(side).open();
        Coordinator coordinator = new Coordinator(next, Runnable::run)) {
      coordinator.register("orders", store);
      coordinator.watch("orders").join();
      assertEquals(1, side.pushes.size());
      assertEquals(Duration.ofSeconds(30), next.set.get("orders"));
      assertEquals(6000, store.lanes().get(0).owner().eligibleBy());

      clock.now += next.set.get("orders").toMillis();
      next.fire("orders");

      assertEquals(2, side.pushes.size());
      assertEquals(side.pushes.get(0), side.pushes.get(1));
      assertEquals(List.of(), store.pendingWrites());
      assertEquals(0, next.set.size());
    }
  }

  @Test
  void shouldTakeAnInterruptInTheResolverForCancellationOfAMutate() {
    final OtherSide side =
        new OtherSide() {
          @Override
          PushOutcome<String> answer(Push<Identity, String> push) {
            return new PushOutcome.Accepted<>(push.mine(), null, new Identity("orders", "new"));
          }
        };
    try (MutationStore<Identity, String> store = store(side).open()) {
      store.mutate(KEY, side.set, "a");
      store.drain(KEY).join();
    }

    final List<Identity> asked = new ArrayList<>();
    final KeyResolver<Identity> interrupted =
        identity -> {
          asked.add(identity);
          throw new InterruptedException();
        };
    try (MutationStore<Identity, String> store =
        MutationStore.<Identity, String>builder("test", interrupted, ScriptedPorts.TEXT, side, side)
            .mutators(side.mutators)
            .directory(directory)
            .open()) {
      assertThrows(CancellationException.class, () -> store.mutate(KEY, side.set, "b"));

      assertTrue(Thread.interrupted());
      assertEquals(List.of(new Identity("orders", "new")), asked);
      assertEquals(List.of(), store.pendingWrites());
    }
  }

  @Test
  void shouldRefuseADirectoryThatIsInUse() {
    final OtherSide side = new OtherSide();
    final MutationStore<Identity, String> store = store(side).open();

    final JournalException refused = assertThrows(JournalException.class, () -> store(side).open());

    assertTrue(refused.getMessage().contains("in use"), refused.getMessage());
    store.close();
    store(side).open().close();
  }

  @Test
  void shouldRefuseADamagedJournalWithTheRuleAndTheRow() throws RocksDBException {
    final OtherSide side = new OtherSide();
    try (MutationStore<Identity, String> store = store(side).open()) {
      store.mutate(KEY, side.set, "a");
    }
    flipABitOfTheIntent();

    final JournalException refused = assertThrows(JournalException.class, () -> store(side).open());

    assertTrue(refused.getMessage().contains("damaged"), refused.getMessage());
    assertTrue(refused.getMessage().contains("mutation 1"), refused.getMessage());
  }

  private void flipABitOfTheIntent() throws RocksDBException {
    RocksDB.loadLibrary();
    try (Options options = new Options().setCompressionType(CompressionType.NO_COMPRESSION);
        RocksDB rows = RocksDB.open(options, directory.resolve("rows").toString());
        RocksIterator each = rows.newIterator()) {
      for (each.seekToFirst(); each.isValid(); each.next()) {
        if (new String(each.value(), StandardCharsets.ISO_8859_1).contains("set")) {
          final byte[] value = each.value();
          value[value.length / 2] ^= 1;
          rows.put(each.key(), value);
        }
      }
    }
  }
}
