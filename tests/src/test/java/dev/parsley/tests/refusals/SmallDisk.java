package dev.parsley.tests.refusals;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A directory that runs out of room. Where this process may mount, it is a file system of its own
 * with a few MiB. Elsewhere its directories stop taking new files, which a store that flushes meets
 * in the same place, with another error of the system.
 */
final class SmallDisk implements AutoCloseable {

  private static final String SIZE = "size=8m";
  private static final long LEFT_BYTES = 2 * 1024 * 1024;

  private final Path directory;
  private final boolean mounted;

  private SmallDisk(Path directory, boolean mounted) {
    this.directory = directory;
    this.mounted = mounted;
  }

  static SmallDisk at(Path directory) {
    final boolean mounted =
        ran(List.of("mount", "-t", "tmpfs", "-o", SIZE, "tmpfs", directory.toString()));
    return new SmallDisk(directory, mounted);
  }

  /** Leaves little room. */
  void fill() throws IOException {
    if (mounted) {
      final long free = Files.getFileStore(directory).getUsableSpace();
      try (OutputStream out = Files.newOutputStream(ballast())) {
        out.write(new byte[(int) Math.max(0, free - LEFT_BYTES)]);
      }
    } else {
      setPermissions("r-x------");
    }
  }

  /** Gives the room back; what was written stays. */
  void makeRoom() throws IOException {
    if (mounted) {
      Files.delete(ballast());
      ran(List.of("mount", "-o", "remount,size=200m", directory.toString()));
    } else {
      setPermissions("rwx------");
    }
  }

  @Override
  public void close() {
    if (mounted) {
      ran(List.of("umount", "-l", directory.toString()));
    }
  }

  private Path ballast() {
    return directory.resolve("ballast");
  }

  private void setPermissions(String permissions) throws IOException {
    try (Stream<Path> tree = Files.walk(directory)) {
      for (Path path : tree.filter(Files::isDirectory).toList()) {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
      }
    }
  }

  private static boolean ran(List<String> command) {
    try {
      final Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getInputStream().readAllBytes();
      return process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException e) {
      return false; // There is no such command.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted: " + command, e);
    }
  }
}
