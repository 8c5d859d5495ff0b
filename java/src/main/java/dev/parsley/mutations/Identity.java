package dev.parsley.mutations;

import java.util.Objects;

/**
 * What a mutation is about: a namespace and an id in it, compared verbatim.
 *
 * @param namespace the namespace, which is also the lane
 * @param canonicalId the id within the namespace
 */
public record Identity(String namespace, String canonicalId) implements Key {

  /** An identity of two texts, neither of them null. */
  public Identity {
    Objects.requireNonNull(namespace, "namespace");
    Objects.requireNonNull(canonicalId, "canonicalId");
  }

  /** The identity of a key. */
  public static Identity of(Key key) {
    return key instanceof Identity
        ? (Identity) key
        : new Identity(key.namespace(), key.canonicalId());
  }

  @Override
  public String toString() {
    return namespace + "/" + canonicalId;
  }
}
