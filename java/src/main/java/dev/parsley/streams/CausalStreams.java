package dev.parsley.streams;

import dev.parsley.streams.internal.LauncherGate;
import dev.parsley.streams.internal.LauncherSettings;
import dev.parsley.streams.internal.LauncherTopology;
import dev.parsley.streams.internal.Refusals;
import dev.parsley.streams.internal.TopologyInternals;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KafkaStreams.State;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts a Kafka Streams application that has causal nodes.
 *
 * <p>It refuses settings and topologies that causal order cannot rest on, sets those that were left
 * open ({@code processing.guarantee=exactly_once_v2}, no offset reset, the classic group protocol),
 * checks topics and changelogs before it starts anything, commits the group's first positions, and
 * stops the client on any failure: a thread is never replaced, since the next one would meet the
 * same record. What stopped it is kept, see {@link #refusal()} and {@link #failure()}.
 *
 * <pre>{@code
 * try (CausalStreams streams = CausalStreams.of(topology, properties)) {
 *   streams.start();
 *   streams.awaitStopped();
 *   streams.refusal().ifPresent(refusal -> System.err.println(refusal.getMessage()));
 * }
 * }</pre>
 *
 * <p>Started once. All methods may be called from any thread, but {@code close} not from a stream
 * thread or a listener.
 */
public final class CausalStreams implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(CausalStreams.class);

  private final KafkaStreams streams;
  private final LauncherGate gate;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final CountDownLatch stopped = new CountDownLatch(1);

  private CausalStreams(Builder builder) {
    final Map<String, Object> settings = LauncherSettings.complete(builder.settings);
    ParsleyConfig.of(settings);
    final LauncherTopology causal =
        LauncherTopology.of(builder.topology, applicationId(builder.settings));
    TopologyInternals.requireNoResets(builder.topology, causal);
    TopologyInternals.requireFedAsDeclared(builder.topology, causal);
    settings.put(ParsleyConfig.FED_TOPICS, causal.fedTopics());
    final StreamsConfig config = new StreamsConfig(settings);
    final KafkaClientSupplier supplier =
        builder.clientSupplier != null ? builder.clientSupplier : config.getKafkaClientSupplier();
    gate = new LauncherGate(causal, config, supplier, () -> failure.get() != null);
    try {
      streams = new KafkaStreams(builder.topology, config, gate.clientSupplier());
    } catch (RuntimeException e) {
      gate.close();
      throw e;
    }
    streams.setUncaughtExceptionHandler(thrown -> onUncaught(thrown, builder.exceptionHandler));
    streams.setStateListener((now, before) -> onChange(now, before, builder.stateListener));
  }

  /**
   * A launcher with the usual options.
   *
   * @throws RefusalException SUBSTRATE_MISCONFIGURED, see {@link Builder#build()}
   */
  public static CausalStreams of(Topology topology, Properties settings) {
    return builder(topology, settings).build();
  }

  /** As {@link #of(Topology, Properties)}. */
  public static CausalStreams of(Topology topology, Map<String, ?> settings) {
    return builder(topology, settings).build();
  }

  /**
   * @param topology such as {@code StreamsBuilder.build()} gives; with at least one causal node
   * @param settings those of Kafka Streams and {@link ParsleyConfig}; copied
   */
  public static Builder builder(Topology topology, Properties settings) {
    return builder(topology, LauncherGate.mapOf(settings));
  }

  /** As {@link #builder(Topology, Properties)}. */
  public static Builder builder(Topology topology, Map<String, ?> settings) {
    return new Builder(topology, settings);
  }

  /**
   * Checks what the brokers show and starts the client. Returns when it is starting, not when it
   * runs; waits for the brokers' answers meanwhile.
   *
   * @throws RefusalException when it must not start: TASK_WIDTH_CHANGED, ORDERING_STATE_LOST,
   *     CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES, POSITIONS_DISCARDED_UNREAD,
   *     CHANNEL_IDENTITY_CHANGED or SUBSTRATE_MISCONFIGURED. Nothing was consumed or committed; the
   *     launcher is closed
   * @throws org.apache.kafka.streams.errors.StreamsException when the brokers do not answer; the
   *     launcher is closed
   * @throws IllegalStateException when it was started before
   */
  public void start() {
    if (streams.state() != State.CREATED) {
      throw new IllegalStateException("a launcher is started once; it is " + streams.state());
    }
    try {
      gate.check();
      streams.start();
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
      close();
      throw Refusals.in(e).map(refusal -> (RuntimeException) refusal).orElse(e);
    }
  }

  public State state() {
    return streams.state();
  }

  /** The refusal that stopped the client, or kept it from starting. */
  public Optional<RefusalException> refusal() {
    return Refusals.in(failure.get());
  }

  /** What stopped the client, refusal or not, as Kafka Streams wrapped it; the first if several. */
  public Optional<Throwable> failure() {
    return Optional.ofNullable(failure.get());
  }

  /**
   * The client itself, for queries, metrics and restore listeners. Leave its state listener and its
   * uncaught exception handler alone, they are the launcher's: the builder takes yours.
   */
  public KafkaStreams kafkaStreams() {
    return streams;
  }

  /** Waits until the client has stopped, by {@link #close()} or by a failure. */
  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }

  /**
   * Waits until the client has stopped, by {@link #close()} or by a failure.
   *
   * @return false when the time is over first
   */
  public boolean awaitStopped(Duration timeout) throws InterruptedException {
    return stopped.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Stops the client and waits until it has stopped. Calling it again does nothing. */
  @Override
  public void close() {
    streams.close();
    gate.close();
    stopped.countDown();
  }

  /**
   * Stops the client.
   *
   * @return false when it has not stopped within the time; it goes on stopping
   */
  public boolean close(Duration timeout) {
    final boolean closed = streams.close(timeout);
    gate.close();
    if (closed) {
      stopped.countDown();
    }
    return closed;
  }

  private StreamThreadExceptionResponse onUncaught(
      Throwable thrown, StreamsUncaughtExceptionHandler users) {
    failure.compareAndSet(null, thrown);
    final Optional<RefusalException> refused = Refusals.in(thrown);
    if (refused.isPresent()) {
      LOG.error("The client stops. {}", refused.get().getMessage());
    } else {
      LOG.error("The client stops after a failure", thrown);
    }
    if (users != null) {
      final StreamThreadExceptionResponse answer = users.handle(thrown);
      if (answer == StreamThreadExceptionResponse.SHUTDOWN_APPLICATION) {
        return answer;
      }
      if (answer == StreamThreadExceptionResponse.REPLACE_THREAD) {
        LOG.warn(
            "The uncaught exception handler asks for a new thread. The client stops all the same:"
                + " a new thread would meet the same failure");
      }
    }
    return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
  }

  private void onChange(State now, State before, KafkaStreams.StateListener users) {
    try {
      if (users != null) {
        users.onChange(now, before);
      }
    } finally {
      if (now == State.ERROR || now == State.NOT_RUNNING) {
        stopped.countDown();
      }
    }
  }

  private static String applicationId(Map<String, Object> settings) {
    final Object id = settings.get(StreamsConfig.APPLICATION_ID_CONFIG);
    if (id == null) {
      throw new ConfigException(StreamsConfig.APPLICATION_ID_CONFIG + " is missing");
    }
    return id.toString();
  }

  /** Options of a launcher. Not for use by several threads at once. */
  public static final class Builder {

    private final Topology topology;
    private final Map<String, Object> settings;
    private KafkaClientSupplier clientSupplier;
    private StreamsUncaughtExceptionHandler exceptionHandler;
    private KafkaStreams.StateListener stateListener;

    private Builder(Topology topology, Map<String, ?> settings) {
      this.topology = Objects.requireNonNull(topology, "topology");
      this.settings = new HashMap<>(settings);
    }

    /** Makes the application's clients; Kafka's own by default. */
    public Builder clientSupplier(KafkaClientSupplier supplier) {
      this.clientSupplier = Objects.requireNonNull(supplier, "supplier");
      return this;
    }

    /**
     * Is told of what stops the client, on the stream thread. Its answer counts only when it is
     * SHUTDOWN_APPLICATION; otherwise the client alone is shut down.
     */
    public Builder uncaughtExceptionHandler(StreamsUncaughtExceptionHandler handler) {
      this.exceptionHandler = Objects.requireNonNull(handler, "handler");
      return this;
    }

    /** Is told of every change of state. */
    public Builder stateListener(KafkaStreams.StateListener listener) {
      this.stateListener = Objects.requireNonNull(listener, "listener");
      return this;
    }

    /**
     * Judges settings and topology, and makes the clients; asks the brokers nothing.
     *
     * @throws RefusalException SUBSTRATE_MISCONFIGURED: another processing guarantee than
     *     exactly_once_v2, an offset reset other than none, an exception handler that continues, or
     *     a causal node fed by a topic pattern, a repartition topic or another causal node
     * @throws ConfigException for a setting that is unknown or has a value that is not allowed
     * @throws IllegalArgumentException when the topology has no causal node
     */
    public CausalStreams build() {
      return new CausalStreams(this);
    }
  }
}
