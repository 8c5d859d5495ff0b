package dev.parsley.mutations;

/**
 * Makes keys of identities: after a restart, and for identities that only the server has named.
 * Called on the store's executor, or by {@code mutate} on its caller's thread; may do I/O.
 */
@FunctionalInterface
public interface KeyResolver<K extends Key> {

  /**
   * The key of an identity.
   *
   * @throws Exception any: the mutations of the identity become dead letters
   */
  Resolution<K> resolve(Identity identity) throws Exception;
}
