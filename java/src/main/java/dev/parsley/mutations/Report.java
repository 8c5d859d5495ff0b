package dev.parsley.mutations;

import java.util.List;

/**
 * What a drain did and what it could not do.
 *
 * @param visits one for each visit of an identity, in order
 * @param checkpoint how far settled mutations are confirmed by the server
 */
public record Report(List<Visit> visits, Checkpoint checkpoint) {

  /** Copies the list. */
  public Report {
    visits = List.copyOf(visits);
  }

  /**
   * What a drain did for one identity.
   *
   * @param identity the identity
   * @param pushes pushes made
   * @param acks answers made durable
   * @param retired mutations that are done
   * @param parked sequences of mutations that became dead letters
   * @param blocked what keeps the rest from going on; null for nothing
   */
  public record Visit(
      Identity identity, int pushes, int acks, int retired, List<Long> parked, Blocked blocked) {

    /** Copies the list. */
    public Visit {
      parked = List.copyOf(parked);
    }
  }

  /**
   * The checkpoint.
   *
   * @param retiredThrough the settled prefix
   * @param confirmedThrough what the server has confirmed
   * @param failed the last try to tell the server failed
   */
  public record Checkpoint(long retiredThrough, long confirmedThrough, boolean failed) {}
}
