package dev.parsley.mutations;

/**
 * What is pushed. All of it is the same on every transmission of a generation.
 *
 * @param key the key
 * @param identity the identity that the generation was frozen with
 * @param clientId the client
 * @param clientSequence the mutation, counted from 1
 * @param generation the generation, counted from 1; a conflict makes the next
 * @param retiredThrough all mutations up to here were settled when the generation was prepared: the
 *     server need not remember their keys
 * @param idempotencyKey the key by which the server recognises what it has seen
 * @param base what the mutation was computed from; null is "there must be none"
 * @param mine what the mutation wants; null deletes
 * @param baseMeta what the server must still have; null when nothing is known of it
 */
public record Push<K extends Key, V>(
    K key,
    Identity identity,
    String clientId,
    long clientSequence,
    int generation,
    long retiredThrough,
    String idempotencyKey,
    V base,
    V mine,
    Meta baseMeta) {

  /** The name of the mutation for people: {@code mutation-<sequence>}. */
  public String mutationId() {
    return "mutation-" + clientSequence;
  }
}
