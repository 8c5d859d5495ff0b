/**
 * A causal node in Kafka Streams on a real broker, under exactly-once, with transactional stores on
 * and off. What comes out is judged by {@link dev.parsley.tests.streams.Judge}, which knows nothing
 * of the library.
 */
package dev.parsley.tests.streams;
