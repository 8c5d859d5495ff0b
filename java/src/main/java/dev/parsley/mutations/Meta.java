package dev.parsley.mutations;

/**
 * What a server or a cache tells about a value besides its content.
 *
 * @param writtenAt when the value was written, in milliseconds of the Unix epoch; null when unknown
 * @param etag the version that the server gave it; null when it gave none
 */
public record Meta(Long writtenAt, String etag) {}
