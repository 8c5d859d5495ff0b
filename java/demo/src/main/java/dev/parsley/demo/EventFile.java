package dev.parsley.demo;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads a user's own events: a text file in UTF-8 with one JSON object a line, in the order in
 * which the events happened. Empty lines are passed over.
 *
 * <pre>{@code
 * {"id":"o1","topic":"orders","key":"17","value":"placed"}
 * {"id":"p1","topic":"payments","key":"17","value":{"cents":995},"causes":["o1"]}
 * }</pre>
 *
 * <ul>
 *   <li>{@code topic}, a text: letters, digits, {@code . _ -}, at most 200; one partition each
 *   <li>{@code id}, a text, optional: what later lines name this event by, unique in the file
 *   <li>{@code key}, a text or null, optional (no key)
 *   <li>{@code value}, null or anything, optional (no value): a text is sent as it is, anything
 *       else as its JSON
 *   <li>{@code causes}, an array of texts, optional: ids of earlier lines
 * </ul>
 */
final class EventFile {

  /** What is wrong with the file, for people; the message says where and what to do. */
  static final class InvalidException extends Exception {
    private static final long serialVersionUID = 1L;

    InvalidException(String message) {
      super(message);
    }
  }

  private static final Set<String> FIELDS = Set.of("id", "topic", "key", "value", "causes");
  private static final Pattern LEGAL_TOPIC = Pattern.compile("[a-zA-Z0-9._-]{1,200}");
  private static final ObjectMapper JSON =
      new ObjectMapper()
          .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private final Path file;
  private final List<Event> events = new ArrayList<>();
  private final Map<String, Integer> indexById = new HashMap<>();
  private int line;

  private EventFile(Path file) {
    this.file = file;
  }

  /**
   * All events of the file, at least one.
   *
   * @throws InvalidException when it cannot be read or a line is not as described above
   */
  static List<Event> read(Path file) throws InvalidException {
    final EventFile reading = new EventFile(file);
    final List<String> lines;
    try {
      lines = Files.readAllLines(file, StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      throw new InvalidException(file + ": there is no such file");
    } catch (CharacterCodingException e) {
      throw new InvalidException(file + ": the file is not text in UTF-8");
    } catch (IOException e) {
      throw new InvalidException(file + ": could not be read: " + e);
    }
    for (String text : lines) {
      reading.line++;
      if (!text.isBlank()) {
        reading.add(text);
      }
    }
    if (reading.events.isEmpty()) {
      throw new InvalidException(file + ": the file has no events");
    }
    return reading.events;
  }

  private void add(String text) throws InvalidException {
    final JsonNode object = parse(text);
    final String topic = text(object, "topic");
    if (topic == null) {
      throw wrong("the field \"topic\" is missing");
    }
    if (!LEGAL_TOPIC.matcher(topic).matches()) {
      throw wrong("a topic has 1 to 200 letters, digits, '.', '_' or '-', not \"" + topic + "\"");
    }
    final Event event = new Event(topic, text(object, "key"), value(object), causes(object));
    final String id = text(object, "id");
    if (id != null && indexById.putIfAbsent(id, events.size()) != null) {
      throw wrong("the id \"" + id + "\" was used before: give each event its own");
    }
    events.add(event);
  }

  private JsonNode parse(String text) throws InvalidException {
    final JsonNode node;
    try {
      node = JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw wrong("not JSON: " + e.getOriginalMessage());
    }
    if (node == null || !node.isObject()) {
      throw wrong("not a JSON object: write {\"topic\": ...}");
    }
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      final String name = names.next();
      if (!FIELDS.contains(name)) {
        throw wrong("unknown field \"" + name + "\": there are id, topic, key, value and causes");
      }
    }
    return node;
  }

  private String text(JsonNode object, String field) throws InvalidException {
    final JsonNode node = object.get(field);
    if (node == null || node.isNull()) {
      return null;
    }
    if (!node.isTextual()) {
      throw wrong("the field \"" + field + "\" must be a text, not " + node);
    }
    return node.textValue();
  }

  private static String value(JsonNode object) {
    final JsonNode node = object.get("value");
    if (node == null || node.isNull()) {
      return null;
    }
    return node.isTextual() ? node.textValue() : node.toString();
  }

  private List<Integer> causes(JsonNode object) throws InvalidException {
    final JsonNode node = object.get("causes");
    if (node == null || node.isNull()) {
      return List.of();
    }
    if (!node.isArray()) {
      throw wrong("the field \"causes\" must be an array of ids, not " + node);
    }
    final Set<Integer> causes = new HashSet<>();
    for (JsonNode cause : node) {
      final Integer index = cause.isTextual() ? indexById.get(cause.textValue()) : null;
      if (index == null) {
        throw wrong("the cause " + cause + " is not the id of an earlier line");
      }
      causes.add(index);
    }
    return causes.stream().sorted().toList();
  }

  private InvalidException wrong(String what) {
    return new InvalidException(file + ": line " + line + ": " + what);
  }
}
