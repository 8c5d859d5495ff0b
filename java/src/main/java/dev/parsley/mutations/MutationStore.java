package dev.parsley.mutations;

import dev.parsley.mutations.internal.CommitHook;
import dev.parsley.mutations.internal.Inspection;
import dev.parsley.mutations.internal.JournalConfig;
import dev.parsley.mutations.internal.JournalDriver;
import dev.parsley.mutations.internal.JournalDriver.Ended;
import dev.parsley.mutations.internal.Operations;
import dev.parsley.mutations.internal.Outcome;
import dev.parsley.mutations.internal.Ports;
import dev.parsley.mutations.internal.RegisteredMutator;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/**
 * A journal of writes, and the drains that push them. Any thread may use it, callbacks too, but for
 * {@link #close} and waiting for a drain.
 *
 * <p>{@link #mutate}, {@link #retry} and {@link #discard} block until they are durable, and do what
 * little they need of the application (a codec, the resolver where an alias leads) on their
 * caller's thread. Drains are done on the executor: one task for each callback that can go on, none
 * of which ever waits for another, so an executor of any size will do. Listeners are called there
 * too.
 *
 * <p>Every method throws {@link StoreClosedException} once the store is closed.
 */
public final class MutationStore<K extends Key, V> implements Drainable, AutoCloseable {

  private final Ports<K, V> ports;
  private final JournalDriver driver;
  private final Inspection inspection;

  /** Null when the executor is the caller's. */
  private final ExecutorService ownThreads;

  private MutationStore(Ports<K, V> ports, JournalDriver driver, ExecutorService ownThreads) {
    this.ports = ports;
    this.driver = driver;
    this.inspection = new Inspection(driver);
    this.ownThreads = ownThreads;
  }

  /**
   * A store for one client.
   *
   * @param clientId the name that the journal belongs to: not empty, the same for ever
   */
  public static <K extends Key, V> Builder<K, V> builder(
      String clientId,
      KeyResolver<K> resolver,
      Codec<V> codec,
      MutationServer<K, V> server,
      LocalState<K, V> local) {
    return new Builder<>(clientId, resolver, codec, server, local);
  }

  /**
   * Journals a mutation; durable when this returns. An interrupt cancels it, as long as nothing is
   * written.
   *
   * @return its sequence, counted from 1
   * @throws RefusedException when nothing was journaled: UNRESOLVED, UNAVAILABLE or ARGUMENTS
   * @throws CancellationException when interrupted before anything was written
   * @throws JournalException when the journal could not be written
   */
  public <A> long mutate(K key, MutatorHandle<A> mutator, A arguments) {
    final RegisteredMutator<K, V, ?> registered = ports.mutators().get(mutator.name());
    if (registered == null || registered.codec() != mutator.codec()) {
      throw new IllegalArgumentException(
          "mutator " + mutator.name() + " is not registered with this store");
    }
    final int version = mutator.codec().version();
    final byte[] encoded;
    try {
      encoded = mutator.codec().encode(arguments);
      // What cannot be read back would become a dead letter later, when nobody is there to be told.
      ports.check(registered, version, encoded);
    } catch (Exception e) {
      throw new RefusedException(
          RefusedException.Kind.ARGUMENTS,
          "the arguments of mutator " + mutator.name() + " can't be journaled: " + e.getMessage(),
          e);
    }
    return done(Operations.mutate(ports.keep(key), mutator.name(), version, encoded)).sequence();
  }

  /**
   * Drains one key: pushes its mutations in order, each at most once, whatever their backoff.
   *
   * <p>A push that fails is no error: the report says so, and the next drain goes on. Cancelling
   * the future cancels the drain: the callback that runs is interrupted, and what is durable stays.
   * The future ends with a {@link DrainException} for a failure after the server's answer, of a
   * local port or of the storage, with a {@link CancellationException} when a callback was
   * interrupted, with an {@link Error} that a callback threw, with the executor's {@link
   * RejectedExecutionException}.
   */
  public CompletableFuture<Report> drain(K key) {
    return drained(Operations.drain(ports.keep(key)));
  }

  /**
   * Drains everything that is due, lanes side by side. One such pass at a time; others wait. Ends
   * as {@link #drain} does, but failures are in the report and not thrown.
   */
  @Override
  public CompletableFuture<Report> drainAll() {
    return drained(Operations.drainAll());
  }

  /** The pending mutations of a key and of all that leads to the same end, by sequence. */
  public List<PendingRow> pending(K key) {
    return inspection.pending(Identity.of(key));
  }

