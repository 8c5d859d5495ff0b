package dev.parsley.demo;

import java.util.OptionalLong;

/**
 * What the last service writes for each record it processes: which record it was, and how long that
 * took. As text: topic, offset, life and micros, with tabs between.
 *
 * @param life which process of the service saw it: 1, or 2 for the one started after the kill
 * @param micros from the record's arrival in that process to its processing; empty when the record
 *     did not arrive there, but was restored from the store
 */
record Sighting(String topic, long offset, int life, OptionalLong micros) {

  private static final String NONE = "-";

  String encode() {
    final String shown = micros.isPresent() ? Long.toString(micros.getAsLong()) : NONE;
    return topic + "\t" + offset + "\t" + life + "\t" + shown;
  }

  static Sighting decode(String text) {
    final String[] fields = text.split("\t");
    return new Sighting(
        fields[0],
        Long.parseLong(fields[1]),
        Integer.parseInt(fields[2]),
        fields[3].equals(NONE) ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(fields[3])));
  }
}
