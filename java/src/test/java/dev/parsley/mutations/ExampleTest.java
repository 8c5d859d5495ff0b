package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the documentation. */
class ExampleTest {

  @TempDir Path directory;

  private final OtherSide server = new OtherSide();
  private final OtherSide cache = server;
  private final Codec<String> text = ScriptedPorts.TEXT;

  @Test
  void shouldRun() {
    // The mutators: pure functions by name, for as long as a journal holds mutations of them.
    Mutators<Identity, String> mutators = new Mutators<>();
    MutatorHandle<String> rename = mutators.upsert("rename", text, (before, name) -> name);

    // A journal in a directory; the server and the local cache are the application's.
    try (MutationStore<Identity, String> store =
        MutationStore.<Identity, String>builder(
                "till-7", Resolution.Found::new, text, server, cache)
            .mutators(mutators)
            .merge(MergePolicies.clientWins())
            .directory(directory)
            .open()) {
      store.events(event -> System.out.println(event.identity() + " " + event.what()));

      Identity customer = new Identity("customers", "17");
      store.mutate(customer, rename, "Ada"); // Durable when it returns.

      Report report = store.drain(customer).join(); // Cancelling the future cancels the drain.
      for (Report.Visit visit : report.visits()) {
        System.out.println(visit.retired() + " done, blocked by " + visit.blocked());
      }
      store.deadLetters().forEach(letter -> store.discard(letter.sequence(), "seen by Bo"));
    }
    assertEquals("Ada", cache.values.get(new Identity("customers", "17")));
  }
}
