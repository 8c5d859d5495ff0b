package dev.parsley.streams;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.streams.errors.StreamsException;

/**
 * A named reason to stop the whole process rather than guess. The transaction under way is aborted
 * and nothing is lost: the same records come again at the next start.
 *
 * <p>It reaches the uncaught exception handler somewhere in the chain of causes, since Kafka
 * Streams wraps what a processor throws; {@link CausalStreams#refusal()} has it unwrapped. Decide
 * by {@link #reason()}: the message is for people and changes between versions.
 */
public class RefusalException extends StreamsException {

  private static final long serialVersionUID = 1L;

  private final RefusalReason reason;
  // Not the record itself, which is no part of the serialized form of an exception.
  private final transient ChannelId channel;
  private final String topic;
  private final Long position;
  private final Long bound;

  /**
   * Composes the message: the reason, what happened, where, and what to do.
   *
   * @param detail what happened, without a full stop at the end
   * @param channelOrNull the channel it happened on
   * @param topicOrNull the name of that channel's topic, or of the topic meant
   * @param positionOrNull the position it happened at
   * @param boundOrNull the limit that was passed: a position, or a number of bytes
   * @param causeOrNull the failure behind it
   */
  public RefusalException(
      RefusalReason reason,
      String detail,
      ChannelId channelOrNull,
      String topicOrNull,
      Long positionOrNull,
      Long boundOrNull,
      Throwable causeOrNull) {
    super(
        compose(reason, detail, channelOrNull, topicOrNull, positionOrNull, boundOrNull),
        causeOrNull);
    this.reason = reason;
    this.channel = channelOrNull;
    this.topic = topicOrNull;
    this.position = positionOrNull;
    this.bound = boundOrNull;
  }

  /** A refusal that concerns no channel, such as a setting. */
  public RefusalException(RefusalReason reason, String detail) {
    this(reason, detail, null, null, null, null, null);
  }

  public RefusalReason reason() {
    return reason;
  }

  /** The channel it happened on, if it concerns one. */
  public Optional<ChannelId> channel() {
    return Optional.ofNullable(channel);
  }

  /** The name of the topic, if it concerns one and the name is known. */
  public Optional<String> topic() {
    return Optional.ofNullable(topic);
  }

  /** The offset it happened at, if it concerns one. */
  public OptionalLong position() {
    return position == null ? OptionalLong.empty() : OptionalLong.of(position);
  }

  /** The limit that was passed, if there is one: an offset, or a number of bytes for a budget. */
  public OptionalLong bound() {
    return bound == null ? OptionalLong.empty() : OptionalLong.of(bound);
  }

  /**
   * What the operator does about it, with whole commands. Topic, partition and position of this
   * case are filled in where they are known.
   */
  public String advice() {
    return advice(reason, channel, topic, position);
  }

  private static String advice(
      RefusalReason reason, ChannelId channel, String topic, Long position) {
    String advice = reason.advice();
    if (topic != null) {
      advice = advice.replace("<topic>", topic);
    }
    if (channel != null) {
      advice = advice.replace("<partition>", Integer.toString(channel.partition()));
    }
    if (position != null) {
      advice =
          advice
              .replace("<position>", position.toString())
              .replace("<position+1>", Long.toString(position + 1));
    }
    return advice;
  }

  private static String compose(
      RefusalReason reason,
      String detail,
      ChannelId channel,
      String topic,
      Long position,
      Long bound) {
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(detail, "detail");
    final StringBuilder where = new StringBuilder();
    append(where, "topic", topic);
    append(where, "channel", channel);
    append(where, "position", position);
    append(where, "bound", bound);
    return reason
        + ": "
        + detail
        + (where.length() == 0 ? "" : " (" + where + ")")
        + ". "
        + advice(reason, channel, topic, position);
  }

  private static void append(StringBuilder where, String name, Object value) {
    if (value != null) {
      where.append(where.length() == 0 ? "" : ", ").append(name).append(' ').append(value);
    }
  }
}
