package dev.parsley.mutations.internal;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.parsley.mutations.Failure;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Meta;
import java.nio.charset.StandardCharsets;
import java.util.function.BiConsumer;

/** The rows of a journal as a scenario shows them. */
public final class JournalRows {

  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private JournalRows() {}

  /** All rows of a journal. */
  public static ObjectNode of(Inspection inspection) {
    final Wire.Reader in = new Wire.Reader(NativeJournal.dump(inspection.driver().journal()));
    final ObjectNode rows = JSON.objectNode().put("event", "journal");
    rows.putNull("client");
    if (in.flag()) {
      rows.putObject("client")
          .put("allocated", in.number())
          .put("retired", in.number())
          .put("confirmed", in.number());
    }
    list(rows, "executions", in, JournalRows::execution);
    list(rows, "attempts", in, JournalRows::attempt);
    list(rows, "failures", in, JournalRows::failure);
    list(rows, "effects", in, JournalRows::effect);
    list(
        rows,
        "aliases",
        in,
        (row, from) -> {
          row.set("from", key(from.identity()));
          row.set("to", key(from.identity()));
          row.put("state", from.text());
        });
    list(
        rows,
        "tombstones",
        in,
        (row, from) -> {
          row.set("key", key(from.identity()));
          row.put("sequence", from.number()).put("state", from.text());
        });
    return rows;
  }

  private static void list(
      ObjectNode rows, String name, Wire.Reader in, BiConsumer<ObjectNode, Wire.Reader> read) {
    final ArrayNode list = rows.putArray(name);
    in.list(
        from -> {
          read.accept(list.addObject(), from);
          return null;
        });
  }

  private static void execution(ObjectNode row, Wire.Reader in) {
    row.put("sequence", in.number())
        .put("phase", in.text())
        .put("generation", in.integer())
        .put("attempt", in.integer())
        .put("lastAttemptAt", in.numberOrNone());
  }

  private static void attempt(ObjectNode row, Wire.Reader in) {
    row.put("sequence", in.number()).put("generation", in.integer());
    row.set("key", key(in.identity()));
    row.put("base", text(in.presence())).put("mine", text(in.presence()));
    row.putNull("conflict");
    if (in.flag()) {
      final Meta meta = in.meta();
      row.putObject("conflict")
          .put("etag", meta == null ? null : meta.etag())
          .put("writtenAt", meta == null ? null : meta.writtenAt());
    }
  }

  private static void failure(ObjectNode row, Wire.Reader in) {
    row.put("sequence", in.number());
    final Failure failure = Messages.failure(in);
    row.put("generation", failure.generation())
        .put("kind", failure.kind().name())
        .put("detail", failure.detail())
        .put("message", failure.message())
        .put("count", failure.count());
  }

  private static void effect(ObjectNode row, Wire.Reader in) {
    row.put("sequence", in.number()).put("index", in.integer());
    if (in.flag()) {
      row.put("kind", "KEY").set("key", key(in.identity()));
    } else {
      row.put("kind", "NAMESPACE").put("namespace", in.text());
    }
    row.put("disposition", in.text());
  }

  private static String text(byte[] value) {
    return value == null ? null : new String(value, StandardCharsets.UTF_8);
  }

  private static ArrayNode key(Identity identity) {
    return JSON.arrayNode().add(identity.namespace()).add(identity.canonicalId());
  }
}
