package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;

class NativeLibraryTest {

  @Test
  void shouldMapEachPlatformToItsPlaceInTheJar() {
    assertEquals(
        "/dev/parsley/native/linux-x86_64/libparsley_jni.so",
        NativeLibrary.resource("Linux", "amd64"));
    assertEquals(
        "/dev/parsley/native/linux-aarch64/libparsley_jni.so",
        NativeLibrary.resource("Linux", "aarch64"));
    assertEquals(
        "/dev/parsley/native/macos-aarch64/libparsley_jni.dylib",
        NativeLibrary.resource("Mac OS X", "arm64"));
    assertEquals(
        "/dev/parsley/native/macos-x86_64/libparsley_jni.dylib",
        NativeLibrary.resource("Mac OS X", "x86_64"));
  }

  @Test
  void shouldNotDependOnTheDefaultLocale() {
    final Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("tr")); // Makes a dotless i of a capital one.
    try {
      assertEquals(
          "/dev/parsley/native/linux-x86_64/libparsley_jni.so",
          NativeLibrary.resource("LINUX", "AMD64"));
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void shouldNameThePlatformItHasNoLibraryFor() {
    assertMessage("Windows 11", () -> NativeLibrary.resource("Windows 11", "amd64"));
    assertMessage("riscv64", () -> NativeLibrary.resource("Linux", "riscv64"));
  }

  @Test
  void shouldLoadMoreThanOnce() {
    NativeLibrary.load();
    NativeLibrary.load();
  }

  @Test
  void shouldLeaveNoFileBehind() throws IOException {
    NativeLibrary.load();

    // The build gives each test run a temporary directory of its own.
    try (DirectoryStream<Path> left =
        Files.newDirectoryStream(
            Path.of(System.getProperty("java.io.tmpdir")), "parsley-native*")) {
      assertFalse(left.iterator().hasNext());
    }
  }

  private static void assertMessage(String part, Runnable call) {
    final String message = assertThrows(IllegalStateException.class, call::run).getMessage();
    assertTrue(message.contains(part), message);
  }
}
