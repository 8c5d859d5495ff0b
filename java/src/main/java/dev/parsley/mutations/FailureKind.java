package dev.parsley.mutations;

/** What kind of thing failed. */
public enum FailureKind {
  /** The resolver did not give the key of an identity. */
  IDENTITY,
  /** Bytes could not be read or written. */
  CODEC,
  /** The mutator failed, or the row was discarded before it was prepared. */
  PROJECTION,
  /** The server's answer is against the contract. */
  PROTOCOL,
  /** A conflict could not be settled. */
  CONFLICT,
  /** The push failed or was rejected. */
  TRANSPORT,
  /** The answer could not be adopted. */
  ADOPTION,
  /** An effect on another key failed. */
  EFFECT,
  /** Storage or a local port failed; never a row. */
  PERSISTENCE
}
