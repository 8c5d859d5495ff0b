package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.junit.jupiter.api.Test;

class RecordPartTest {

  /** Timestamp 1, key "k", value 00ff, headers a=null and é=01. */
  private static final String GOLDEN =
      "0000000000000001"
          + "00"
          + "00000001"
          + "6b"
          + "00000002"
          + "00ff"
          + "00000002"
          + "00000001"
          + "61"
          + "ffffffff"
          + "00000002"
          + "c3a9"
          + "00000001"
          + "01";

  @Test
  void shouldWriteTheDocumentedBytes() {
    final RecordPart part =
        new RecordPart(
            1,
            new byte[] {'k'},
            new byte[] {0, (byte) 0xff},
            new Header[] {new RecordHeader("a", null), new RecordHeader("é", new byte[] {1})});

    assertEquals(GOLDEN, HexFormat.of().formatHex(part.encode()));
  }

  @Test
  void shouldReadTheDocumentedBytes() {
    final RecordPart part = decode(GOLDEN);

    assertEquals(1, part.timestamp());
    assertArrayEquals(new byte[] {'k'}, part.key());
    assertArrayEquals(new byte[] {0, (byte) 0xff}, part.value());
    assertEquals("a", part.headers()[0].key());
    assertNull(part.headers()[0].value());
    assertEquals("é", part.headers()[1].key());
    assertArrayEquals(new byte[] {1}, part.headers()[1].value());
  }

  @Test
  void shouldKeepNullAndEmptyApart() {
    final byte[] empty = {};
    final Header[] headers = {new RecordHeader("h", empty), new RecordHeader("h", null)};

    final RecordPart nulls = roundTrip(new RecordPart(0, null, null, headers));
    final RecordPart empties = roundTrip(new RecordPart(0, empty, empty, headers));

    assertNull(nulls.key());
    assertNull(nulls.value());
    assertArrayEquals(empty, empties.key());
    assertArrayEquals(empty, empties.value());
    assertArrayEquals(empty, empties.headers()[0].value());
    assertNull(empties.headers()[1].value());
  }

  @Test
  void shouldReadBackWhatItWrote() {
    final long seed = 20261201;
    final Random random = new Random(seed);
    for (int round = 0; round < 500; round++) {
      final Header[] headers = new Header[random.nextInt(5)];
      for (int i = 0; i < headers.length; i++) {
        headers[i] = new RecordHeader("name" + random.nextInt(3), bytesOrNull(random));
      }
      final RecordPart part =
          new RecordPart(random.nextLong(), bytesOrNull(random), bytesOrNull(random), headers);

      final RecordPart read = roundTrip(part);

      final String told = "seed " + seed + " round " + round;
      assertEquals(part.timestamp(), read.timestamp(), told);
      assertArrayEquals(part.key(), read.key(), told);
      assertArrayEquals(part.value(), read.value(), told);
      assertArrayEquals(part.headers(), read.headers(), told);
    }
  }

  @Test
  void shouldRefuseEveryCut() {
    final byte[] whole = HexFormat.of().parseHex(GOLDEN);
    for (int length = 0; length < whole.length; length++) {
      final ByteBuffer cut = ByteBuffer.wrap(Arrays.copyOf(whole, length));
      assertThrows(IllegalArgumentException.class, () -> RecordPart.decode(cut), length + " bytes");
    }
  }

  @Test
  void shouldRefuseBytesLeftOver() {
    assertRefused(GOLDEN + "00", "1 bytes are left over");
  }

  @Test
  void shouldRefuseUnknownFlags() {
    assertRefused("0000000000000001" + "04", "flags 4");
  }

  @Test
  void shouldRefuseLengthsPastTheEnd() {
    assertRefused("0000000000000001" + "02" + "7fffffff" + "6b", "2147483647 bytes of key");
  }

  @Test
  void shouldRefuseNegativeLengths() {
    assertRefused("0000000000000001" + "02" + "ffffffff", "-1 bytes of key");
    assertRefused(
        "0000000000000001" + "03" + "00000001" + "00000001" + "61" + "fffffffe",
        "-2 bytes of header value");
  }

  @Test
  void shouldNotMakeRoomForHeadersThatCannotBeThere() {
    assertRefused("0000000000000001" + "03" + "7fffffff", "no room for 2147483647 headers");
    assertRefused("0000000000000001" + "03" + "ffffffff", "no room for -1 headers");
  }

  @Test
  void shouldRefuseHeaderNamesThatAreNotUtf8() {
    assertRefused(
        "0000000000000001" + "03" + "00000001" + "00000001" + "ff" + "ffffffff", "not UTF-8");
  }

  private static void assertRefused(String hex, String why) {
    final String message =
        assertThrows(IllegalArgumentException.class, () -> decode(hex)).getMessage();
    assertTrue(message.contains(why), message);
  }

  private static RecordPart decode(String hex) {
    return RecordPart.decode(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
  }

  private static RecordPart roundTrip(RecordPart part) {
    return RecordPart.decode(ByteBuffer.wrap(part.encode()));
  }

  private static byte[] bytesOrNull(Random random) {
    if (random.nextInt(4) == 0) {
      return null;
    }
    final byte[] bytes = new byte[random.nextInt(20)];
    random.nextBytes(bytes);
    return bytes;
  }
}
