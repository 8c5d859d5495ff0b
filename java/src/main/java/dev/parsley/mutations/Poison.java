package dev.parsley.mutations;

/**
 * An error of a mutator's own code.
 *
 * @param sequence the mutation
 * @param error the very exception that was thrown
 */
public record Poison(long sequence, Throwable error) {}
