package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.tests.harness.BrokerSettings;
import dev.parsley.tests.harness.InProcessBroker;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/** A broker whose disk lost the end of a log that was read already. */
class CutLogTest {

  @BrokerTest
  @Reaches(RefusalReason.POSITIONS_DISCARDED_UNREAD)
  void shouldStartOverWhenTheLogLostWhatWasRead() throws Exception {
    final Path disk =
        Path.of(System.getProperty("java.io.tmpdir"), "parsley-broker-" + UUID.randomUUID());
    try (InProcessBroker broker = InProcessBroker.start(BrokerSettings.first(disk));
        Application app = new Application(broker, "orders")) {
      app.feed("orders", "a");
      app.feed("orders", "b");
      final Application.Fed lost = app.feed("orders", "read, and lost by the broker");
      app.run();
      app.requireDelivered(app.fed);
      broker.stop();
      loseLastBatch(disk.resolve("data"), app.topic("orders") + "-0");
      broker.startAgain();

      final RefusalException refusal = app.refused(RefusalReason.POSITIONS_DISCARDED_UNREAD);
      assertEquals(Optional.of(app.topic("orders")), refusal.topic());
      assertEquals(OptionalLong.of(3), refusal.position());
      assertEquals(OptionalLong.of(2), refusal.bound());
      app.operator.startOver(refusal);
      app.fed.remove(lost);
      assertEquals(lost.offset(), app.feed("orders", "at the position of another").offset());
      app.run();
      app.requireDelivered(app.fed, 3);
    }
  }

  /** As after a crash that took the last written pages: the broker finds half of a batch. */
  private static void loseLastBatch(Path data, String partition) throws Exception {
    final Path log = data.resolve(partition).resolve("00000000000000000000.log");
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
      file.setLength(file.length() - 1);
    }
    assertTrue(Files.deleteIfExists(data.resolve(".kafka_cleanshutdown")));
    Files.deleteIfExists(data.resolve("recovery-point-offset-checkpoint"));
  }
}
