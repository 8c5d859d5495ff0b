package dev.parsley.mutations;

/**
 * What is done about conflicts; {@link MergePolicies} has the usual ones. Without one the server
 * wins. Pure: it may be asked again for the same conflict. Values are null where there is none.
 */
@FunctionalInterface
public interface MergePolicy<K extends Key, V> {

  /**
   * Merges.
   *
   * @param base what the pushed generation was computed from
   * @param mine what it wanted
   * @param theirs what the server has now
   * @throws Exception any: the mutation becomes a dead letter
   */
  Merge<V> merge(K key, V base, V mine, V theirs) throws Exception;

  /**
   * What the server must still have for a push to be taken: that of the base, unless this chooses
   * another.
   *
   * @param baseMeta null for none
   */
  default Meta precondition(K key, V base, V mine, Meta baseMeta) throws Exception {
    return baseMeta;
  }
}
