package dev.parsley.mutations.internal;

/**
 * How a journal is opened.
 *
 * @param epoch used only if this store writes the first row
 * @param attemptsMax 0 for no limit
 * @param ageMaxMs null for no limit
 */
public record JournalConfig(
    String client,
    long epoch,
    int codecVersion,
    boolean choosesPreconditions,
    int lanesMax,
    int attemptsMax,
    Long ageMaxMs) {

  byte[] message(boolean handsOutCommits) {
    final Wire.Writer out =
        new Wire.Writer()
            .text(client)
            .number(epoch)
            .integer(codecVersion)
            .flag(choosesPreconditions)
            .integer(lanesMax)
            .integer(attemptsMax)
            .flag(ageMaxMs != null);
    if (ageMaxMs != null) {
      out.number(ageMaxMs);
    }
    return out.flag(handsOutCommits).message();
  }
}
