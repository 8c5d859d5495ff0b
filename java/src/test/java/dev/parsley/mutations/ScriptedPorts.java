package dev.parsley.mutations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The application's side of a scenario: answers as written in its lines, and prints what it is
 * asked.
 */
final class ScriptedPorts
    implements MutationServer<Identity, String>,
        LocalState<Identity, String>,
        KeyResolver<Identity>,
        MergePolicy<Identity, String>,
        Jitter {

  /** The arguments of a mutator: the text of a line's {@code arg} and {@code stales}. */
  record Arguments(String arg, JsonNode stales) {}

  static final Codec<String> TEXT =
      new Codec<>() {
        @Override
        public byte[] encode(String value) {
          return value.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String decode(int version, byte[] bytes) {
          return new String(bytes, StandardCharsets.UTF_8);
        }
      };

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private static final Codec<Arguments> ARGUMENTS =
      new Codec<>() {
        @Override
        public byte[] encode(Arguments value) throws IOException {
          final ObjectNode json = JSON.objectNode().put("arg", value.arg());
          json.set("stales", value.stales());
          return MAPPER.writeValueAsBytes(json);
        }

        @Override
        public Arguments decode(int version, byte[] bytes) throws IOException {
          final JsonNode json = MAPPER.readTree(bytes);
          return new Arguments(json.path("arg").asText(null), json.path("stales"));
        }
      };

  private record Local(String value, Meta meta) {}

  private final Consumer<ObjectNode> printed;
  private final Map<String, Deque<JsonNode>> answers = new HashMap<>();
  private final Map<Identity, String> resolutions = new HashMap<>();
  private final Map<Identity, Local> locals = new HashMap<>();
  private final Mutators<Identity, String> mutators = new Mutators<>();
  private final Map<String, MutatorHandle<Arguments>> handles = new HashMap<>();

  ScriptedPorts(Consumer<ObjectNode> printed) {
    this.printed = printed;
    add("set", (base, given) -> new Projection.Value<>(given.arg()));
    add(
        "append",
        (base, given) -> new Projection.Value<>((base == null ? "" : base) + given.arg()));
    add(
        "update",
        (base, given) ->
            base == null ? new Projection.Decline<>() : new Projection.Value<>(given.arg()));
    add("delete", (base, given) -> new Projection.Absent<>());
    add(
        "throw",
        (base, given) -> {
          throw new IllegalStateException(given.arg());
        });
  }

  private void add(String name, Mutators.Projector<String, Arguments> projector) {
    handles.put(name, mutators.add(name, ARGUMENTS, projector, (key, given) -> stales(given)));
  }

  private static Stales<Identity> stales(Arguments arguments) {
    if (arguments.stales().isTextual()) {
      throw new IllegalStateException("stales was scripted to fail");
    }
    final List<Identity> keys = new ArrayList<>();
    arguments.stales().path("keys").forEach(key -> keys.add(identity(key)));
    final List<String> namespaces = new ArrayList<>();
    arguments.stales().path("namespaces").forEach(it -> namespaces.add(it.asText()));
    return new Stales<>(keys, namespaces);
  }

  Mutators<Identity, String> mutators() {
    return mutators;
  }

  MutatorHandle<Arguments> handle(String name) {
    return handles.get(name);
  }

  /** Takes a scripting line; false for any other. */
  boolean script(JsonNode line) {
    switch (line.get("op").asText()) {
      case "jitter":
        answers("jitter", line.get("draws"));
        return true;
      case "server":
      case "retire":
      case "merge":
        answers(line.get("op").asText(), line.get("answers"));
        return true;
      case "resolver":
        resolutions.put(identity(line.get("key")), line.get("answer").asText());
        return true;
      case "fail":
        final String place =
            line.has("key") ? identity(line.get("key")).toString() : line.get("namespace").asText();
        answers(line.get("port").asText() + " " + place, line.get("answers"));
        return true;
      case "local":
        final JsonNode value = line.get("value");
        final boolean hasMeta = !value.isNull() && (line.has("etag") || line.has("writtenAt"));
        locals.put(
            identity(line.get("key")), new Local(value.textValue(), hasMeta ? meta(line) : null));
        return true;
      default:
        return false;
    }
  }

  private void answers(String name, JsonNode list) {
    final Deque<JsonNode> left = new ArrayDeque<>();
    list.forEach(left::add);
    answers.put(name, left);
  }

  private JsonNode answer(String name) {
    final JsonNode answer = answers.getOrDefault(name, new ArrayDeque<>()).poll();
    return answer == null ? JSON.missingNode() : answer;
  }

  /** Prints a call, then does what its script says; true for {@code missing}. */
  private boolean port(String name, Object place) throws InterruptedException {
    switch (answer(name + " " + place).asText("ok")) {
      case "throw":
        throw new IllegalStateException("the port was scripted to fail");
      case "cancel":
        throw new InterruptedException("scripted");
      case "missing":
        return true;
      default:
        return false;
    }
  }

  private void print(ObjectNode line) {
    printed.accept(line);
  }

  static ObjectNode event(String name) {
    return JSON.objectNode().put("event", name);
  }

  static ObjectNode event(String name, Identity key) {
    final ObjectNode line = event(name);
    line.set("key", key(key));
    return line;
  }

  static ArrayNode key(Identity key) {
    return JSON.arrayNode().add(key.namespace()).add(key.canonicalId());
  }

  static Identity identity(JsonNode key) {
    return new Identity(key.get(0).asText(), key.get(1).asText());
  }

  private static Meta meta(JsonNode from) {
    final JsonNode writtenAt = from.path("writtenAt");
    return new Meta(
        writtenAt.isNumber() ? writtenAt.asLong() : null, from.path("etag").textValue());
  }

  @Override
  public PushOutcome<String> push(Push<Identity, String> push) throws Exception {
    print(
        event("push", push.identity())
            .put("sequence", push.clientSequence())
            .put("generation", push.generation())
            .put("idempotencyKey", push.idempotencyKey())
            .put("retiredThrough", push.retiredThrough())
            .put("base", push.base())
            .put("mine", push.mine()));
    final JsonNode answer = answer("server");
    if (answer.isMissingNode() || answer.asText().equals("accept")) {
      return new PushOutcome.Accepted<>(push.mine());
    }
    if (answer.has("accept")) {
      final JsonNode accept = answer.get("accept");
      return new PushOutcome.Accepted<>(
          accept.has("value") ? accept.get("value").textValue() : push.mine(),
          accept.path("etag").textValue(),
          accept.path("target").isArray() ? identity(accept.get("target")) : null);
    }
    if (answer.has("conflict")) {
      final JsonNode conflict = answer.get("conflict");
      final boolean hasMeta = conflict.has("etag") || conflict.has("writtenAt");
      return new PushOutcome.Conflict<>(hasMeta ? meta(conflict) : null);
    }
    if (answer.has("reject")) {
      return new PushOutcome.Rejected<>(answer.get("reject").asText());
    }
    if (answer.has("throw")) {
      throw new IOException(answer.get("throw").asText());
    }
    throw new InterruptedException("scripted");
  }

  @Override
  public long retire(String clientId, long retiredThrough) throws Exception {
    print(event("retire").put("through", retiredThrough));
    final JsonNode answer = answer("retire");
    if (answer.isNumber()) {
      return answer.asLong();
    }
    switch (answer.asText()) {
      case "throw":
        throw new IOException("retire was scripted to fail");
      case "cancel":
        throw new InterruptedException("scripted");
      default:
        return retiredThrough;
    }
  }

  @Override
  public Resolution<Identity> resolve(Identity identity) throws Exception {
    print(event("resolve", identity));
    switch (resolutions.getOrDefault(identity, "ok")) {
      case "null":
        return new Resolution.Unknown<>();
      case "throw":
        throw new IOException("the resolver was scripted to fail");
      case "mismatch":
        return new Resolution.Found<>(new Identity(identity.namespace(), "another"));
      case "unavailable":
        return new Resolution.Unavailable<>();
      case "cancel":
        throw new InterruptedException("scripted");
      default:
        return new Resolution.Found<>(identity);
    }
  }

  @Override
  public Merge<String> merge(Identity key, String base, String mine, String theirs)
      throws Exception {
    print(event("merge").put("base", base).put("mine", mine).put("theirs", theirs));
    final JsonNode answer = answer("merge");
    if (answer.has("retry")) {
      return new Merge.Retry<>(answer.get("retry").textValue());
    }
    switch (answer.asText()) {
      case "throw":
        throw new IOException("the merge was scripted to fail");
      case "cancel":
        throw new InterruptedException("scripted");
      default:
        return new Merge.ServerWins<>();
    }
  }

  @Override
  public long draw(long windowMs) {
    final JsonNode drawn = answer("jitter");
    return drawn.isNumber() && drawn.asLong() <= windowMs ? drawn.asLong() : windowMs;
  }

  @Override
  public Meta status(Identity key) throws Exception {
    port("status", key);
    final Local local = locals.get(key);
    return local == null ? null : local.meta();
  }

  @Override
  public String read(Identity key) {
    final Local local = locals.get(key);
    return local == null ? null : local.value();
  }

  @Override
  public void freshRead(Identity key) throws Exception {
    print(event("freshRead", key));
    if (port("freshRead", key)) {
      locals.remove(key);
    }
  }

  @Override
  public void apply(Identity key, String value) throws Exception {
    print(event("apply", key).put("value", value));
    port("apply", key);
    final Local local = locals.get(key);
    locals.put(key, new Local(value, local == null ? null : local.meta()));
  }

  @Override
  public void confirmFresh(Identity key, String etag) throws Exception {
    print(event("confirmFresh", key).put("etag", etag));
    port("confirmFresh", key);
    final Local local = locals.get(key);
    if (local != null && local.value() != null) {
      final Long writtenAt = local.meta() == null ? null : local.meta().writtenAt();
      final boolean hasMeta = etag != null || writtenAt != null;
      locals.put(key, new Local(local.value(), hasMeta ? new Meta(writtenAt, etag) : null));
    }
  }

  @Override
  public void clear(Identity key) throws Exception {
    print(event("clear", key));
    port("clear", key);
    locals.remove(key);
  }

  @Override
  public void markStale(Identity key) throws Exception {
    print(event("markStale", key));
    port("markStale", key);
  }

  @Override
  public void invalidateNamespace(String namespace) throws Exception {
    print(event("invalidate").put("namespace", namespace));
    port("invalidate", namespace);
  }
}
