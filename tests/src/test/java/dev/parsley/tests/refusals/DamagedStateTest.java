package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.errors.StreamsException;

/** A state directory that was damaged, left behind, or ran full. */
class DamagedStateTest {

  private static final int STARTS_MAX = 5;

  @BrokerTest
  void shouldRebuildADamagedDirectoryWithinTwoStarts() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      int flipped = 0;
      try (Stream<Path> tree = Files.walk(app.stateDirectory())) {
        for (Path table : tree.filter(path -> path.toString().endsWith(".sst")).toList()) {
          flip(table);
          flipped++;
        }
      }
      assertTrue(flipped > 0, "there is something to damage");
      app.feed("orders", "c");
      // What supervises a process starts it again when it has stopped. That must come to an end.
      int starts = 1;
      while (!startsAndStays(app)) {
        starts++;
        assertTrue(starts <= 2, "it still does not stay after " + starts + " starts");
      }
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  @Reaches(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT)
  void shouldLeaveNoTraceHoweverOftenItIsStartedAgain() throws Exception {
    try (Application app = StateRefusalTest.withAHeldPayment()) {
      final List<ConsumerRecord<byte[], byte[]>> copy = app.changelog.copy();
      final ConsumerRecord<byte[], byte[]> held = app.changelog.held().get(0);
      final byte[] cut = new byte[held.value().length - 1];
      System.arraycopy(held.value(), 0, cut, 0, cut.length);
      app.changelog.put(held.key(), cut);
      app.feed("orders", "c");
      final long end = app.changelog.end();
      final var offsets = app.cluster.committedOffsets(app.applicationId);
      for (int start = 0; start < STARTS_MAX; start++) {
        app.refused(RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT);
      }
      assertEquals(end, app.changelog.end());
      assertEquals(offsets, app.cluster.committedOffsets(app.applicationId));
      app.changelog.restore(copy);
      app.deleteLocalState();
      app.run();
      app.requireDelivered(app.fed);
    }
  }

  @BrokerTest
  void shouldRebuildADirectoryThatTheChangelogHasLeftBehind() throws Exception {
    try (Application app = new Application("orders", "payments")) {
      app.set("enable.transactional.statestores", "true");
      app.feed("payments", "held", app.after("orders", 1));
      app.run();
      app.changelog.awaitHeld(1);
      app.fed.forEach(app::awaitRead);
      app.stop();
      final Path left = app.stateDirectory();
      final Path other = Application.newDirectory();
      try {
        app.setStateDirectory(other);
        app.run();
        app.awaitRead(app.feed("orders", "a"));
        app.stop();
        final long end = app.changelog.end();
        app.changelog.putAgain(app.changelog.copy());
        app.changelog.discardBefore(end);

        app.setStateDirectory(left);
        app.run();
        app.feed("orders", "b");
        app.requireDelivered(app.fed);
      } finally {
        app.setStateDirectory(left);
        Directories.delete(other);
      }
    }
  }

  @BrokerTest
  void shouldGoOnOnceAFullDiskHasRoom() throws Exception {
    final Random random = new Random(4);
    final Path directory = Application.newDirectory();
    try (SmallDisk disk = SmallDisk.at(directory);
        Application app = new Application("orders", "payments")) {
      app.setStateDirectory(directory);
      app.set("parsley.write.buffer.bytes", "65536");
      app.set("parsley.staged.bytes.max", "65536");
      final CausalStreams running = app.run(app.instance(Map.of()));
      int fed = 0;
      disk.fill();
      while (running.failure().isEmpty()) {
        assertTrue(fed < 3_000, "the disk is full by now");
        app.feed("payments", text(random), app.after("orders", 0));
        fed++;
      }
      assertTrue(running.awaitStopped(Await.PATIENCE), "it stops");
      assertEquals(Optional.empty(), running.refusal());
      assertEquals(List.of(), app.delivered());
      app.stop();
      disk.makeRoom();
      app.run();
      app.feed("orders", "the cause");
      app.requireDelivered(app.fed);
    }
    Directories.delete(directory);
  }

  private static String text(Random random) {
    final StringBuilder text = new StringBuilder();
    random.ints(20_000, ' ', '~').forEach(character -> text.append((char) character));
    return text.toString();
  }

  /** Whether the instance still runs once it has read everything. */
  private static boolean startsAndStays(Application app) {
    try {
      app.run();
      app.fed.forEach(app::awaitRead);
      return true;
    } catch (AssertionError | RuntimeException stopped) {
      assertTrue(
          stopped instanceof StreamsException || stopped.getCause() instanceof StreamsException,
          stopped.toString());
      app.stop();
      return false;
    }
  }

  private static void flip(Path table) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(table.toFile(), "rw")) {
      for (long position = 0; position < file.length(); position += 97) {
        file.seek(position);
        final int old = file.read();
        file.seek(position);
        file.write(old ^ 0x55);
      }
    }
  }
}
