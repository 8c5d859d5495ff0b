package dev.parsley.tests.harness;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A main class in a JVM of its own, with this JVM's Java and class path, which can be killed with
 * {@code kill -9}. It talks in lines: what it prints on standard output is kept and can be waited
 * for, what is sent to it arrives on its standard input. Its standard error goes to a file or to
 * ours. A child whose parent is gone reads the end of its input and should end as well.
 */
public final class ChildJvm implements AutoCloseable {

  private final Process process;
  private final BufferedWriter input;
  private final Thread reader;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  private ChildJvm(Process process) {
    this.process = process;
    this.input = process.outputWriter(StandardCharsets.UTF_8);
    this.reader = new Thread(this::readLines, "child-" + process.pid() + "-output");
    reader.setDaemon(true);
    reader.start();
  }

  public static ChildJvm start(Class<?> main, String... arguments) {
    return start(main, List.of(), List.of(arguments), Optional.empty());
  }

  /**
   * @param jvmArguments options of the child's JVM, such as {@code -Xmx256m}
   * @param errors where its standard error is appended; empty: to this process's own
   */
  public static ChildJvm start(
      Class<?> main, List<String> jvmArguments, List<String> arguments, Optional<Path> errors) {
    return start(main, jvmArguments, arguments, errors, Map.of());
  }

  /**
   * @param environment variables over those of this process
   */
  public static ChildJvm start(
      Class<?> main,
      List<String> jvmArguments,
      List<String> arguments,
      Optional<Path> errors,
      Map<String, String> environment) {
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // The JVM options of the build's test runner, above all -Xcheck:jni, hold for children too.
    JvmOptions.inherited().forEach(command::add);
    command.addAll(jvmArguments);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(arguments);
    final ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    if (errors.isPresent()) {
      builder.redirectError(ProcessBuilder.Redirect.appendTo(errors.get().toFile()));
    } else {
      builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    }
    try {
      return new ChildJvm(builder.start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Everything it has printed so far. */
  public List<String> lines() {
    return List.copyOf(lines);
  }

  /** The last line that begins so, if there is one. */
  public Optional<String> lastLine(String prefix) {
    return lines.stream().filter(line -> line.startsWith(prefix)).reduce((a, b) -> b);
  }

  /** Waits for a line that begins so and returns the first one. */
  public String awaitLine(String prefix, Duration timeout) {
    Await.until(
        () -> firstLine(prefix).isPresent() || !isAlive(),
        timeout,
        () -> "a line '" + prefix + "...' from the child; it said " + lines);
    joinReaderOfADeadChild();
    return firstLine(prefix)
        .orElseThrow(
            () ->
                new AssertionError(
                    "the child ended with status "
                        + process.exitValue()
                        + " without a line '"
                        + prefix
                        + "...'; it said "
                        + lines));
  }

  /** Sends one line to its standard input. */
  public void send(String line) {
    try {
      input.write(line);
      input.newLine();
      input.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  public long pid() {
    return process.pid();
  }

  /** Processor time it has used so far; zero when the system does not tell or the child is gone. */
  public Duration cpuTime() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO);
  }

  /** {@code kill -9}: it gets no chance to close anything. Returns when it is gone. */
  public void kill() {
    process.destroyForcibly();
    awaitExit(Await.PATIENCE);
  }

  /** {@code SIGTERM}: it is asked to end. */
  public void terminate() {
    process.destroy();
  }

  /** {@code SIGSTOP}: it stands still, with all of its connections open, until it is resumed. */
  public void pause() {
    signal("STOP");
  }

  /** {@code SIGCONT}: it goes on as if no time had passed. */
  public void resume() {
    signal("CONT");
  }

  private void signal(String name) {
    try {
      // The shell's own kill: not every system has one as a program.
      final String command = "kill -" + name + " " + process.pid();
      final int status = new ProcessBuilder("sh", "-c", command).start().waitFor();
      if (status != 0) {
        throw new IllegalStateException("'" + command + "' ended with status " + status);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /**
   * Ends its input, which is how a child is asked to close what it has open. One that goes on is
   * sent {@code SIGTERM} after a while, and killed in the end.
   */
  @Override
  public void close() {
    try {
      input.close();
    } catch (IOException e) {
      // It is gone already, and its end of the pipe with it.
    }
    try {
      if (process.waitFor(10, TimeUnit.SECONDS)) {
        return;
      }
      process.destroy();
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        kill();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      process.destroyForcibly();
    }
  }

  /** Waits until it has ended by itself and returns its exit status. */
  public int awaitExit(Duration timeout) {
    Await.until(() -> !process.isAlive(), timeout, () -> "the child ends; it said " + lines);
    joinReaderOfADeadChild();
    return process.exitValue();
  }

  private Optional<String> firstLine(String prefix) {
    return lines.stream().filter(line -> line.startsWith(prefix)).findFirst();
  }

  /** What a child printed just before its end may still be on its way to us. */
  private void joinReaderOfADeadChild() {
    if (!process.isAlive()) {
      try {
        reader.join(Await.PATIENCE.toMillis());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void readLines() {
    try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        lines.add(line);
      }
    } catch (IOException e) {
      // The stream of a killed process may end in an error instead of an end.
    }
  }

  /** Which of this JVM's own options a child is started with as well. */
  private static final class JvmOptions {
    private static final List<String> PREFIXES =
        List.of(
            "-Xcheck:",
            "-XX:",
            "-ea",
            "-Dorg.slf4j.",
            "-Djava.io.tmpdir=",
            "--enable-native-access");

    private static final String LOG_FILE = "-Dorg.slf4j.simpleLogger.logFile=";

    private static final AtomicInteger CHILDREN = new AtomicInteger();

    static Collection<String> inherited() {
      return java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
          .filter(option -> PREFIXES.stream().anyMatch(option::startsWith))
          .map(JvmOptions::withItsOwnLog)
          .toList();
    }

    /** Two processes that write to one log file destroy what the other wrote. */
    private static String withItsOwnLog(String option) {
      return option.startsWith(LOG_FILE) && !option.endsWith("System.err")
          ? option + ".child-" + CHILDREN.incrementAndGet()
          : option;
    }
  }
}
