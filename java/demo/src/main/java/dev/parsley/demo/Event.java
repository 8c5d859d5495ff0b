package dev.parsley.demo;

import java.util.List;

/**
 * One thing that happens: a record on a topic, and which events before it caused it.
 *
 * @param key null for a record without a key
 * @param value null for a record without a value
 * @param causes indices of earlier events in the same list
 */
record Event(String topic, String key, String value, List<Integer> causes) {}