  /** All pending mutations, by sequence. */
  @Override
  public List<PendingRow> pendingWrites() {
    return inspection.pendingWrites();
  }

  /** The mutations that were given up, by the time they were. */
  public List<DeadLetter> deadLetters() {
    return inspection.deadLetters();
  }

  /** The lanes that have work, by namespace. */
  public List<Lane> lanes() {
    return inspection.lanes();
  }

  /**
   * Repeats a dead letter as a new mutation.
   *
   * @return the sequence of the new one
   * @throws RefusedException WRONG_ROW when it is no dead letter
   */
  public long retry(long sequence) {
    return done(Operations.retry(Math.max(sequence, 0))).sequence();
  }

  /**
   * Dismisses a dead letter, or a row that would hold its lane for ever.
   *
   * @param note who and why
   * @return the identity to read afresh, if the server's value for it was not adopted
   * @throws RefusedException WRONG_ROW when it is no such row
   */
  public Optional<Identity> discard(long sequence, String note) {
    return Optional.ofNullable(done(Operations.discard(Math.max(sequence, 0), note)).refresh());
  }

  /**
   * Listens to what happens from now on. A listener that is more than 64 events behind loses the
   * oldest; it is called with one event at a time.
   */
  @Override
  public Subscription events(Consumer<? super Event> listener) {
    return driver.events().listen(listener, driver::later);
  }

  /** Listens to errors of the mutators' own code, the last 16 of them at once. */
  public Subscription poison(Consumer<? super Poison> listener) {
    return driver.poison().listen(listener, driver::later);
  }

  /**
   * Cancels what runs, waits for its callbacks to return, and frees the directory. To be called
   * before the executor is shut down. Can be repeated.
   *
   * @throws IllegalStateException when a callback calls it, which would wait for itself
   */
  @Override
  public void close() {
    driver.close();
    ports.keys().clear();
    if (ownThreads != null) {
      ownThreads.shutdown();
    }
  }

  /** For tests. */
  Inspection inspection() {
    return inspection;
  }

  private Outcome.Done done(byte[] operation) {
    final Ended ended = driver.run(operation);
    if (ended.failure() != null) {
      throw ended.failure();
    }
    if (ended.outcome() instanceof Outcome.Done) {
      return (Outcome.Done) ended.outcome();
    }
    final Outcome.Refused refused = (Outcome.Refused) ended.outcome();
    final Throwable cause = ended.errors().get(refused.call());
    switch (refused.kind()) {
      case UNRESOLVED:
        throw new RefusedException(RefusedException.Kind.UNRESOLVED, refused.message(), cause);
      case UNAVAILABLE:
        throw new RefusedException(RefusedException.Kind.UNAVAILABLE, refused.message(), cause);
      case WRONG_ROW:
        throw new RefusedException(RefusedException.Kind.WRONG_ROW, refused.message(), cause);
      case CANCELLED:
        throw new CancellationException(refused.message());
      case FATAL:
        throw ended.fatal();
      default:
        throw new JournalException(refused.message());
    }
  }

  private CompletableFuture<Report> drained(byte[] operation) {
    final DrainFuture future = new DrainFuture(driver);
    future.task = driver.start(operation, future::end);
    return future;
  }

  /** A drain under way; cancelling it cancels the drain. */
  private static final class DrainFuture extends CompletableFuture<Report> {

    private final JournalDriver driver;

    /** Set before anybody but its own callbacks can know of this. */
    private volatile long task;

    DrainFuture(JournalDriver driver) {
      this.driver = driver;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      // Completed first, so that the outcome of the drain can't come before.
      final boolean cancelled = super.cancel(mayInterruptIfRunning);
      driver.cancel(task);
      return cancelled;
    }

    private void end(Ended ended) {
      if (ended.failure() != null) {
        completeExceptionally(ended.failure());
        return;
      }
      final Outcome.Drained drained = (Outcome.Drained) ended.outcome();
      final Outcome.DrainError error = drained.error();
      if (error == null) {
        complete(drained.report());
      } else if (error.cancelled()) {
        completeExceptionally(new CancellationException("a callback was interrupted"));
      } else if (error.fatal()) {
        completeExceptionally(ended.fatal());
      } else {
        completeExceptionally(failure(ended, drained.report(), error));
      }
    }

