package dev.parsley.mutations;

/**
 * The application's own copy of what the server has. All of it must be idempotent: after a crash it
 * is done again. Called on the store's executor.
 */
public interface LocalState<K extends Key, V> {

  /** Metadata of the confirmed value; null for none. */
  Meta status(K key) throws Exception;

  /** The confirmed value, without pending mutations and without fetching; null for none. */
  V read(K key) throws Exception;

  /** Fetches the confirmed value anew, after a conflict. That there is none is no error. */
  void freshRead(K key) throws Exception;

  /** Adopts the server's value. */
  void apply(K key, V value) throws Exception;

  /**
   * Notes that the adopted value is the server's.
   *
   * @param etag the server's version of it; null for none
   */
  void confirmFresh(K key, String etag) throws Exception;

  /** Adopts that there is no value. */
  void clear(K key) throws Exception;

  /** Marks a key as stale. */
  void markStale(K key) throws Exception;

  /** Marks a namespace as stale. */
  void invalidateNamespace(String namespace) throws Exception;
}
