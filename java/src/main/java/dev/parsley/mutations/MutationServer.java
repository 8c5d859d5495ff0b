package dev.parsley.mutations;

/**
 * The other side. It must give the same answer to the same idempotency key, and reads begun after
 * the answer to a deletion must see it. Called on the store's executor, from several threads at
 * once for different namespaces; the thread is interrupted when the drain is cancelled.
 */
public interface MutationServer<K extends Key, V> {

  /**
   * Pushes one generation, once.
   *
   * @throws Exception any: it is not known whether the server has it, so the same bytes are pushed
   *     again by a later drain
   */
  PushOutcome<V> push(Push<K, V> push) throws Exception;

  /**
   * Tells that all mutations up to {@code retiredThrough} are settled.
   *
   * @return up to where the server has forgotten them, at most {@code retiredThrough}
   */
  long retire(String clientId, long retiredThrough) throws Exception;
}