    private static DrainException failure(Ended ended, Report report, Outcome.DrainError error) {
      final Map<Long, Throwable> errors = ended.errors();
      final DrainException failure =
          new DrainException(error.kind(), error.message(), errors.get(error.call()), report);
      for (Outcome.Other other : error.others()) {
        final Throwable own = errors.get(other.call());
        failure.addSuppressed(own == null ? new JournalException(other.message()) : own);
      }
      return failure;
    }
  }

  /** Puts a store together. For one thread. */
  public static final class Builder<K extends Key, V> {

    private static final int LANES_DEFAULT = 4;

    private final String clientId;
    private final KeyResolver<K> resolver;
    private final Codec<V> codec;
    private final MutationServer<K, V> server;
    private final LocalState<K, V> local;
    private Mutators<K, V> mutators = new Mutators<>();
    private MergePolicy<K, V> merge;
    private Path directory;
    private Executor executor;
    private Clock clock = Clock.systemUTC();
    private Jitter jitter = window -> ThreadLocalRandom.current().nextLong(window + 1);
    private int lanes = LANES_DEFAULT;
    private int attempts;
    private Long ageMs;
    private long epoch = new SecureRandom().nextLong();
    private CommitHook hook;

    private Builder(
        String clientId,
        KeyResolver<K> resolver,
        Codec<V> codec,
        MutationServer<K, V> server,
        LocalState<K, V> local) {
      this.clientId = clientId;
      this.resolver = resolver;
      this.codec = codec;
      this.server = server;
      this.local = local;
    }

    /** The mutators, without which nothing can be journaled. */
    public Builder<K, V> mutators(Mutators<K, V> given) {
      mutators = given;
      return this;
    }

    /** What is done about conflicts; without it the server wins. */
    public Builder<K, V> merge(MergePolicy<K, V> policy) {
      merge = policy;
      return this;
    }

    /**
     * Where the journal is kept, by one process at a time; in memory, and gone with the process,
     * unless told otherwise. The directory is made if there is none.
     */
    public Builder<K, V> directory(Path given) {
      directory = given;
      return this;
    }

    /**
     * Where callbacks and listeners run. Without one the store has daemon threads of its own, as
     * many as there are callbacks that can go on, ended by {@code close}: callbacks wait for the
     * network, which a pool that is shared with the rest of the process is not made for.
     */
    public Builder<K, V> executor(Executor given) {
      executor = given;
      return this;
    }

    /** Lanes that a drain of everything works on at once: 4 unless told otherwise. */
    public Builder<K, V> lanes(int max) {
      lanes = max;
      return this;
    }

    /** Gives a generation up after this many failed pushes, at least 1; without it, never. */
    public Builder<K, V> attempts(int max) {
      if (max < 1) {
        throw new IllegalArgumentException("a mutation needs at least one attempt, not " + max);
      }
      attempts = max;
      return this;
    }

    /** Gives a mutation up whose push fails past this age; without it, never. */
    public Builder<K, V> age(Duration max) {
      ageMs = max.toMillis();
      return this;
    }

    /** Another clock. It may go back. */
    public Builder<K, V> clock(Clock given) {
      clock = given;
      return this;
    }

    /** Another source of randomness. */
    public Builder<K, V> jitter(Jitter given) {
      jitter = given;
      return this;
    }

    /** For tests: the epoch of a new journal. */
    Builder<K, V> epoch(long given) {
      epoch = given;
      return this;
    }

    /** For tests: sees each transaction. */
    Builder<K, V> hook(CommitHook given) {
      hook = given;
      return this;
    }

    /**
     * Opens the journal: reads and judges all of it, calls nothing but the codec's version.
     *
     * @throws IllegalArgumentException when the client has no name, or there is no lane
     * @throws JournalException when the directory is in use by another process or cannot be read,
     *     or the journal is damaged; the message names the rule and the row
     */
    public MutationStore<K, V> open() {
      final int version = codec.version();
      final Ports<K, V> ports =
          new Ports<>(
              resolver,
              codec,
              version,
              mutators.registered(),
              server,
              local,
              merge,
              jitter,
              clientId,
              new ConcurrentHashMap<>());
      final JournalConfig config =
          new JournalConfig(clientId, epoch, version, merge != null, lanes, attempts, ageMs);
      final ExecutorService own = executor == null ? CallbackThreads.start(clientId) : null;
      final String place = directory == null ? null : directory.toString();
      try {
        final JournalDriver driver =
            JournalDriver.open(place, config, ports, own == null ? executor : own, clock, hook);
        return new MutationStore<>(ports, driver, own);
      } catch (RuntimeException e) {
        if (own != null) {
          own.shutdown();
        }
        throw e;
      }
    }
  }
}
