package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CausesTest {

  private static final String A_HEX = "11111111222233334444555555555555";
  private static final String B_HEX = "8f00000000004000800000000000000b";
  private static final Uuid A = uuid(A_HEX);
  private static final Uuid B = uuid(B_HEX);

  @Test
  void shouldEncodeNoCausesAsTwoBytes() {
    assertArrayEquals(hex("0100"), Causes.none().encode());
    assertEquals(Causes.none(), Causes.decode(hex("0100")));
  }

  @Test
  void shouldEncodeOneCauseAsWritten() {
    assertVector(
        "0101" + A_HEX + "0103" + "00000000000003e8", Causes.of(new ChannelId(A, 3), 1000));
  }

  @Test
  void shouldOrderTopicsAsUnsignedBytes() {
    assertVector(
        "0102" + A_HEX + "0100" + "0000000000000009" + B_HEX + "0102" + "0000000000000001",
        Causes.builder().add(new ChannelId(B, 2), 1).add(new ChannelId(A, 0), 9).build());
  }

  @Test
  void shouldEncodePartitionsAtTheEdgesOfVarints() {
    assertVector(
        "0101"
            + A_HEX
            + "04"
            + "7f0000000000000001"
            + "80010000000000000002"
            + "ff7f0000000000000003"
            + "8080010000000000000004",
        Causes.builder()
            .add(new ChannelId(A, 127), 1)
            .add(new ChannelId(A, 128), 2)
            .add(new ChannelId(A, 16383), 3)
            .add(new ChannelId(A, 16384), 4)
            .build());
  }

  @Test
  void shouldEncodeTheLargestPartitionAndPosition() {
    assertVector(
        "0101" + A_HEX + "01" + "ffffffff07" + "7ffffffffffffffe",
        Causes.of(new ChannelId(A, Integer.MAX_VALUE), Causes.POSITION_MAX));
  }

  @ParameterizedTest
  @CsvSource(
      textBlock =
          """
          a null,                           null, is null
          a empty,                          '', the version is missing
          a no topic count,                 01, the number of topics is missing
          a cut in a topic id,              01011111, a topic id is missing
          a no partition count,             0101A, the number of partitions is missing
          a no partition,                   0101A01, a partition is missing
          a cut in a position,              0101A010000, a position is missing
          a cut in a varint,                01ff, the number of topics is missing
          a count beyond the bytes,         01ffffffff07, a topic id is missing
          b version 0,                      0000, version 0
          b version 2,                      0200, version 2
          b version 255,                    ff00, version 255
          c padded topic count,             018000, padded
          c padded partition,               0101A0180000000000000000001, padded
          c padded to five bytes,           018080808000, padded
          c a sixth byte,                   01808080808000, larger
          c fifth byte above 07,            01ffffffff08, larger
          d zero topic id,                  010100000000000000000000000000000000, zero
          d repeated topic,                 0102A01000000000000000001A01000000000000000001, not above
          d topics descending,              0102B01000000000000000001A01000000000000000001, not above
          e no partition in a group,        0101A00, no partitions
          e repeated partition,             0101A02010000000000000001010000000000000001, not above
          e partitions descending,          0101A02010000000000000001000000000000000001, not above
          f position 2^63-1,                0101A01007fffffffffffffff, is no position
          f negative position,              0101A0100ffffffffffffffff, is no position
          g trailing byte,                  010000, 1 bytes follow
          g trailing group,                 0100A01000000000000000001, bytes follow
          g fewer groups than said,         0102A01000000000000000001, a topic id is missing
          """)
  void shouldRefuseEveryOtherEncoding(String rule, String text, String detail) {
    final byte[] value =
        text.equals("null") ? null : hex(text.replace("A", A_HEX).replace("B", B_HEX));
    final RefusalException refusal =
        assertThrows(RefusalException.class, () -> Causes.decode(value), rule);
    assertEquals(RefusalReason.UNDECODABLE_METADATA, refusal.reason());
    assertTrue(refusal.getMessage().contains(detail), refusal.getMessage());
  }

  @Test
  void shouldRefuseEveryCutOfAnEncoding() {
    final byte[] whole =
        Causes.of(Map.of(new ChannelId(A, 300), 7L, new ChannelId(B, 0), 9L)).encode();
    for (int length = 0; length < whole.length; length++) {
      final byte[] cut = Arrays.copyOf(whole, length);
      assertThrows(RefusalException.class, () -> Causes.decode(cut), "cut to " + length);
    }
  }

  @Test
  void shouldDecodeWhatItEncodes() {
    final long seed = seed();
    final Random random = new Random(seed);
    for (int round = 0; round < 500; round++) {
      final Causes causes = randomCauses(random);
      final byte[] encoded = causes.encode();
      final Causes decoded = Causes.decode(encoded);
      assertEquals(causes, decoded, "seed " + seed);
      assertEquals(causes.hashCode(), decoded.hashCode(), "seed " + seed);
      assertArrayEquals(encoded, decoded.encode(), "seed " + seed);
    }
  }

  /** A set has one encoding, so whatever decodes at all must encode to the same bytes again. */
  @Test
  void shouldAcceptNoSecondEncodingOfASet() {
    final long seed = seed();
    final Random random = new Random(seed);
    for (int round = 0; round < 2000; round++) {
      final byte[] bytes = randomCauses(random).encode();
      bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
      final Causes decoded;
      try {
        decoded = Causes.decode(bytes);
      } catch (RefusalException refused) {
        assertEquals(RefusalReason.UNDECODABLE_METADATA, refused.reason());
        continue;
      }
      assertArrayEquals(bytes, decoded.encode(), "seed " + seed);
    }
  }

  @Test
  void shouldEncodeEqualSetsAlikeWhateverTheOrderOfAdding() {
    final long seed = seed();
    final Random random = new Random(seed);
    final List<Map.Entry<ChannelId, Long>> entries =
        new ArrayList<>(randomCauses(random).positions().entrySet());
    final byte[] expected = addAll(entries).encode();
    java.util.Collections.shuffle(entries, random);
    assertArrayEquals(expected, addAll(entries).encode(), "seed " + seed);
  }

  @Test
  void shouldReadNoHeaderAsNoCauses() {
    assertEquals(Causes.none(), Causes.from(new RecordHeaders()));
  }

  @Test
  void shouldReplaceTheHeaderItWrites() {
    final Headers headers = new RecordHeaders().add("trace", new byte[] {1});
    Causes.of(new ChannelId(A, 0), 1).writeTo(headers);
    final Causes last = Causes.of(new ChannelId(A, 0), 2);
    last.writeTo(headers);
    assertEquals(last, Causes.from(headers));
    assertEquals(2, headers.toArray().length);
  }

  @Test
  void shouldRefuseARepeatedHeaderEvenIfEqual() {
    final Headers headers =
        new RecordHeaders().add(Causes.HEADER, hex("0100")).add(Causes.HEADER, hex("0100"));
    final RefusalException refusal =
        assertThrows(RefusalException.class, () -> Causes.from(headers));
    assertEquals(RefusalReason.UNDECODABLE_METADATA, refusal.reason());
    assertTrue(refusal.getMessage().contains("more than once"), refusal.getMessage());
  }

  @Test
  void shouldRefuseANullHeader() {
    final Headers headers = new RecordHeaders().add(Causes.HEADER, null);
    assertThrows(RefusalException.class, () -> Causes.from(headers));
  }

  @Test
  void shouldKeepTheHigherOfTwoPositions() {
    final ChannelId channel = new ChannelId(A, 0);
    assertEquals(Causes.of(channel, 5), Causes.of(channel, 5).plus(channel, 3));
    assertEquals(Causes.of(channel, 5), Causes.of(channel, 3).plus(channel, 5));
    assertEquals(
        Causes.builder().add(channel, 5).add(new ChannelId(B, 0), 1).build(),
        Causes.of(channel, 5).merge(Causes.of(channel, 4).plus(new ChannelId(B, 0), 1)));
  }

  @Test
  void shouldNotChangeWhenABuilderGoesOn() {
    final Causes.Builder builder = Causes.builder().add(new ChannelId(A, 0), 1);
    final Causes built = builder.build();
    builder.add(new ChannelId(A, 0), 2);
    assertEquals(Causes.of(new ChannelId(A, 0), 1), built);
    assertThrows(
        UnsupportedOperationException.class, () -> built.positions().put(new ChannelId(B, 0), 1L));
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MIN_VALUE, Long.MAX_VALUE})
  void shouldRefuseToBuildWhatIsNoPosition(long position) {
    final ChannelId channel = new ChannelId(A, 0);
    assertThrows(IllegalArgumentException.class, () -> Causes.of(channel, position));
  }

  @Test
  void shouldTellChannelsThatAreNone() {
    assertThrows(IllegalArgumentException.class, () -> new ChannelId(Uuid.ZERO_UUID, 0));
    assertThrows(IllegalArgumentException.class, () -> new ChannelId(A, -1));
    assertThrows(IllegalArgumentException.class, () -> ChannelId.ofBytes(new byte[19]));
  }

  @Test
  void shouldOrderChannelsAsTheirBytes() {
    assertTrue(new ChannelId(A, 9).compareTo(new ChannelId(B, 0)) < 0);
    assertTrue(new ChannelId(A, 9).compareTo(new ChannelId(A, 10)) < 0);
    assertEquals(A_HEX + ":9", new ChannelId(A, 9).toString());
    assertEquals(new ChannelId(B, 7), ChannelId.ofBytes(new ChannelId(B, 7).toBytes()));
    assertEquals(B_HEX + "00000007", HexFormat.of().formatHex(new ChannelId(B, 7).toBytes()));
    assertNotEquals(new ChannelId(B, 7), new ChannelId(A, 7));
  }

  private static void assertVector(String encoded, Causes causes) {
    assertEquals(encoded, HexFormat.of().formatHex(causes.encode()));
    assertEquals(causes, Causes.decode(hex(encoded)));
  }

  private static Causes addAll(List<Map.Entry<ChannelId, Long>> entries) {
    final Causes.Builder builder = Causes.builder();
    entries.forEach(entry -> builder.add(entry.getKey(), entry.getValue()));
    return builder.build();
  }

  private static Causes randomCauses(Random random) {
    final Causes.Builder builder = Causes.builder();
    final Uuid[] topics = new Uuid[1 + random.nextInt(4)];
    for (int index = 0; index < topics.length; index++) {
      topics[index] = new Uuid(random.nextLong(), random.nextLong() | 1);
    }
    for (int left = random.nextInt(12); left > 0; left--) {
      final int partition = random.nextInt() >>> (1 + random.nextInt(31));
      final long position = Math.min(random.nextLong() >>> 1, Causes.POSITION_MAX);
      builder.add(new ChannelId(topics[random.nextInt(topics.length)], partition), position);
    }
    return builder.build();
  }

  /** Printed, so that a failure can be repeated with -Dparsley.test.seed. */
  private static long seed() {
    final long seed = Long.getLong("parsley.test.seed", System.nanoTime());
    System.out.println("CausesTest seed " + seed);
    return seed;
  }

  private static Uuid uuid(String text) {
    return new Uuid(
        Long.parseUnsignedLong(text.substring(0, 16), 16),
        Long.parseUnsignedLong(text.substring(16), 16));
  }

  private static byte[] hex(String text) {
    return HexFormat.of().parseHex(text);
  }
}
