package dev.parsley.mutations;

import java.util.List;

/**
 * What else becomes stale when a mutation is done.
 *
 * @param keys keys; {@link LocalState#markStale} is called for each
 * @param namespaces whole namespaces; {@link LocalState#invalidateNamespace} is called for each
 */
public record Stales<K extends Key>(List<K> keys, List<String> namespaces) {

  /** Copies both lists. */
  public Stales {
    keys = List.copyOf(keys);
    namespaces = List.copyOf(namespaces);
  }

  /** Nothing. */
  public static <K extends Key> Stales<K> none() {
    return new Stales<>(List.of(), List.of());
  }
}
