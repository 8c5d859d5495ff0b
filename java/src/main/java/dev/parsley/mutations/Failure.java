package dev.parsley.mutations;

/**
 * Evidence of a failure. Equal failures of one generation are one.
 *
 * @param generation the generation; 0 before the first
 * @param kind what kind of thing failed
 * @param detail what exactly, at most 128 bytes of UTF-8
 * @param message the text of the last one, at most 1,024 bytes of UTF-8
 * @param firstAt when the first one came, in milliseconds of the Unix epoch
 * @param lastAt when the last one came
 * @param count how many came
 */
public record Failure(
    int generation,
    FailureKind kind,
    String detail,
    String message,
    long firstAt,
    long lastAt,
    int count) {}
