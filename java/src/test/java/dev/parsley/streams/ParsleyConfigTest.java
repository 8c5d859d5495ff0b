package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ParsleyConfigTest {

  @Test
  void shouldHaveTheBudgetOfTheContractByDefault() {
    final ParsleyConfig config = ParsleyConfig.of(Map.of("application.id", "app"));
    assertEquals(262_144, config.budgetBytes());
    assertFalse(config.firstPositions().latest());
    assertEquals(Optional.empty(), config.fedTopics("node"));
  }

  @Test
  void shouldReadNumbersAndTexts() {
    final ParsleyConfig config =
        ParsleyConfig.of(
            Map.of(
                ParsleyConfig.BUDGET_BYTES,
                "1000",
                ParsleyConfig.STAGED_BYTES_MAX,
                8192L,
                ParsleyConfig.BACKGROUND_THREADS,
                "3",
                ParsleyConfig.FIRST_POSITIONS,
                "latest"));
    assertEquals(1000, config.budgetBytes());
    assertEquals(8192, config.stagedBytesMax());
    assertEquals(3, config.backgroundThreads());
    assertTrue(config.firstPositions().latest());
  }

  @Test
  void shouldReadPositionsOfSinglePartitions() {
    final String value = "latest, a.b-c_d:12=0 ,orders:0=17";
    final var first =
        ParsleyConfig.of(Map.of(ParsleyConfig.FIRST_POSITIONS, value)).firstPositions();
    assertTrue(first.latest());
    assertEquals(
        Map.of(new TopicPartition("a.b-c_d", 12), 0L, new TopicPartition("orders", 0), 17L),
        first.named());
  }

  @Test
  void shouldNameAnUnknownKeyAndTheNearestKnownOnes() {
    final ConfigException error =
        assertThrows(
            ConfigException.class, () -> ParsleyConfig.of(Map.of("parsley.buget.bytes", "1")));
    assertTrue(error.getMessage().contains("'parsley.buget.bytes'"), error.getMessage());
    assertTrue(error.getMessage().contains("known are parsley.budget.bytes,"), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({
    "parsley.budget.bytes,0",
    "parsley.budget.bytes,2147483648",
    "parsley.budget.bytes,many",
    "parsley.staged.bytes.max,1",
    "parsley.block.cache.bytes,-1",
    "parsley.write.buffer.bytes,0",
    "parsley.background.threads,0",
    "parsley.first.positions,none",
    "parsley.first.positions,orders:0=1",
    "parsley.first.positions,'earliest,'",
    "parsley.first.positions,'earliest,orders=1'",
    "parsley.first.positions,'earliest,orders:0=-1'",
    "parsley.first.positions,'earliest,orders:0=1,orders:0=1'",
    "parsley.directory.timeout.ms,0",
  })
  void shouldNameTheKeyOfAWrongValue(String key, String value) {
    final ConfigException error =
        assertThrows(ConfigException.class, () -> ParsleyConfig.of(Map.of(key, value)));
    assertTrue(error.getMessage().contains(key), error.getMessage());
  }

  @Test
  void shouldHandTheNodesWhatTheLauncherRead() {
    final ParsleyConfig config =
        ParsleyConfig.of(Map.of(ParsleyConfig.FED_TOPICS, Map.of("node", Set.of("orders"))));
    assertEquals(Optional.of(Set.of("orders")), config.fedTopics("node"));
    assertEquals(Optional.empty(), config.fedTopics("other"));
  }
}
