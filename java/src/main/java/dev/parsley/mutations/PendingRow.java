package dev.parsley.mutations;

/**
 * A mutation that is still to be worked on.
 *
 * @param identity the end of its identity's route
 * @param sequence its sequence
 * @param mutator its mutator
 * @param state where it stands
 * @param attempt completed pushes of its current generation
 * @param createdAt when it was accepted, in milliseconds of the Unix epoch
 * @param reason why its last dispatch in this process came to nothing, where nothing durable tells:
 *     {@code declined}, {@code stales-failed} or {@code port-failed}; else null
 */
public record PendingRow(
    Identity identity,
    long sequence,
    String mutator,
    PendingState state,
    int attempt,
    long createdAt,
    String reason) {

  /** The name of the mutation for people: {@code mutation-<sequence>}. */
  public String mutationId() {
    return "mutation-" + sequence;
  }
}
