package dev.parsley.demo;

import dev.parsley.tests.harness.Directories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/**
 * The demo. Exit status 0: without the node effects were seen before their causes, with it none
 * was, and nothing was lost or duplicated. 1: it went otherwise. 2: it was asked for something
 * wrong.
 */
final class Demo {

  private static final Path DIRECTORY = Path.of("build", "demo").toAbsolutePath();

  private static final String NO_CAUSES =
      "None of your events names a cause, so nothing can come before its cause and this shows"
          + " nothing. Give\nevents the \"causes\" they have: \"causes\":[\"o1\"] names the earlier"
          + " event with \"id\":\"o1\".";

  private final Options options;
  private final Optional<List<Event>> events;
  private final Progress progress;

  private Demo(Options options, Optional<List<Event>> events) {
    this.options = options;
    this.events = events;
    this.progress = new Progress(options.live());
  }

  public static void main(String[] arguments) throws IOException {
    Locale.setDefault(Locale.ROOT);
    final Options options;
    Optional<List<Event>> events = Optional.empty();
    try {
      options = Options.parse(arguments);
      if (options.input().isPresent()) {
        events = Optional.of(EventFile.read(options.input().get()));
      }
    } catch (IllegalArgumentException | EventFile.InvalidException e) {
      System.err.println("demo: " + e.getMessage());
      System.exit(2);
      return;
    }
    // Threads of Kafka's server may outlive the demo, so the status is given outright.
    System.exit(new Demo(options, events).play() ? 0 : 1);
  }

  private boolean play() throws IOException {
    Directories.delete(DIRECTORY.resolve("state"));
    Files.createDirectories(DIRECTORY);
    explain();
    final List<Outcome> outcomes;
    try (Stage stage = new Stage(options.seed(), DIRECTORY.resolve("state"))) {
      progress.say("Brokers run. Logs: " + DIRECTORY);
      outcomes =
          List.of(
              play(stage, "without", false, false),
              play(stage, "with", true, false),
              play(stage, "killed", true, true));
    } catch (Run.FailedException
        | AssertionError e) { // The latter: something did not come in time.
      progress.say("The demo could not be played to its end: " + e.getMessage());
      return false;
    }
    return report(outcomes);
  }

  private Outcome play(Stage stage, String name, boolean causal, boolean kill) {
    final Workload workload =
        events.isPresent()
            ? new RecordedEvents(stage.cluster(), name, events.get())
            : new MadeUpOrders(stage.cluster(), name, options.records());
    try (Run run = new Run(name, causal, kill, stage, workload, progress, DIRECTORY)) {
      return run.play();
    }
  }

  private void explain() {
    final String flow =
        events.isPresent()
            ? "Your " + events.get().size() + " events are sent to their topics in file order, and"
            : "Requests become orders, an order causes a payment, and";
    progress.say(
        flow
            + " a last service (shipments)\nreads them from two brokers. What it fetches from one"
            + " of them is kept on the way for 0 to "
            + Stage.FAR_DELAY_MS_MAX
            + " ms,\nfrom the other for 0 to "
            + Stage.NEAR_DELAY_MS_MAX
            + " ms, by a proxy that touches nothing else (seed "
            + options.seed()
            + "). So effects\novertake their causes, as they do over any slow link. Three runs:\n"
            + "  without  services as they are usually written\n"
            + "  with     the same services with the causal node\n"
            + "  killed   as 'with', and the slow link stalls, the last service is killed with"
            + " kill -9\n           while it holds records, and is started again\n"
            + "While they run a line tells how many "
            + (events.isPresent() ? "events" : "requests")
            + " were fed to the topics, how many records the last"
            + "\nservice has processed of all that come to it, and how many have arrived there and"
            + " are waiting: held by the\nnode for their causes, or not looked at yet.");
    if (namesNoCauses()) {
      progress.say(NO_CAUSES);
    }
  }

  private boolean namesNoCauses() {
    return events.isPresent() && events.get().stream().allMatch(event -> event.causes().isEmpty());
  }

  private boolean report(List<Outcome> outcomes) {
    progress.say("");
    row("", outcomes, Outcome::name);
    row("records", outcomes, outcome -> outcome.records());
    row("effects seen before their cause", outcomes, outcome -> outcome.beforeCause());
    row(
        "held at the kill",
        outcomes,
        outcome -> outcome.heldAtKill().isPresent() ? outcome.heldAtKill().getAsInt() : "-");
    row(
        "restored",
        outcomes,
        outcome -> outcome.heldAtKill().isPresent() ? outcome.restored() : "-");
    row("duplicates", outcomes, outcome -> outcome.duplicates());
    row("lost", outcomes, outcome -> outcome.lost());
    row("added latency p50, ms", outcomes, outcome -> millis(outcome.p50Ms()));
    row("added latency p99, ms", outcomes, outcome -> millis(outcome.p99Ms()));
    progress.say(
        "Added latency: from a record's arrival at the last service to its processing there. With"
            + " the node\nit is the wait for causes that are still on their way; restored records"
            + " are left out.\n");

    final int without = outcomes.get(0).beforeCause();
    final int with = outcomes.get(1).beforeCause() + outcomes.get(2).beforeCause();
    final int lost = outcomes.stream().mapToInt(Outcome::lost).sum();
    final int duplicated = outcomes.stream().mapToInt(Outcome::duplicates).sum();
    if (namesNoCauses()) {
      progress.say(NO_CAUSES);
    } else if (without == 0) {
      progress.say(
          "No effect overtook its cause, so this run shows nothing. It takes effects and causes on"
              + " two topics\nat least; another SEED or more records may do.");
    }
    progress.say(
        "RESULT before-cause without="
            + without
            + " with="
            + with
            + " lost="
            + lost
            + " duplicated="
            + duplicated);
    return without > 0 && with == 0 && lost == 0 && duplicated == 0;
  }

  private void row(String title, List<Outcome> outcomes, Function<Outcome, Object> cell) {
    final StringBuilder row = new StringBuilder(String.format("%-34s", title));
    outcomes.forEach(outcome -> row.append(String.format("%12s", cell.apply(outcome))));
    progress.say(row.toString());
  }

  private static String millis(double ms) {
    return Double.isNaN(ms) ? "-" : String.format("%.1f", ms);
  }
}
