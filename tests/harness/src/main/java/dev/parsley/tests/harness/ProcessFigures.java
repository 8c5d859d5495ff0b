package dev.parsley.tests.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * What a process on Linux has taken from its machine, measured by itself after it has given back
 * what is free: the Java heap is collected, freed blocks of {@code malloc} are returned.
 *
 * @param anonymousKiB resident memory that is no file; meaningful beside another only if the heap
 *     has a fixed size and is touched from the start
 * @param jvmKiB what the JVM has committed of it for itself, heap, classes, compiled code and
 *     threads; -1 if it does not track its native memory
 * @param files open file descriptors, those of jars apart
 * @param threads of the whole process, native ones too
 * @param globalReferences JNI references that outlive a call, weak ones among them
 * @param internalBlocks blocks of the JVM's own among which those for JNI's local references are,
 *     or -1 if the JVM does not track its native memory
 */
public record ProcessFigures(
    long anonymousKiB,
    long jvmKiB,
    int files,
    int threads,
    int globalReferences,
    long internalBlocks) {

  private static final Pattern ANONYMOUS = Pattern.compile("RssAnon:\\s+(\\d+) kB");
  private static final Pattern THREADS = Pattern.compile("Threads:\\s+(\\d+)");
  private static final Pattern REFERENCES =
      Pattern.compile("JNI global refs: (\\d+), weak refs: (\\d+)");
  private static final Pattern INTERNAL =
      Pattern.compile("Internal \\(.*\\)\\s+\\(malloc=\\S+KB (?:tag=\\S+ )?#(\\d+)\\)");

  private static final Pattern COMMITTED = Pattern.compile("Total: .*committed=(\\d+)KB");

  public static ProcessFigures now() {
    for (int i = 0; i < 2; i++) {
      System.gc();
    }
    final String references = diagnose("threadPrint");
    final String memory = diagnose("vmNativeMemory", "summary");
    diagnose("systemTrimNativeHeap");
    final String status = read(Path.of("/proc/self/status"));
    return new ProcessFigures(
        number(ANONYMOUS, status, 1),
        tracked(COMMITTED, memory),
        openFiles(),
        (int) number(THREADS, status, 1),
        (int) (number(REFERENCES, references, 1) + number(REFERENCES, references, 2)),
        tracked(INTERNAL, memory));
  }

  /** By how much memory has grown that is not the JVM's own: that of native libraries. */
  public long nativeGrowthKiB(ProcessFigures before) {
    return (anonymousKiB - jvmKiB) - (before.anonymousKiB - before.jvmKiB);
  }

  /** As it is read by {@link #parse}. */
  @Override
  public String toString() {
    return "anonymousKiB="
        + anonymousKiB
        + " jvmKiB="
        + jvmKiB
        + " files="
        + files
        + " threads="
        + threads
        + " globalReferences="
        + globalReferences
        + " internalBlocks="
        + internalBlocks;
  }

  /** What another process has printed of itself. */
  public static ProcessFigures parse(String text) {
    return new ProcessFigures(
        named("anonymousKiB", text),
        named("jvmKiB", text),
        (int) named("files", text),
        (int) named("threads", text),
        (int) named("globalReferences", text),
        named("internalBlocks", text));
  }

  private static long tracked(Pattern pattern, String memory) {
    final Matcher matcher = pattern.matcher(memory);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : -1;
  }

  private static long named(String name, String text) {
    return number(Pattern.compile("\\b" + name + "=(-?\\d+)"), text, 1);
  }

  private static int openFiles() {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return (int) files.filter(ProcessFigures::isCounted).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The class path's own are opened when a class is first looked for. */
  private static boolean isCounted(Path descriptor) {
    try {
      final String target = Files.readSymbolicLink(descriptor).toString();
      return !target.endsWith(".jar") && !target.startsWith("/proc/");
    } catch (IOException e) {
      return false; // That of the listing itself, which has ended.
    }
  }

  private static long number(Pattern pattern, String text, int group) {
    final Matcher matcher = pattern.matcher(text);
    if (!matcher.find()) {
      throw new IllegalStateException("no " + pattern + " in: " + text);
    }
    return Long.parseLong(matcher.group(group));
  }

  /** What {@code jcmd} would answer. */
  private static String diagnose(String command, String... arguments) {
    try {
      final ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
      final boolean bare = command.equals("systemTrimNativeHeap");
      return (String)
          ManagementFactory.getPlatformMBeanServer()
              .invoke(
                  commands,
                  command,
                  bare ? new Object[0] : new Object[] {arguments},
                  bare ? new String[0] : new String[] {String[].class.getName()});
    } catch (JMException e) {
      throw new IllegalStateException("the JVM does not answer to " + command, e);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
