package dev.parsley.mutations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.parsley.mutations.internal.CommitHook;
import dev.parsley.mutations.internal.JournalRows;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;

/**
 * A store over a scenario: its callbacks are scripted, its journal is in a directory so that it
 * outlives kills. One thread does everything, by an executor that runs what it is given.
 */
final class ScenarioReplay implements CommitHook, AutoCloseable {

  private final Path directory;
  private final List<JsonNode> output = new ArrayList<>();
  private final ScriptedPorts ports = new ScriptedPorts(output::add);
  private MutationStore<Identity, String> store;
  private long commits;
  private long killAt;
  private boolean killBefore;

  /** The process is dead. */
  private static final class Killed extends Error {
    private static final long serialVersionUID = 1L;

    Killed() {
      super("killed", null, false, false);
    }
  }

  private final SetClock clock = new SetClock();

  ScenarioReplay(Path directory) {
    this.directory = directory;
  }

  List<JsonNode> output() {
    return output;
  }

  @Override
  public void before(String transition, long sequence) {
    if (killAt > 0 && --killAt == 0) {
      if (killBefore) {
        throw new Killed();
      }
      killAt = -1; // After this commit.
    }
  }

  @Override
  public void after(String transition, long sequence) {
    commits++;
    final ObjectNode line =
        ScriptedPorts.event("commit").put("n", commits).put("transition", transition);
    line.put("sequence", sequence == 0 ? null : sequence);
    output.add(line);
    if (killAt == -1) {
      killAt = 0;
      throw new Killed();
    }
  }

  void apply(JsonNode line) {
    if (ports.script(line)) {
      return;
    }
    try {
      step(line);
    } catch (Killed e) {
      killed();
    } catch (RefusedException | CancellationException | JournalException e) {
      output.add(ScriptedPorts.event("refused").put("why", e.getMessage()));
    } finally {
      Thread.interrupted(); // Left by a scripted cancel, which is over.
    }
  }

  private void killed() {
    output.add(ScriptedPorts.event("killed"));
    close();
  }

  private void step(JsonNode line) {
    switch (line.get("op").asText()) {
      case "open":
        open(line);
        break;
      case "close":
        close();
        break;
      case "clock":
        clock.now = line.get("now").asLong();
        break;
      case "kill":
        killAt = line.get("commit").asLong();
        killBefore = line.get("side").asText().equals("before");
        break;
      case "mutate":
        final long accepted =
            store.mutate(
                ScriptedPorts.identity(line.get("key")),
                ports.handle(line.get("mutator").asText()),
                new ScriptedPorts.Arguments(line.path("arg").textValue(), line.path("stales")));
        output.add(ScriptedPorts.event("mutated").put("sequence", accepted));
        break;
      case "retry":
        final long retried = store.retry(line.get("sequence").asLong());
        output.add(ScriptedPorts.event("retried").put("sequence", retried));
        break;
      case "discard":
        store.discard(line.get("sequence").asLong(), line.get("why").asText());
        output.add(ScriptedPorts.event("discarded").put("sequence", line.get("sequence").asLong()));
        break;
      case "drain":
        drain(line.path("key"));
        break;
      case "pending":
        pending("pending", store.pending(ScriptedPorts.identity(line.get("key"))));
        break;
      case "pendingWrites":
        pending("pendingWrites", store.pendingWrites());
        break;
      case "deadLetters":
        deadLetters();
        break;
      case "journal":
        output.add(JournalRows.of(store.inspection()));
        break;
      default:
        throw new IllegalArgumentException("no line of a scenario: " + line);
    }
  }

  private void open(JsonNode line) {
    commits = 0;
    store =
        MutationStore.<Identity, String>builder(
                line.get("client").asText(), ports, ScriptedPorts.TEXT, ports, ports)
            .mutators(ports.mutators())
            .merge(ports)
            .directory(directory)
            .executor(Runnable::run)
            .lanes(1)
            .clock(clock)
            .jitter(ports)
            .epoch(Long.parseUnsignedLong(line.get("epoch").asText(), 16))
            .hook(this)
            .open();
  }

  private void drain(JsonNode key) {
    String error = null;
    try {
      if (key.isMissingNode()) {
        store.drainAll().join();
      } else {
        store.drain(ScriptedPorts.identity(key)).join();
      }
    } catch (CancellationException e) {
      error = "cancelled";
    } catch (CompletionException e) {
      if (e.getCause() instanceof Killed) {
        throw (Killed) e.getCause();
      }
      if (!(e.getCause() instanceof DrainException)) {
        throw e;
      }
      error = ((DrainException) e.getCause()).kind().name();
    }
    output.add(ScriptedPorts.event("drained").put("error", error));
  }

  private void pending(String name, List<PendingRow> rows) {
    final ObjectNode line = ScriptedPorts.event(name);
    final ArrayNode list = line.putArray("rows");
    for (PendingRow row : rows) {
      final ObjectNode shown = list.addObject();
      shown.set("key", ScriptedPorts.key(row.identity()));
      shown
          .put("sequence", row.sequence())
          .put("state", row.state().name())
          .put("attempt", row.attempt())
          .put("reason", row.reason());
    }
    output.add(line);
  }

  private void deadLetters() {
    final ObjectNode line = ScriptedPorts.event("deadLetters");
    final ArrayNode list = line.putArray("rows");
    for (DeadLetter row : store.deadLetters()) {
      final ObjectNode shown = list.addObject();
      shown.set("key", ScriptedPorts.key(row.identity()));
      shown
          .put("sequence", row.sequence())
          .put("generation", row.generation())
          .put("attempts", row.attempts())
          .put("kind", row.failure().kind().name())
          .put("detail", row.failure().detail())
          .put("message", row.failure().message())
          .put("remoteOutcomeUnknown", row.remoteOutcomeUnknown());
    }
    output.add(line);
  }

  @Override
  public void close() {
    if (store != null) {
      store.close();
      store = null;
    }
  }
}
