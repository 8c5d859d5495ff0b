package dev.parsley.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RefusalExceptionTest {

  @Test
  void shouldTellReasonPlaceAndWhatToDo() {
    final ChannelId channel = new ChannelId(new Uuid(1, 2), 3);
    final Exception cause = new IllegalStateException("behind it");
    final RefusalException refusal =
        new RefusalException(
            RefusalReason.OUT_OF_ORDER_FEED, "fed twice", channel, "orders", 7L, 9L, cause);
    assertEquals(RefusalReason.OUT_OF_ORDER_FEED, refusal.reason());
    assertEquals(Optional.of(channel), refusal.channel());
    assertEquals(Optional.of("orders"), refusal.topic());
    assertEquals(OptionalLong.of(7), refusal.position());
    assertEquals(OptionalLong.of(9), refusal.bound());
    assertSame(cause, refusal.getCause());
    assertEquals(
        "OUT_OF_ORDER_FEED: fed twice (topic orders, channel "
            + channel
            + ", position 7, bound 9). "
            + refusal.advice(),
        refusal.getMessage());
  }

  @Test
  void shouldLeaveOutWhatItDoesNotConcern() {
    final RefusalException refusal =
        new RefusalException(RefusalReason.SUBSTRATE_MISCONFIGURED, "no");
    assertEquals("SUBSTRATE_MISCONFIGURED: no. " + refusal.advice(), refusal.getMessage());
    assertEquals(Optional.empty(), refusal.channel());
    assertEquals(OptionalLong.empty(), refusal.position());
  }

  @Test
  void shouldFillTheCommandsInWithItsCase() {
    final String advice =
        new RefusalException(
                RefusalReason.UNDECODABLE_METADATA,
                "unreadable",
                new ChannelId(new Uuid(1, 2), 3),
                "orders",
                7L,
                null,
                null)
            .advice();
    assertTrue(
        advice.contains(
            "'kafka-consumer-groups.sh --bootstrap-server <brokers> --group <application.id>"
                + " --topic orders:3 --reset-offsets --to-offset 8 --execute'"),
        advice);
  }

  @Test
  void shouldHaveTheReasonsOfTheContract() {
    assertEquals(
        Set.of(
            "UNDECODABLE_METADATA",
            "METADATA_BUDGET_EXCEEDED",
            "OUT_OF_ORDER_FEED",
            "COVERED_POSITION_FED",
            "UNKNOWN_ORDERING_STATE_FORMAT",
            "CHANNEL_IDENTITY_CHANGED",
            "CHANNEL_REMOVED_WITH_HELD_MESSAGES",
            "CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES",
            "POSITIONS_DISCARDED_UNREAD",
            "ORDERING_STATE_LOST",
            "TASK_WIDTH_CHANGED",
            "RESERVED_HEADER_USED",
            "STATE_ACCESS_TO_UNDECLARED_STORE",
            "APPLICATION_PAYLOAD_UNDECODABLE",
            "APPLICATION_PAYLOAD_UNSERIALIZABLE",
            "SUBSTRATE_MISCONFIGURED"),
        Stream.of(RefusalReason.values()).map(Enum::name).collect(Collectors.toSet()));
  }

  @ParameterizedTest
  @EnumSource(RefusalReason.class)
  void shouldAdviseInWholeSentences(RefusalReason reason) {
    assertTrue(reason.advice().endsWith("."), reason.advice());
    assertTrue(Character.isUpperCase(reason.advice().charAt(0)), reason.advice());
  }
}
