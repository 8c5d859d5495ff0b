package dev.parsley.mutations;

/**
 * A lane that has work.
 *
 * @param namespace its name
 * @param owner the mutation that holds it; null for none
 * @param pending mutations that wait in it, the owner included
 * @param oldestCreatedAt when the oldest of them was accepted, in milliseconds of the Unix epoch
 */
public record Lane(String namespace, Owner owner, long pending, long oldestCreatedAt) {

  /**
   * The mutation that holds a lane, because the server may have it or it was pushed before.
   *
   * @param sequence its sequence
   * @param state where it stands
   * @param attempts completed pushes of its current generation
   * @param eligibleBy when a drain of everything will try it at the latest, in milliseconds of the
   *     Unix epoch; null if nothing holds it back
   */
  public record Owner(long sequence, PendingState state, int attempts, Long eligibleBy) {}
}
