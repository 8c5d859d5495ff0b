package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The scenario files that the native replay runs, through the Java API: the same output. */
class ScenarioTest {

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String SCENARIO = ".jsonl";

  @TempDir Path directory;

  @TestFactory
  List<DynamicTest> shouldDoWhatTheScenarioExpects() throws IOException {
    final List<DynamicTest> tests = new ArrayList<>();
    try (Stream<Path> files = Files.walk(scenarios())) {
      files
          .filter(file -> file.toString().endsWith(SCENARIO) && !isAboutTheFile(file))
          .sorted()
          .forEach(file -> tests.add(DynamicTest.dynamicTest(name(file), () -> replay(file))));
    }
    assertFalse(tests.isEmpty());
    return tests;
  }

  private static Path scenarios() {
    return root().resolve("native/cli/tests/journal");
  }

  /** The checkout, which a module's tests are run somewhere in. */
  private static Path root() {
    Path at = Path.of("").toAbsolutePath();
    while (!Files.exists(at.resolve("Cargo.toml"))) {
      at = at.getParent();
    }
    return at;
  }

  /** What the replay says about files that are no scenario has nothing to do with a store. */
  private static boolean isAboutTheFile(Path file) {
    return expected(file).startsWith("# exit");
  }

  private static String expected(Path file) {
    try {
      return Files.readString(file.resolveSibling(name(file) + ".expected"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String name(Path file) {
    final String name = file.getFileName().toString();
    return name.substring(0, name.length() - SCENARIO.length());
  }

  private void replay(Path file) throws IOException {
    final String expected = expected(file);
    try (ScenarioReplay replay = new ScenarioReplay(directory.resolve(name(file)))) {
      for (JsonNode line : lines(Files.readString(file))) {
        replay.apply(line);
      }
      if (expected.startsWith("# without --commits")) {
        replay.output().removeIf(line -> line.get("event").asText().equals("commit"));
      }
      assertEquals(shown(lines(expected)), shown(alike(lines(expected), replay.output())));
    }
  }

  private static List<JsonNode> lines(String text) throws IOException {
    final List<JsonNode> lines = new ArrayList<>();
    for (String line : text.lines().toList()) {
      if (!line.startsWith("#")) {
        lines.add(MAPPER.readTree(line));
      }
    }
    return lines;
  }

  private static String shown(List<JsonNode> lines) {
    final StringBuilder text = new StringBuilder();
    for (JsonNode line : lines) {
      if (line.has("why")) {
        ((ObjectNode) line).put("why", "*"); // The text is free.
      }
      text.append(sorted(line)).append('\n');
    }
    return text.toString();
  }

  /** Fields have no order. */
  private static String sorted(JsonNode value) {
    if (value.isObject()) {
      final List<String> fields = new ArrayList<>();
      value.properties().forEach(it -> fields.add(it.getKey() + ":" + sorted(it.getValue())));
      fields.sort(null);
      return fields.toString();
    }
    if (value.isArray()) {
      final List<String> items = new ArrayList<>();
      value.forEach(item -> items.add(sorted(item)));
      return items.toString();
    }
    return value.toString();
  }

  /** The output with "*" for each message that the scenario expects to be just any text. */
  private static List<JsonNode> alike(List<JsonNode> expected, List<JsonNode> output) {
    for (int i = 0; i < Math.min(expected.size(), output.size()); i++) {
      free(expected.get(i), output.get(i));
    }
    return output;
  }

  private static void free(JsonNode expected, JsonNode found) {
    if (expected.isArray() && found.isArray()) {
      for (int i = 0; i < Math.min(expected.size(), found.size()); i++) {
        free(expected.get(i), found.get(i));
      }
    } else if (found.isObject() && expected.isObject()) {
      expected.fieldNames().forEachRemaining(name -> free(expected, (ObjectNode) found, name));
    }
  }

  private static void free(JsonNode expected, ObjectNode found, String name) {
    if (name.equals("message")
        && expected.get(name).asText().equals("*")
        && found.path(name).isTextual()) {
      found.put(name, "*");
    } else if (found.has(name)) {
      free(expected.get(name), found.get(name));
    }
  }
}
