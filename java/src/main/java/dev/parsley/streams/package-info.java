/**
 * Causal order inside Kafka Streams: one node added to a topology, whose processor sees the records
 * of several topics only after the records they depend on.
 *
 * <p>{@link dev.parsley.streams.CausalProcessor} builds the node, {@link
 * dev.parsley.streams.CausalStreams} starts the application and says why it stopped, {@link
 * dev.parsley.streams.Causes} lets plain producers and consumers take part. Everything in the
 * {@code internal} package can change at any time.
 */
package dev.parsley.streams;
