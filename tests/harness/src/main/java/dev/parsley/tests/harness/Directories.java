package dev.parsley.tests.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** What the JDK leaves out about directories. */
public final class Directories {

  private Directories() {}

  /** Deletes a directory and all in it; one that is not there is fine. */
  public static void delete(Path directory) {
    try (Stream<Path> tree = Files.walk(directory)) {
      final List<Path> deepestFirst = tree.sorted(Comparator.reverseOrder()).toList();
      for (Path path : deepestFirst) {
        Files.deleteIfExists(path);
      }
    } catch (NoSuchFileException e) {
      // Somebody else has deleted it, which is what was wanted.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
