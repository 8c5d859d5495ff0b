package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.parsley.streams.ChannelId;
import dev.parsley.streams.internal.ChangelogReader.OrderingState;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

/** Rows as they are in the contract, read off the changelog. */
class OrderingStateTest {

  private static final String CHANNEL_HEX = "1111111122223333444455555555555500000003";
  private static final ChannelId CHANNEL =
      new ChannelId(new Uuid(0x1111111122223333L, 0x4444555555555555L), 3);

  private final OrderingState state = new OrderingState();

  @Test
  void shouldReadCoverageNamesAndHolds() {
    apply("76", "02");
    apply("66" + CHANNEL_HEX, "0000000000000009");
    apply("6e" + "6f7264657273", CHANNEL_HEX);
    apply("68" + CHANNEL_HEX + "0000000000000007", "02");
    apply("68" + CHANNEL_HEX + "0000000000000009", "02");
    assertEquals(9, state.fedUpTo(CHANNEL));
    assertEquals(CHANNEL, state.named("orders"));
    assertEquals(List.of(7L, 9L), List.copyOf(state.held(CHANNEL)));
  }

  @Test
  void shouldForgetWhatIsDeleted() {
    shouldReadCoverageNamesAndHolds();
    apply("66" + CHANNEL_HEX, null);
    apply("6e" + "6f7264657273", null);
    apply("68" + CHANNEL_HEX + "0000000000000007", null);
    assertNull(state.fedUpTo(CHANNEL));
    assertNull(state.named("orders"));
    assertEquals(List.of(9L), List.copyOf(state.held(CHANNEL)));
  }

  @Test
  void shouldPassOverRowsThatAreNoneOfOurs() {
    apply("", "00");
    apply("7a", "00");
    apply("66" + "00", "0000000000000009");
    apply("66" + CHANNEL_HEX, "09");
    apply("68" + CHANNEL_HEX, "02");
    apply("66" + "00".repeat(20), "0000000000000009");
    assertNull(state.fedUpTo(CHANNEL));
    assertEquals(List.of(), List.copyOf(state.held(CHANNEL)));
  }

  private void apply(String key, String value) {
    final HexFormat hex = HexFormat.of();
    state.apply(hex.parseHex(key), value == null ? null : hex.parseHex(value));
  }
}
