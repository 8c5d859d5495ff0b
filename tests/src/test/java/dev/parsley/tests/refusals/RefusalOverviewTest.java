package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalReason;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every reason there is, and the tests that cause it on a broker and then do what it advises. A
 * reason without one fails here, and so does a table in the documentation that says other than the
 * tests.
 */
class RefusalOverviewTest {

  private static final List<Class<?>> TESTS =
      List.of(
          HeaderRefusalTest.class,
          FeedRefusalTest.class,
          StateRefusalTest.class,
          TopicRefusalTest.class,
          PositionRefusalTest.class,
          CutLogTest.class,
          ApplicationRefusalTest.class,
          DamagedStateTest.class,
          WhileRunningTest.class,
          PlainStreamsTest.class);

  /** Reasons that no broker can be made to show, and why. */
  private static final Map<RefusalReason, String> NOT_REACHED =
      Map.of(
          RefusalReason.COVERED_POSITION_FED,
          "A position is covered without being fed only by what a start covers, and what a start"
              + " covers is a replay for the whole execution; a topic that is confirmed deleted is"
              + " OUT_OF_ORDER_FEED. Tried: a consumer that is sought back (OUT_OF_ORDER_FEED), a"
              + " group moved while it reads (Kafka refuses), a group moved back, moved past"
              + " records and deleted between two executions (replays, dropped). Kept as a guard.");

  @ParameterizedTest
  @EnumSource(RefusalReason.class)
  void shouldHaveABrokerTestForEveryReason(RefusalReason reason) {
    final List<String> tests = testsOf(reason);
    if (NOT_REACHED.containsKey(reason)) {
      assertEquals(List.of(), tests, "it is reached: take it off the list of those that are not");
    } else {
      assertFalse(tests.isEmpty(), "no test reaches " + reason + " on a broker");
    }
  }

  @ParameterizedTest
  @EnumSource(RefusalReason.class)
  void shouldBeInTheTableOfTheDocumentation(RefusalReason reason) throws IOException {
    final String row =
        documentation("docs/verification.md").stream()
            .filter(line -> line.startsWith("| `" + reason + "` |"))
            .reduce("", String::concat);
    assertFalse(row.isEmpty(), "docs/verification.md has no row for " + reason);
    for (String test : testsOf(reason)) {
      assertTrue(row.contains("`" + test + "`"), test + " is missing in " + row);
    }
  }

  /** The commands that a refusal advises, and that the tests say, are those of the manual. */
  @ParameterizedTest
  @EnumSource(RefusalReason.class)
  void shouldAdviseTheCommandsOfTheManual(RefusalReason reason) throws IOException {
    final String manual = String.join("\n", documentation("docs/operations.md"));
    for (String command : Operator.commandsIn(reason.advice())) {
      assertTrue(manual.contains(command), "docs/operations.md does not have: " + command);
    }
  }

  @Test
  void shouldKnowEveryTestOfThisPackage() throws Exception {
    final Path classes =
        Path.of(getClass().getProtectionDomain().getCodeSource().getLocation().toURI())
            .resolve(getClass().getPackageName().replace('.', '/'));
    try (var files = Files.list(classes)) {
      final List<String> others = new ArrayList<>();
      files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith("Test.class") && !name.equals("BrokerTest.class"))
          .map(name -> name.substring(0, name.length() - ".class".length()))
          .filter(name -> !name.equals(getClass().getSimpleName()))
          .filter(name -> TESTS.stream().noneMatch(test -> test.getSimpleName().equals(name)))
          .forEach(others::add);
      assertEquals(List.of(), others);
    }
  }

  /** As {@code Class.method}. */
  private static List<String> testsOf(RefusalReason reason) {
    final List<String> tests = new ArrayList<>();
    for (Class<?> test : TESTS) {
      for (Method method : test.getDeclaredMethods()) {
        final Reaches reaches = method.getAnnotation(Reaches.class);
        if (reaches != null && List.of(reaches.value()).contains(reason)) {
          tests.add(test.getSimpleName() + "." + method.getName());
        }
      }
    }
    return tests;
  }

  private static List<String> documentation(String file) throws IOException {
    Path directory = Path.of("").toAbsolutePath();
    while (!Files.exists(directory.resolve("Cargo.toml"))) {
      directory = directory.getParent();
    }
    return Files.readAllLines(directory.resolve(file));
  }
}
