package dev.parsley.mutations;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that shows what it was set to. */
final class SetClock extends Clock {

  /** Milliseconds of the Unix epoch. */
  volatile long now;

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    return this;
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochMilli(now);
  }

  @Override
  public long millis() {
    return now;
  }
}
