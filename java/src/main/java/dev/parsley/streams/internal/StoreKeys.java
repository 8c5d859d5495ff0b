package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Bytes;

/**
 * Keys of the few rows of an ordering store that are looked up from Java; the core has them all.
 */
final class StoreKeys {

  /** The format's version, the first row that a store is given. */
  static final Bytes VERSION = Bytes.wrap(new byte[] {'v'});

  private StoreKeys() {}

  /** The channel that a topic's name is bound to. */
  static Bytes name(String topic) {
    return key('n', topic.getBytes(StandardCharsets.UTF_8));
  }

  /** The last position fed on a channel, int64. */
  static Bytes fedUpTo(ChannelId channel) {
    return key('f', channel.toBytes());
  }

  private static Bytes key(char tag, byte[] rest) {
    return Bytes.wrap(ByteBuffer.allocate(1 + rest.length).put((byte) tag).put(rest).array());
  }
}
