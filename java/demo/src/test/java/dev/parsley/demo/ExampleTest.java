package dev.parsley.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ExampleTest {

  @Test
  void shouldShipAnExampleThatIsValidAndNeedsTwoTopics() throws Exception {
    final List<Event> events = EventFile.read(Path.of(System.getProperty("demo.example")));
    assertTrue(events.stream().map(Event::topic).distinct().count() > 1);
    assertTrue(events.stream().anyMatch(event -> !event.causes().isEmpty()));
  }

  @Test
  void shouldTakeItsOptionsFromTheCommandLine() {
    assertEquals(
        new Options(5, 100, Optional.of(Path.of("a.jsonl")), true),
        Options.parse(
            new String[] {"--seed", "5", "--records", "100", "--input", "a.jsonl", "--live"}));
  }

  @Test
  void shouldSayWhatANumberMustBe() {
    final IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> Options.parse(new String[] {"--records", "many"}));
    assertEquals(
        "RECORDS must be a whole number from 10 to 200000, not 'many'", refused.getMessage());
  }
}
