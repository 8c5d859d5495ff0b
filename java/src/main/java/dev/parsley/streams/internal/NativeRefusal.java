package dev.parsley.streams.internal;

/**
 * What the native engine refuses, made by the native side. It never leaves {@link Execution}, which
 * turns it into the public exception, with the topic's name.
 */
final class NativeRefusal extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String reason;
  private final transient byte[] channelId;
  private final long position;
  private final long bound;

  /**
   * @param reason the name of a {@link dev.parsley.streams.RefusalReason}
   * @param detail what happened, for people
   * @param channelId 20 bytes, or null when it is about no channel
   * @param position -1 for none
   * @param bound -1 for none
   */
  NativeRefusal(String reason, String detail, byte[] channelId, long position, long bound) {
    super(detail);
    this.reason = reason;
    this.channelId = channelId;
    this.position = position;
    this.bound = bound;
  }

  String reason() {
    return reason;
  }

  byte[] channelId() {
    return channelId;
  }

  Long position() {
    return position < 0 ? null : Long.valueOf(position);
  }

  Long bound() {
    return bound < 0 ? null : Long.valueOf(bound);
  }
}
