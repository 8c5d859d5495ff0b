package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.junit.jupiter.api.Test;

/** A library is loaded once in a process, so a failure to load it needs a process of its own. */
class NativeLibraryFailureTest {

  /** Tries to load twice and prints what each try says. */
  public static void main(String[] args) {
    for (int attempt = 0; attempt < 2; attempt++) {
      try {
        NativeLibrary.load();
        System.out.println("loaded");
      } catch (ProcessorStateException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  void shouldFailTheSameClearWayEachTime() throws IOException, InterruptedException {
    final Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dparsley.native.library=/no/such/library.so",
                "-cp",
                System.getProperty("java.class.path"),
                NativeLibraryFailureTest.class.getName())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));

    final List<String> said = output.lines().toList();
    assertEquals(2, said.size(), output);
    assertEquals(said.get(0), said.get(1));
    assertTrue(said.get(0).contains("names no file: /no/such/library.so"), output);
    assertTrue(said.get(0).contains("Set the system property parsley.native.library"), output);
  }
}
