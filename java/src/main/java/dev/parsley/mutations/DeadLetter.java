package dev.parsley.mutations;

/**
 * A mutation that was given up, until it is retried or discarded.
 *
 * @param identity the identity it was frozen with, else the one it was accepted for
 * @param sequence its sequence
 * @param mutator its mutator
 * @param generation its last generation; 0 if it was never prepared
 * @param attempts completed pushes of that generation
 * @param failure why
 * @param parkedAt when, in milliseconds of the Unix epoch
 * @param remoteOutcomeUnknown the server may have applied it
 */
public record DeadLetter(
    Identity identity,
    long sequence,
    String mutator,
    int generation,
    int attempts,
    Failure failure,
    long parkedAt,
    boolean remoteOutcomeUnknown) {

  /** The name of the mutation for people: {@code mutation-<sequence>}. */
  public String mutationId() {
    return "mutation-" + sequence;
  }
}
