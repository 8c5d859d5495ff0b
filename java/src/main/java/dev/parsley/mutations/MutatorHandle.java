package dev.parsley.mutations;

/** A registered mutator, to be named when a mutation is made. Immutable. */
public final class MutatorHandle<A> {

  private final String name;
  private final Codec<A> codec;

  MutatorHandle(String name, Codec<A> codec) {
    this.name = name;
    this.codec = codec;
  }

  /** The name it was registered under. */
  public String name() {
    return name;
  }

  Codec<A> codec() {
    return codec;
  }
}
