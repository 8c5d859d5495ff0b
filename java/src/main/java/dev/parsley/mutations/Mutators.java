package dev.parsley.mutations;

import dev.parsley.mutations.internal.RegisteredMutator;
import java.util.HashMap;
import java.util.Map;

/**
 * The mutators of a store: pure functions from a base and arguments to what is wanted. A name means
 * the same function for as long as a journal holds mutations of it. To be filled before the store
 * is opened, by one thread.
 */
public final class Mutators<K extends Key, V> {

  private final Map<String, RegisteredMutator<K, V, ?>> registered = new HashMap<>();

  /** Computes what a mutation wants; must depend on nothing but its arguments. */
  @FunctionalInterface
  public interface Projector<V, A> {
    /**
     * Computes.
     *
     * @param base what is there; null for nothing
     * @throws Exception any: the mutation becomes a dead letter
     */
    Projection<V> project(V base, A arguments) throws Exception;
  }

  /** Computes the wanted value. */
  @FunctionalInterface
  public interface Change<V, A> {
    /** What is wanted, not null, of what is there and the arguments. */
    V apply(V base, A arguments) throws Exception;
  }

  /** Computes a value from nothing but arguments. */
  @FunctionalInterface
  public interface Creation<V, A> {
    /** What is wanted, not null. */
    V apply(A arguments) throws Exception;
  }

  /** Tells what else becomes stale. */
  @FunctionalInterface
  public interface StalesOf<K extends Key, A> {
    /** What becomes stale when a mutation of this key is done. */
    Stales<K> of(K key, A arguments) throws Exception;
  }

  /**
   * Registers a mutator in its general form.
   *
   * @throws IllegalArgumentException when the name is empty or taken
   */
  public <A> MutatorHandle<A> add(
      String name, Codec<A> arguments, Projector<V, A> projector, StalesOf<K, A> stales) {
    if (name.isEmpty() || registered.containsKey(name)) {
      throw new IllegalArgumentException("mutator name '" + name + "' is empty or taken");
    }
    registered.put(name, new RegisteredMutator<>(arguments, projector, stales));
    return new MutatorHandle<>(name, arguments);
  }

  /** Registers a mutator that writes a value whatever the base is. */
  public <A> MutatorHandle<A> create(String name, Codec<A> arguments, Creation<V, A> creation) {
    return add(
        name,
        arguments,
        (base, given) -> new Projection.Value<>(creation.apply(given)),
        (key, given) -> Stales.none());
  }

  /** Registers a mutator that changes a value that is there, and declines while there is none. */
  public <A> MutatorHandle<A> update(String name, Codec<A> arguments, Change<V, A> change) {
    return add(
        name,
        arguments,
        (base, given) ->
            base == null
                ? new Projection.Decline<>()
                : new Projection.Value<>(change.apply(base, given)),
        (key, given) -> Stales.none());
  }

  /** Registers a mutator that changes a value or makes one; its base may be null. */
  public <A> MutatorHandle<A> upsert(String name, Codec<A> arguments, Change<V, A> change) {
    return add(
        name,
        arguments,
        (base, given) -> new Projection.Value<>(change.apply(base, given)),
        (key, given) -> Stales.none());
  }

  /** Registers a mutator that deletes. Its argument is null, and no bytes at all in a journal. */
  public MutatorHandle<Void> delete(String name) {
    return add(
        name,
        new NoArguments(),
        (base, given) -> new Projection.Absent<>(),
        (key, given) -> Stales.none());
  }

  Map<String, RegisteredMutator<K, V, ?>> registered() {
    return Map.copyOf(registered);
  }

  private static final class NoArguments implements Codec<Void> {

    @Override
    public byte[] encode(Void value) {
      return new byte[0];
    }

    @Override
    public Void decode(int version, byte[] bytes) {
      if (version != 1 || bytes.length != 0) {
        throw new IllegalArgumentException(
            "a deletion has no arguments, these are "
                + bytes.length
                + " bytes of version "
                + version);
      }
      return null;
    }
  }
}
