package dev.parsley.mutations.internal;

import dev.parsley.mutations.Codec;
import dev.parsley.mutations.Key;
import dev.parsley.mutations.Mutators.Projector;
import dev.parsley.mutations.Mutators.StalesOf;
import dev.parsley.mutations.Projection;
import dev.parsley.mutations.Stales;

/** A mutator whose arguments are bytes. */
public record RegisteredMutator<K extends Key, V, A>(
    Codec<A> codec, Projector<V, A> projector, StalesOf<K, A> stalesOf) {

  /** Arguments that cannot be read; the cause is the codec's error. */
  static final class UnreadableArguments extends Exception {

    private static final long serialVersionUID = 1L;

    UnreadableArguments(Exception cause) {
      super(cause);
    }
  }

  Projection<V> project(int version, byte[] arguments, V base) throws Exception {
    return projector.project(base, decode(version, arguments));
  }

  Stales<K> stales(int version, byte[] arguments, K key) throws Exception {
    return stalesOf.of(key, decode(version, arguments));
  }

  A decode(int version, byte[] arguments) throws UnreadableArguments {
    try {
      return codec.decode(version, arguments);
    } catch (Exception e) {
      throw new UnreadableArguments(e);
    }
  }
}
