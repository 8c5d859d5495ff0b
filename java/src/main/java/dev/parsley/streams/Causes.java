package dev.parsley.streams;

import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * What a record depends on: for each channel, the highest position it comes after. Everything on
 * that channel up to and including the position is a cause.
 *
 * <p>For producers and consumers outside a causal node that take part: a consumer merges the causes
 * of what it read with the positions it read them at, and a producer writes them on what it sends.
 * Inside a causal node all of this is done by the node.
 *
 * <pre>{@code
 * Causes seen = Causes.from(record.headers()).plus(new ChannelId(ordersId, 3), record.offset());
 * seen.writeTo(reply.headers());
 * }</pre>
 *
 * <p>An immutable value. Equal causes encode to equal bytes.
 */
public final class Causes {

  /** Name of the record header that carries the causes. */
  public static final String HEADER = "parsley.causes";

  /** The highest position; the largest {@code long} means "fed to the end" and is none. */
  public static final long POSITION_MAX = Long.MAX_VALUE - 1;

  private static final Causes NONE = new Causes(new TreeMap<>());

  private final SortedMap<ChannelId, Long> positions;

  private Causes(SortedMap<ChannelId, Long> positions) {
    this.positions = Collections.unmodifiableSortedMap(positions);
  }

  /** No causes; encoded {@code 01 00}. */
  public static Causes none() {
    return NONE;
  }

  /** One cause. */
  public static Causes of(ChannelId channel, long position) {
    return NONE.plus(channel, position);
  }

  /**
   * The causes in a map; copied.
   *
   * @throws IllegalArgumentException when a position is negative or above {@link #POSITION_MAX}
   */
  public static Causes of(Map<ChannelId, Long> positions) {
    final Builder builder = builder();
    positions.forEach(builder::add);
    return builder.build();
  }

  public static Builder builder() {
    return new Builder();
  }

  /**
   * Reads a header's value.
   *
   * @param value the bytes of the header; null is refused like any other value that is no encoding
   * @throws RefusalException UNDECODABLE_METADATA, with what is wrong and at which byte
   */
  public static Causes decode(byte[] value) {
    return new Causes(CausesCodec.decode(value));
  }

  /**
   * Reads the causes of a record.
   *
   * @return {@link #none()} when the record has no such header
   * @throws RefusalException UNDECODABLE_METADATA when it has it twice, even with equal values, or
   *     when it does not decode
   */
  public static Causes from(Headers headers) {
    final Iterator<Header> found = headers.headers(HEADER).iterator();
    if (!found.hasNext()) {
      return NONE;
    }
    final byte[] value = found.next().value();
    if (found.hasNext()) {
      throw CausesCodec.undecodable("the header " + HEADER + " is there more than once");
    }
    return decode(value);
  }

  /** Puts these causes on a record, in place of any it has. */
  public void writeTo(Headers headers) {
    headers.remove(HEADER).add(HEADER, encode());
  }

  /** The value of the header. */
  public byte[] encode() {
    return CausesCodec.encode(positions);
  }

  /**
   * These causes and one more. Of two positions on one channel the higher one counts.
   *
   * @throws IllegalArgumentException when the position is negative or above {@link #POSITION_MAX}
   */
  public Causes plus(ChannelId channel, long position) {
    return builder().addAll(this).add(channel, position).build();
  }

  /** These causes and the other ones. Of two positions on one channel the higher one counts. */
  public Causes merge(Causes other) {
    return builder().addAll(this).addAll(other).build();
  }

  public boolean isEmpty() {
    return positions.isEmpty();
  }

  /** The highest position on each channel, in channel order. The map cannot be changed. */
  public SortedMap<ChannelId, Long> positions() {
    return positions;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Causes causes && positions.equals(causes.positions);
  }

  @Override
  public int hashCode() {
    return positions.hashCode();
  }

  /** Such as {@code {11111111222233334444555555555555:3@1000}}; for people. */
  @Override
  public String toString() {
    final StringBuilder text = new StringBuilder("{");
    positions.forEach(
        (channel, position) ->
            text.append(text.length() == 1 ? "" : ", ")
                .append(channel)
                .append('@')
                .append(position));
    return text.append('}').toString();
  }

  /** Collects causes. Not for use by several threads at once. */
  public static final class Builder {

    private final TreeMap<ChannelId, Long> positions = new TreeMap<>();

    private Builder() {}

    /**
     * Adds one cause. Of two positions on one channel the higher one counts.
     *
     * @throws IllegalArgumentException when the position is negative or above {@link #POSITION_MAX}
     */
    public Builder add(ChannelId channel, long position) {
      if (position < 0 || position > POSITION_MAX) {
        throw new IllegalArgumentException(
            "a position is 0 to " + POSITION_MAX + ", not " + position);
      }
      positions.merge(channel, position, Math::max);
      return this;
    }

    /** Adds what another value has. */
    public Builder addAll(Causes causes) {
      causes.positions.forEach(this::add);
      return this;
    }

    public Causes build() {
      return positions.isEmpty() ? NONE : new Causes(new TreeMap<>(positions));
    }
  }
}
