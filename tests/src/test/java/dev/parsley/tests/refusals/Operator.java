package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.parsley.streams.RefusalException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.StreamsResetter;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;

/**
 * Whoever runs the application: says Kafka's own commands, word by word as a refusal advises them.
 */
final class Operator {

  private static final Pattern COMMAND = Pattern.compile("'(kafka-[^']+)'");
  private static final String CONSUMER_GROUPS = "kafka-consumer-groups.sh";
  private static final String APPLICATION_RESET = "kafka-streams-application-reset.sh";

  private final Application application;

  Operator(Application application) {
    this.application = application;
  }

  /** The whole commands in a refusal's advice. */
  static List<String> commandsIn(String advice) {
    final List<String> commands = new ArrayList<>();
    final Matcher matcher = COMMAND.matcher(advice);
    while (matcher.find()) {
      commands.add(matcher.group(1));
    }
    return commands;
  }

  /** Says the one command of the advice that has this word. */
  String sayAdvised(RefusalException refusal, String word) {
    final List<String> commands = new ArrayList<>(commandsIn(refusal.advice()));
    commands.removeIf(command -> !(command + " ").contains(" " + word + " "));
    assertEquals(1, commands.size(), word + " in " + refusal.advice());
    return say(commands.get(0));
  }

  /** Does all that "start over" means in the advice; instances are stopped. */
  void startOver(RefusalException refusal) {
    sayAdvised(refusal, "--application-id");
    sayAdvised(refusal, "--delete");
    application.deleteLocalState();
  }

  /** Says a command that must succeed; what it printed. */
  String say(String command) {
    final String printed = run(command);
    assertFalse(printed.contains("Error"), command + " said: " + printed);
    return printed;
  }

  /** Says a command; what it printed. */
  String run(String command) {
    final String[] words =
        command
            .replace("<brokers>", application.cluster.bootstrapServers())
            .replace("<application.id>", application.applicationId)
            .split(" ");
    for (String word : words) {
      assertFalse(word.contains("<"), "not filled in: " + command);
    }
    final String[] arguments = Arrays.copyOfRange(words, 1, words.length);
    final ByteArrayOutputStream printed = new ByteArrayOutputStream();
    final PrintStream before = System.out;
    final PrintStream errorsBefore = System.err;
    final PrintStream catching = new PrintStream(printed, true, StandardCharsets.UTF_8);
    System.setOut(catching);
    System.setErr(catching);
    Exit.setExitProcedure(
        (status, message) -> {
          if (status != 0) {
            throw new IllegalStateException("Error: exit status " + status + ", " + message);
          }
        });
    try {
      switch (words[0]) {
        case CONSUMER_GROUPS -> ConsumerGroupCommand.main(arguments);
        case APPLICATION_RESET -> assertEquals(0, new StreamsResetter().execute(arguments));
        default -> throw new IllegalArgumentException("no such command here: " + words[0]);
      }
    } finally {
      System.setOut(before);
      System.setErr(errorsBefore);
      Exit.resetExitProcedure();
    }
    return printed.toString(StandardCharsets.UTF_8);
  }
}
