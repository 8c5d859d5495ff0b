package dev.parsley.demo;

import java.util.OptionalInt;

/**
 * What one run came to, judged from topics.
 *
 * @param records that were to be seen
 * @param beforeCause seen before one of their causes
 * @param heldAtKill taken in and not yet delivered when the service was killed; empty: not killed
 * @param restored seen by the second process without having arrived there
 * @param duplicates sightings beyond the first of a record
 * @param lost never seen
 * @param p50Ms half of the records were processed within this many milliseconds of their arrival
 * @param p99Ms 99 of 100 records were
 */
record Outcome(
    String name,
    int records,
    int beforeCause,
    OptionalInt heldAtKill,
    int restored,
    int duplicates,
    int lost,
    double p50Ms,
    double p99Ms) {}
