package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;

/**
 * The value of {@link ParsleyConfig#FIRST_POSITIONS}: {@code earliest} or {@code latest}, and after
 * a comma each, positions of single partitions as {@code topic:partition=position}.
 *
 * @param latest whether partitions that are not named begin at the log's end
 * @param named the position of each partition that is named
 */
public record FirstPositionsSetting(boolean latest, Map<TopicPartition, Long> named) {

  private static final Pattern NAMED = Pattern.compile("(.+):(\\d{1,9})=(\\d{1,18})");

  public FirstPositionsSetting {
    named = Map.copyOf(named);
  }

  /**
   * Reads the setting.
   *
   * @throws ConfigException for everything else
   */
  public static FirstPositionsSetting parse(String value) {
    final String[] parts = value.trim().split("\\s*,\\s*", -1);
    if (!parts[0].equals("earliest") && !parts[0].equals("latest")) {
      throw invalid(value);
    }
    final Map<TopicPartition, Long> named = new HashMap<>();
    for (int index = 1; index < parts.length; index++) {
      final Matcher matcher = NAMED.matcher(parts[index]);
      if (!matcher.matches()) {
        throw invalid(value);
      }
      final TopicPartition partition =
          new TopicPartition(matcher.group(1), Integer.parseInt(matcher.group(2)));
      if (named.put(partition, Long.parseLong(matcher.group(3))) != null) {
        throw invalid(value);
      }
    }
    return new FirstPositionsSetting(parts[0].equals("latest"), named);
  }

  private static ConfigException invalid(String value) {
    return new ConfigException(
        ParsleyConfig.FIRST_POSITIONS,
        value,
        "must be 'earliest' or 'latest', and may go on with positions of single partitions, each"
            + " once, such as 'earliest,orders:0=17,orders:1=4'");
  }
}
