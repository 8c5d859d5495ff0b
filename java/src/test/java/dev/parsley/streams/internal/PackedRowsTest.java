package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

class PackedRowsTest {

  @Test
  void shouldWriteTheDocumentedBytes() {
    final byte[] packed =
        new PackedRows.Writer(1) // Too small, so that it must grow.
            .row(new byte[] {'k'}, new byte[] {1, 2})
            .row(new byte[] {}, null)
            .take();

    assertEquals(
        "00000001" + "6b" + "00000002" + "0102" + "00000000" + "ffffffff",
        HexFormat.of().formatHex(packed));
  }

  @Test
  void shouldReadBackWhatItWrote() {
    final PackedRows.Writer writer = new PackedRows.Writer(16);
    final List<String> written = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      final byte[] key = new byte[i % 7];
      final byte[] value = i % 5 == 0 ? null : new byte[i];
      writer.row(key, value);
      written.add(Arrays.toString(key) + Arrays.toString(value));
    }

    final List<String> read = new ArrayList<>();
    PackedRows.forEach(
        writer.take(), (key, value) -> read.add(Arrays.toString(key) + Arrays.toString(value)));

    assertEquals(written, read);
  }

  @Test
  void shouldBeEmptyAfterTake() {
    final PackedRows.Writer writer = new PackedRows.Writer(16).row(new byte[3], null);
    writer.take();

    assertEquals(0, writer.size());
    assertEquals(0, writer.take().length);
  }

  @Test
  void shouldRefuseWhatIsCutShort() {
    final byte[] whole = new PackedRows.Writer(16).row(new byte[3], new byte[2]).take();
    for (int length = 1; length < whole.length; length++) {
      final byte[] cut = Arrays.copyOf(whole, length);
      assertThrows(
          IllegalArgumentException.class,
          () -> PackedRows.forEach(cut, (key, value) -> {}),
          length + " bytes");
    }
  }

  @Test
  void shouldRefuseLengthsThatAreNone() {
    final byte[] negativeKey = HexFormat.of().parseHex("ffffffff00000000");

    final String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> PackedRows.forEach(negativeKey, (key, value) -> {}))
            .getMessage();

    assertTrue(message.contains("-1 bytes of a key at byte 4"), message);
  }
}
