package dev.parsley.mutations.internal;

import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Meta;
import java.util.List;

/**
 * What a callback came to.
 *
 * @param message for the engine
 * @param error the error that the callback failed with, as it is; null for none
 */
record Answer(byte[] message, Throwable error) {

  static Answer done() {
    return plain(1);
  }

  static Answer threw(Throwable error) {
    return new Answer(Wire.Writer.of(2).words(words(error)).message(), error);
  }

  static Answer cancelled(Throwable error) {
    return new Answer(Wire.Writer.of(3).message(), error);
  }

  static Answer fatal(Error error) {
    return new Answer(Wire.Writer.of(4).message(), error);
  }

  static Answer drawn(long number) {
    return of(Wire.Writer.of(5).number(number));
  }

  static Answer known() {
    return plain(6);
  }

  static Answer unknown() {
    return plain(7);
  }

  static Answer mismatch(Identity other) {
    return of(Wire.Writer.of(8).words(other.toString()));
  }

  static Answer unavailable() {
    return plain(9);
  }

  static Answer meta(Meta meta) {
    return of(Wire.Writer.of(10).meta(meta));
  }

  static Answer value(byte[] value) {
    return of(Wire.Writer.of(11).presence(value));
  }

  static Answer declined() {
    return plain(12);
  }

  static Answer codec(Throwable error) {
    return new Answer(Wire.Writer.of(13).words(words(error)).message(), error);
  }

  static Answer argumentsCodec(Throwable error) {
    return new Answer(Wire.Writer.of(14).words(words(error)).message(), error);
  }

  static Answer mutatorMissing(String name) {
    return of(
        Wire.Writer.of(15).words("no mutator '" + name + "' is registered: register it again"));
  }

  static Answer stales(List<Identity> keys, List<String> namespaces) {
    return of(
        Wire.Writer.of(16).list(keys, Wire.Writer::identity).list(namespaces, Wire.Writer::text));
  }

  static Answer accepted(byte[] value, int codecVersion, String etag, Identity target) {
    return of(
        Wire.Writer.of(17)
            .presence(value)
            .integer(codecVersion)
            .textOrNone(etag)
            .identityOrNone(target));
  }

  static Answer conflict(Meta server) {
    return of(Wire.Writer.of(18).meta(server));
  }

  static Answer rejected(String reason) {
    return of(Wire.Writer.of(19).words(reason));
  }

  static Answer serverWins() {
    return plain(20);
  }

  static Answer confirmed(long through) {
    return of(Wire.Writer.of(21).number(through));
  }

  private static Answer plain(int kind) {
    return of(Wire.Writer.of(kind));
  }

  private static Answer of(Wire.Writer message) {
    return new Answer(message.message(), null);
  }

  /** An error without a message is known by its class. */
  static String words(Throwable error) {
    final String message = error.getMessage();
    return message == null ? error.getClass().getName() : message;
  }
}
