package dev.parsley.mutations;

/**
 * A key of the application's. Its durable identity is exactly its two texts, compared verbatim:
 * class, {@code equals} and {@code hashCode} do not count. Immutable.
 */
public interface Key {

  /** The namespace; also the lane in which mutations are pushed one after the other. */
  String namespace();

  /** The id within the namespace. */
  String canonicalId();
}
