package dev.parsley.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventFileTest {

  @TempDir Path directory;

  @Test
  void shouldResolveCausesToEarlierLines() throws Exception {
    assertEquals(
        List.of(
            new Event("orders", "17", "placed", List.of()),
            new Event("payments", null, "{\"cents\":995}", List.of(0)),
            new Event("notices", null, null, List.of(0, 1))),
        read(
            "{\"id\":\"o\",\"topic\":\"orders\",\"key\":\"17\",\"value\":\"placed\"}",
            "",
            "{\"id\":\"p\",\"topic\":\"payments\",\"value\":{\"cents\":995},\"causes\":[\"o\"]}",
            "{\"topic\":\"notices\",\"key\":null,\"value\":null,\"causes\":[\"p\",\"o\",\"p\"]}"));
  }

  @Test
  void shouldNameTheLineAndWhatIsWrongWithIt() {
    assertRefused("line 1: not JSON: ", "{\"topic\":");
    assertRefused("line 1: not a JSON object", "[]");
    assertRefused("line 1: not JSON: ", "{\"topic\":\"a\"} {}");
    assertRefused("line 1: not JSON: ", "{\"topic\":\"a\",\"topic\":\"b\"}");
    assertRefused("line 2: the field \"topic\" is missing", "{\"topic\":\"a\"}", "{\"id\":\"x\"}");
    assertRefused("line 1: a topic has", "{\"topic\":\"a b\"}");
    assertRefused("line 1: the field \"key\" must be a text", "{\"topic\":\"a\",\"key\":1}");
    assertRefused("line 1: unknown field \"cause\"", "{\"topic\":\"a\",\"cause\":[]}");
    assertRefused("line 1: the field \"causes\" must be", "{\"topic\":\"a\",\"causes\":\"x\"}");
    assertRefused(
        "line 1: the cause \"later\" is not the id of an earlier line",
        "{\"topic\":\"a\",\"causes\":[\"later\"]}",
        "{\"topic\":\"a\",\"id\":\"later\"}");
    assertRefused(
        "line 1: the cause \"x\" is not", "{\"topic\":\"a\",\"id\":\"x\",\"causes\":[\"x\"]}");
    assertRefused(
        "line 3: the id \"x\" was used before",
        "{\"topic\":\"a\",\"id\":\"x\"}",
        "",
        "{\"topic\":\"a\",\"id\":\"x\"}");
  }

  @Test
  void shouldRefuseAFileWithoutEvents() {
    assertRefused("the file has no events", "", "  ");
    final EventFile.InvalidException refused =
        assertThrows(
            EventFile.InvalidException.class, () -> EventFile.read(directory.resolve("none")));
    assertTrue(refused.getMessage().endsWith("there is no such file"), refused.getMessage());
  }

  @Test
  void shouldRefuseAFileThatIsNotText() throws IOException {
    final Path file = directory.resolve("bytes");
    Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe});
    final EventFile.InvalidException refused =
        assertThrows(EventFile.InvalidException.class, () -> EventFile.read(file));
    assertTrue(refused.getMessage().contains("not text in UTF-8"), refused.getMessage());
  }

  private List<Event> read(String... lines) throws Exception {
    final Path file = directory.resolve("events.jsonl");
    Files.write(file, List.of(lines), StandardCharsets.UTF_8);
    return EventFile.read(file);
  }

  private void assertRefused(String expected, String... lines) {
    final EventFile.InvalidException refused =
        assertThrows(EventFile.InvalidException.class, () -> read(lines));
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }
}
