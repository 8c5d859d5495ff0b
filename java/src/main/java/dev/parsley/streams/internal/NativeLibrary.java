package dev.parsley.streams.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.kafka.streams.errors.ProcessorStateException;

/**
 * Loads the native library once for the process: the file that the system property {@value
 * #PATH_PROPERTY} names, or else the one in the jar, copied to a temporary file.
 */
public final class NativeLibrary {

  /** Names a library file to use instead of the one in the jar. */
  static final String PATH_PROPERTY = "parsley.native.library";

  private NativeLibrary() {}

  /**
   * Makes the native methods callable. Cheap when they are.
   *
   * @throws ProcessorStateException when the library cannot be loaded; each call after a failed one
   *     fails the same way, because a process that got half a library must not go on
   */
  public static void load() {
    if (Loaded.FAILURE != null) {
      throw new ProcessorStateException(Loaded.FAILURE.getMessage(), Loaded.FAILURE);
    }
  }

  /** The class loader runs this once and makes other threads wait for it. */
  private static final class Loaded {

    private static final Throwable FAILURE = attempt();

    private static Throwable attempt() {
      try {
        loadFrom(System.getProperty(PATH_PROPERTY));
        return null;
      } catch (IOException | RuntimeException | UnsatisfiedLinkError e) {
        return new IllegalStateException(
            "Parsley's native library could not be loaded: "
                + e.getMessage()
                + ". Set the system property "
                + PATH_PROPERTY
                + " to the path of a library built for this machine.",
            e);
      }
    }
  }

  private static void loadFrom(String given) throws IOException {
    if (given != null) {
      final Path path = Path.of(given).toAbsolutePath(); // System.load takes no other.
      if (!Files.isRegularFile(path)) {
        throw new IOException("the property " + PATH_PROPERTY + " names no file: " + path);
      }
      System.load(path.toString());
      return;
    }
    final String resource = resource(System.getProperty("os.name"), System.getProperty("os.arch"));
    final Path directory = Files.createTempDirectory("parsley-native");
    final Path library = directory.resolve(resource.substring(resource.lastIndexOf('/') + 1));
    try {
      extract(resource, library);
      System.load(library.toString());
    } finally {
      // A loaded library needs its file no more. At exit would be too late for a process that is
      // killed, and one that is killed often would fill the disk.
      Files.deleteIfExists(library);
      Files.delete(directory);
    }
  }

  private static void extract(String resource, Path library) throws IOException {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IOException("the jar has no " + resource);
      }
      Files.copy(in, library);
    }
  }

  /**
   * Where the jar has the library of a platform.
   *
   * @param osName as the system property {@code os.name} has it
   * @param osArch as the system property {@code os.arch} has it
   */
  static String resource(String osName, String osArch) {
    // Not in the default locale: Turkish would make "wındows" and "lınux" of capital letters.
    final String name = osName.toLowerCase(Locale.ROOT);
    final String system;
    final String file;
    if (name.startsWith("linux")) {
      system = "linux";
      file = "libparsley_jni.so";
    } else if (name.startsWith("mac")) {
      system = "macos";
      file = "libparsley_jni.dylib";
    } else {
      throw new IllegalStateException("there is no library for the operating system " + osName);
    }
    return "/dev/parsley/native/" + system + "-" + machine(osArch) + "/" + file;
  }

  private static String machine(String osArch) {
    switch (osArch.toLowerCase(Locale.ROOT)) {
      case "amd64":
      case "x86_64":
        return "x86_64";
      case "arm64":
      case "aarch64":
        return "aarch64";
      default:
        throw new IllegalStateException("there is no library for the processor " + osArch);
    }
  }
}
