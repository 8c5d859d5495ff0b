package dev.parsley.tests.faults;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import dev.parsley.tests.streams.Scenario;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One instance of an application in a process of its own, to be killed, stopped and started again
 * on its state directory. For one thread.
 */
final class Instance {

  /** Small, and not optimised: most of them live for seconds. */
  private static final List<String> JVM_ARGUMENTS =
      List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto");

  private static final String TMP_DIRECTORY = "-Djava.io.tmpdir=";

  private static final AtomicInteger NAMES = new AtomicInteger();

  /** The prefix of its clients' names, which the group knows its members by. */
  final String name = "faulty" + NAMES.incrementAndGet() + "-";

  private final Scenario scenario;
  private final Path directory;
  private final List<String> jvmArguments;
  private final Map<String, String> settings;
  private final Map<String, String> environment;
  private final List<String> arguments = new ArrayList<>(); // of the last start
  private ChildJvm child;
  private boolean paused;
  private int seen; // lines of a state that were there before the present fault

  Instance(Scenario scenario, Map<String, String> more, Map<String, String> environment) {
    this.scenario = scenario;
    this.directory = scenario.newDirectory();
    // A killed JVM leaves the library that rocksdbjni has unpacked, 10 MB each time.
    this.jvmArguments = new ArrayList<>(JVM_ARGUMENTS);
    this.jvmArguments.add(TMP_DIRECTORY + scenario.newDirectory());
    this.settings = new HashMap<>(scenario.settings(directory));
    this.settings.put("client.id", name);
    this.settings.putAll(more);
    this.environment = environment;
  }

  void start() {
    start(Map.of(), Long.MAX_VALUE);
  }

  /**
   * @param more settings for this time only
   * @param told the number of the copy after which it says {@link FaultyInstance#COPIED}
   */
  void start(Map<String, String> more, long told) {
    if (isAlive()) {
      throw new IllegalStateException(name + " is running");
    }
    final Map<String, String> all = new HashMap<>(settings);
    all.putAll(more);
    arguments.clear();
    arguments.add(scenario.output);
    arguments.add(String.join(",", scenario.topics()));
    arguments.add(Long.toString(told));
    all.forEach((key, value) -> arguments.add(key + "=" + value));
    startAgain();
  }

  /** As it was started last. */
  void startAgain() {
    child =
        ChildJvm.start(
            FaultyInstance.class, jvmArguments, arguments, Optional.empty(), environment);
    paused = false;
    seen = 0;
  }

  /** Processor time that it has used since it was started. */
  Duration cpuTime() {
    return child.cpuTime();
  }

  boolean isAlive() {
    return child != null && child.isAlive();
  }

  /** Whether it has said a line that begins so since it was started, or since {@link #forget}. */
  boolean has(String prefix) {
    final List<String> lines = child.lines();
    return lines.subList(seen, lines.size()).stream().anyMatch(line -> line.startsWith(prefix));
  }

  /** What it has said so far does not count any more. */
  void forget() {
    seen = child.lines().size();
  }

  /** What its clock shows, in milliseconds since 1970. */
  long clockMs() {
    forget();
    send(FaultyInstance.CLOCK);
    Await.until(() -> has(FaultyInstance.CLOCK), name + " tells the time");
    final String answer = child.lastLine(FaultyInstance.CLOCK).orElseThrow();
    return Long.parseLong(answer.substring(FaultyInstance.CLOCK.length() + 1));
  }

  boolean isRunning() {
    return isAlive()
        && child.lastLine(FaultyInstance.STATE).filter(FaultyInstance.RUNNING::equals).isPresent();
  }

  /** Why it has stopped by itself; empty when it was killed or has said nothing. */
  Optional<String> refusal() {
    return child.lastLine(FaultyInstance.REFUSED);
  }

  Optional<String> failure() {
    return child.lastLine(FaultyInstance.FAILED);
  }

  List<String> lines() {
    return child.lines();
  }

  void send(String command) {
    child.send(command);
  }

  /** {@code kill -9}. */
  void kill() {
    if (child != null) {
      child.kill();
      child.close();
    }
  }

  void pause() {
    child.pause();
    paused = true;
  }

  void resume() {
    child.resume();
    paused = false;
  }

  /** Asks it to close and returns when it has ended. */
  void stop() {
    if (paused) {
      resume();
    }
    child.close();
  }
}
