package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A bug on the native side, in whichever method, ends its own store and nothing else. */
class NativePanicTest {

  private static final byte[] KEY = {1};
  private static final byte[] VALUE = {9};

  @TempDir Path directory;
  private long sound;

  @BeforeAll
  static void loadLibrary() {
    NativeLibrary.load();
  }

  @BeforeEach
  void openAnotherStore() {
    sound = open("sound");
    NativeEngine.open(sound, NativeCalls.config(), NativeCalls.exchange());
    NativeStore.put(sound, KEY, VALUE);
  }

  @AfterEach
  void closeTheOtherStore() {
    assertArrayEquals(VALUE, NativeStore.get(sound, KEY));
    assertArrayEquals(new byte[] {1, 0}, NativeEngine.stamp(sound));
    NativeStore.close(sound);
  }

  @Test
  void shouldKnowEveryNativeMethod() {
    final Set<String> called = new TreeSet<>(NativeCalls.onAStore().keySet());
    called.addAll(NativeCalls.WITHOUT_A_STORE);

    assertEquals(NativeCalls.declared(), called);
  }

  static Set<String> calls() {
    return NativeCalls.onAStore().keySet();
  }

  @ParameterizedTest
  @MethodSource("calls")
  void shouldCloseOnlyTheStoreInWhichAMethodPanicked(String panicking) {
    final long broken = open("broken");
    NativeEngine.open(broken, NativeCalls.config(), NativeCalls.exchange());
    NativeStore.put(broken, KEY, VALUE);
    final LongConsumer call = NativeCalls.onAStore().get(panicking);

    NativeStore.selfTestPanic(broken);
    final ProcessorStateException thrown =
        assertThrows(ProcessorStateException.class, () -> call.accept(broken));

    assertTrue(thrown.getMessage().contains("a bug in the native library"), thrown.getMessage());
    NativeCalls.onAStore()
        .forEach(
            (name, later) -> {
              if (!name.equals("NativeStore.close")) {
                assertThrows(InvalidStateStoreException.class, () -> later.accept(broken), name);
              }
            });
    NativeStore.close(broken);
    NativeStore.close(open("broken")); // The directory is free.
  }

  @Test
  void shouldLeaveTheDirectoryFreeWhenOpenPanicked() {
    NativeStore.selfTestPanicAtOpen();
    assertThrows(ProcessorStateException.class, () -> open("broken"));

    NativeStore.close(open("broken"));
  }

  private long open(String name) {
    return NativeStore.open(directory.resolve(name).toString(), 1 << 20, 1 << 20, 1);
  }
}
