package dev.parsley.mutations.internal;

import dev.parsley.mutations.Codec;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.Jitter;
import dev.parsley.mutations.Key;
import dev.parsley.mutations.KeyResolver;
import dev.parsley.mutations.LocalState;
import dev.parsley.mutations.Merge;
import dev.parsley.mutations.MergePolicy;
import dev.parsley.mutations.Meta;
import dev.parsley.mutations.MutationServer;
import dev.parsley.mutations.Projection;
import dev.parsley.mutations.Push;
import dev.parsley.mutations.PushOutcome;
import dev.parsley.mutations.Resolution;
import dev.parsley.mutations.Stales;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The application's side of a store: each call of the engine as a callback. Bytes become values and
 * values bytes, errors become answers. Any thread may use it.
 *
 * @param merge null lets the server win
 * @param keys the keys that the application has named or resolved, until the store is closed
 */
public record Ports<K extends Key, V>(
    KeyResolver<K> resolver,
    Codec<V> codec,
    int codecVersion,
    Map<String, RegisteredMutator<K, V, ?>> mutators,
    MutationServer<K, V> server,
    LocalState<K, V> local,
    MergePolicy<K, V> merge,
    Jitter jitter,
    String client,
    ConcurrentHashMap<Identity, K> keys) {

  /** Remembers a key that the application has named. */
  public Identity keep(K key) {
    final Identity identity = Identity.of(key);
    keys.putIfAbsent(identity, key);
    return identity;
  }

  /** Checks that arguments can be read back, now that somebody is there to be told. */
  public void check(RegisteredMutator<K, V, ?> mutator, int version, byte[] arguments)
      throws Exception {
    try {
      mutator.decode(version, arguments);
    } catch (RegisteredMutator.UnreadableArguments e) {
      throw (Exception) e.getCause();
    }
  }

  /** Values that cannot be read or written; the cause is the codec's error. */
  private static final class UnreadableValue extends Exception {

    private static final long serialVersionUID = 1L;

    UnreadableValue(Exception cause) {
      super(cause);
    }
  }

  /** Does a call. Never throws. */
  Answer perform(Call call) {
    try {
      return answer(call.kind(), call.fields());
    } catch (UnreadableValue e) {
      // Of the calls that have no answer for it; it is the codec's error that the caller sees.
      return Answer.threw(e.getCause());
    } catch (Exception e) {
      // A callback that fails because it was interrupted has not failed.
      return e instanceof InterruptedException || Thread.currentThread().isInterrupted()
          ? Answer.cancelled(e)
          : Answer.threw(e);
    } catch (Error e) {
      return Answer.fatal(e);
    }
  }

  private Answer answer(int kind, Wire.Reader in) throws Exception {
    switch (kind) {
      case Call.DRAW:
        return Answer.drawn(jitter.draw(in.number()));
      case Call.RESOLVE:
        return resolve(in.identity());
      case Call.STATUS:
        return Answer.meta(local.status(key(in.identity())));
      case Call.READ:
        return encoded(local.read(key(in.identity())));
      case Call.PROJECT:
        return project(in);
      case Call.PRECONDITION:
        return precondition(in);
      case Call.STALES:
        return stales(in);
      case Call.DECODE:
        return decodable(in);
      case Call.PUSH:
        return push(in);
      case Call.FRESH_READ:
        local.freshRead(key(in.identity()));
        return Answer.done();
      case Call.MERGE:
        return merged(in);
      case Call.APPLY:
        return apply(in);
      case Call.CONFIRM_FRESH:
        local.confirmFresh(key(in.identity()), in.textOrNone());
        return Answer.done();
      case Call.CLEAR:
        local.clear(key(in.identity()));
        return Answer.done();
      case Call.MARK_STALE:
        local.markStale(key(in.identity()));
        return Answer.done();
      case Call.INVALIDATE:
        local.invalidateNamespace(in.text());
        return Answer.done();
      case Call.RETIRE:
        return retire(in.number());
      default:
        throw Messages.unknown("call", kind);
    }
  }

  /** The key of an identity that the engine knows to be kept. */
  private K key(Identity identity) {
    final K key = keys.get(identity);
    if (key == null) {
      throw new IllegalStateException("the key of " + identity + " was forgotten");
    }
    return key;
  }

  private Answer resolve(Identity identity) throws Exception {
    final Resolution<K> resolution =
        Objects.requireNonNull(resolver.resolve(identity), "the resolver answered null");
    if (resolution instanceof Resolution.Unknown) {
      return Answer.unknown();
    }
    if (resolution instanceof Resolution.Found) {
      final K key = ((Resolution.Found<K>) resolution).key();
      final Identity found = Identity.of(key);
      if (!found.equals(identity)) {
        return Answer.mismatch(found);
      }
      keys.put(identity, key);
      return Answer.known();
    }
    return Answer.unavailable();
  }

  private V decoded(int version, byte[] value) throws UnreadableValue {
    if (value == null) {
      return null;
    }
    try {
      return Objects.requireNonNull(codec.decode(version, value), "the codec decoded null");
    } catch (Exception e) {
      throw new UnreadableValue(e);
    }
  }

  private byte[] bytes(V value) throws UnreadableValue {
    if (value == null) {
      return null;
    }
    try {
      return Objects.requireNonNull(codec.encode(value), "the codec encoded null");
    } catch (Exception e) {
      throw new UnreadableValue(e);
    }
  }

  private Answer encoded(V value) {
    try {
      return Answer.value(bytes(value));
    } catch (UnreadableValue e) {
      return Answer.codec(e.getCause());
    }
  }

  private Answer project(Wire.Reader in) throws Exception {
    final K key = key(in.identity());
    final String name = in.text();
    final int version = in.integer();
    final byte[] arguments = in.bytes();
    final RegisteredMutator<K, V, ?> mutator = mutators.get(name);
    if (mutator == null) {
      return Answer.mutatorMissing(name);
    }
    final V base;
    try {
      base = decoded(codecVersion, in.presence());
    } catch (UnreadableValue e) {
      return Answer.codec(e.getCause());
    }
    final Projection<V> projection;
    try {
      projection = mutator.project(version, arguments, base);
    } catch (RegisteredMutator.UnreadableArguments e) {
      return Answer.argumentsCodec(e.getCause());
    }
    Objects.requireNonNull(projection, () -> "mutator " + name + " answered null for " + key);
    if (projection instanceof Projection.Value) {
      return encoded(((Projection.Value<V>) projection).value());
    }
    return projection instanceof Projection.Absent ? Answer.value(null) : Answer.declined();
  }

  private Answer precondition(Wire.Reader in) throws Exception {
    final K key = key(in.identity());
    final V base = decoded(codecVersion, in.presence());
    final V mine = decoded(codecVersion, in.presence());
    final Meta meta = in.meta();
    return Answer.meta(merge == null ? meta : merge.precondition(key, base, mine, meta));
  }

  private Answer stales(Wire.Reader in) throws Exception {
    final K key = key(in.identity());
    final String name = in.text();
    final RegisteredMutator<K, V, ?> mutator = mutators.get(name);
    if (mutator == null) {
      return Answer.mutatorMissing(name);
    }
    try {
      final Stales<K> stales = mutator.stales(in.integer(), in.bytes(), key);
      final List<Identity> keys = stales.keys().stream().map(Identity::of).toList();
      return Answer.stales(keys, stales.namespaces());
    } catch (RegisteredMutator.UnreadableArguments e) {
      throw (Exception) e.getCause();
    }
  }

  private Answer decodable(Wire.Reader in) {
    final String name = in.text();
    final int version = in.integer();
    final byte[] arguments = in.bytes();
    final RegisteredMutator<K, V, ?> mutator = mutators.get(name);
    if (mutator == null) {
      return Answer.mutatorMissing(name);
    }
    try {
      mutator.decode(version, arguments);
    } catch (RegisteredMutator.UnreadableArguments e) {
      return Answer.argumentsCodec(e.getCause());
    }
    final int valueVersion = in.integer();
    try {
      decoded(valueVersion, in.presence());
      decoded(valueVersion, in.presence());
      return Answer.done();
    } catch (UnreadableValue e) {
      return Answer.codec(e.getCause());
    }
  }

  private Answer push(Wire.Reader in) throws Exception {
    final Identity identity = in.identity();
    final String clientId = in.text();
    final long sequence = in.number();
    final int generation = in.integer();
    final long retiredThrough = in.number();
    final String idempotencyKey = in.text();
    final int version = in.integer();
    final Push<K, V> push =
        new Push<>(
            key(identity),
            identity,
            clientId,
            sequence,
            generation,
            retiredThrough,
            idempotencyKey,
            decoded(version, in.presence()),
            decoded(version, in.presence()),
            in.meta());
    final PushOutcome<V> outcome =
        Objects.requireNonNull(server.push(push), "the server answered null");
    if (outcome instanceof PushOutcome.Accepted) {
      final PushOutcome.Accepted<V> accepted = (PushOutcome.Accepted<V>) outcome;
      // If its answer cannot be kept, the push is repeated until it can.
      return Answer.accepted(
          bytes(accepted.value()), codecVersion, accepted.etag(), accepted.target());
    }
    return outcome instanceof PushOutcome.Conflict
        ? Answer.conflict(((PushOutcome.Conflict<V>) outcome).server())
        : Answer.rejected(((PushOutcome.Rejected<V>) outcome).reason());
  }

  private Answer merged(Wire.Reader in) throws Exception {
    final K key = key(in.identity());
    final int version = in.integer();
    if (merge == null) {
      return Answer.serverWins();
    }
    final V base = decoded(version, in.presence());
    final V mine = decoded(version, in.presence());
    final V theirs = decoded(codecVersion, in.presence());
    final Merge<V> merged =
        Objects.requireNonNull(
            merge.merge(key, base, mine, theirs), "the merge policy answered null");
    return merged instanceof Merge.Retry
        ? encoded(((Merge.Retry<V>) merged).value())
        : Answer.serverWins();
  }

  private Answer apply(Wire.Reader in) throws Exception {
    final K key = key(in.identity());
    final byte[] value = in.bytes();
    final V decoded;
    try {
      decoded = decoded(in.integer(), value);
    } catch (UnreadableValue e) {
      return Answer.codec(e.getCause());
    }
    local.apply(key, decoded);
    return Answer.done();
  }

  private Answer retire(long through) throws Exception {
    final long confirmed = server.retire(client, through);
    if (confirmed < 0) {
      throw new IllegalStateException("retire answered " + confirmed + ", below zero");
    }
    return Answer.confirmed(confirmed);
  }
}
