package dev.parsley.streams.internal;

import java.util.Map;
import org.apache.kafka.streams.StreamsConfig;

/** Reads an application's settings without logging all of them once more. */
final class QuietStreamsConfig extends StreamsConfig {
  QuietStreamsConfig(Map<String, Object> configs) {
    super(configs, false);
  }
}
