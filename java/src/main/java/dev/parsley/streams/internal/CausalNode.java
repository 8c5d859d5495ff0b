package dev.parsley.streams.internal;

import dev.parsley.streams.ParsleyConfig;
import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.Punctuator;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * The causal node of one task: takes in records as bytes, lets the native engine judge them by
 * their causes, and hands those that are delivered to the application's processor.
 *
 * <p>Owned by Kafka Streams, used by the task's stream thread only. Its life: {@link #init} opens
 * an execution over the restored store and then initialises the application's processor; {@link
 * #process} and punctuations are its steps; {@link #close} closes the application's processor. The
 * engine stays until the store is closed or the node initialised again, because Kafka Streams
 * closes processors before it flushes the stores for the last commit.
 */
final class CausalNode<K, V, KOut, VOut> implements Processor<byte[], byte[], KOut, VOut> {

  /**
   * Holds that a restart made deliverable wait for the next step, since nothing may be delivered
   * from {@link #init}. This soon, one is made for them.
   */
  private static final Duration RESTART_DRAIN_DELAY = Duration.ofMillis(10);

  private final NodeSettings<K, V> settings;
  private final Processor<K, V, KOut, VOut> application;
  private final ReceivedHeaders headers = new ReceivedHeaders();

  // All of one execution, set by init.
  private ProcessorContext<KOut, VOut> context;
  private KafkaInternals internals;
  private TopicDirectory directory;
  private Execution execution;
  private List<ReceivedTopic<K, V>> received;
  private Map<String, Integer> channels;
  private String channelTopic;
  private int channel;
  private int partition;
  private long stagedBytesMax;
  private boolean drainDue;
  private HoldMetrics metrics;

  CausalNode(NodeSettings<K, V> settings, Processor<K, V, KOut, VOut> application) {
    this.settings = settings;
    this.application = application;
  }

  @Override
  public void init(ProcessorContext<KOut, VOut> opened) {
    context = opened;
    internals = KafkaInternals.of(opened);
    final Map<String, Object> appConfigs = opened.appConfigs();
    final ParsleyConfig config = ParsleyConfig.of(appConfigs);
    Substrate.require(appConfigs);
    requireFedAsDeclared(config);
    stagedBytesMax = config.stagedBytesMax();
    closeDirectory(); // Of an initialisation that failed, after which nobody calls close.
    closeMetrics();
    directory =
        settings.directory() != null
            ? settings.directory()
            : BrokerTopicDirectory.acquire(opened.applicationId(), appConfigs);
    try {
      open(config);
      application.init(new CausalContext<>(opened, execution, settings.storeNames(), this::asStep));
      execution.rethrow();
    } catch (RuntimeException e) {
      closeDirectory();
      throw e;
    }
    metrics = HoldMetrics.of(opened, settings.name(), received, execution.heldCounts());
    drainDue = execution.heldCount() > 0;
    if (drainDue) {
      scheduleRestartDrain();
    }
  }

  private void open(ParsleyConfig config) {
    final CausalStore store = KafkaInternals.unwrap(context.getStateStore(settings.storeName()));
    partition = context.taskId().partition();
    final NodeOpening.Opened<K, V> opened =
        new NodeOpening<>(settings, directory, store, partition)
            .open(settings.budgetBytes().orElse(config.budgetBytes()));
    execution = opened.execution();
    received = opened.received();
    channels = new HashMap<>();
    received.forEach(topic -> channels.put(topic.name(), channels.size()));
    channelTopic = null;
    store.attach(execution);
    ReadPositions.begin(context, opened.committed());
  }

  /** The launcher tells which topics reach the node; what is declared must be the same. */
  private void requireFedAsDeclared(ParsleyConfig config) {
    config
        .fedTopics(settings.name())
        .ifPresent(
            fed ->
                TopologyInternals.requireFedAsDeclared(
                    settings.name(), settings.topicNames(), fed));
  }

  private void scheduleRestartDrain() {
    final Cancellable[] scheduled = new Cancellable[1];
    scheduled[0] =
        context.schedule(
            RESTART_DRAIN_DELAY,
            PunctuationType.WALL_CLOCK_TIME,
            now -> {
              scheduled[0].cancel();
              execution.rethrow();
              drainIfDue();
            });
  }

  @Override
  public void process(Record<byte[], byte[]> record) {
    execution.rethrow();
    try {
      step(record);
    } catch (RuntimeException e) {
      execution.breakOff(e);
      throw e;
    }
  }

  private void step(Record<byte[], byte[]> record) {
    final RecordContext arrival = internals.recordContext();
    final int from = channelOf(arrival);
    headers.read(record.headers().toArray());
    final int answer =
        execution.receive(from, arrival.offset(), headers.causes(), headers.causesCount());
    switch (answer & ~NativeEngine.DRAIN) {
      case NativeEngine.DELIVERED:
        deliverCurrent(from, arrival, record);
        break;
      case NativeEngine.PENDING:
        drainOrHold(from, arrival, record);
        return;
      case NativeEngine.DUPLICATE:
        metrics.duplicate();
        break;
      default:
        throw new IllegalStateException("the engine answered " + answer + " to a record");
    }
    if ((answer & NativeEngine.DRAIN) != 0 || drainDue) {
      drain();
    }
  }

  /** Index of the channel a record came on. Mostly it is that of the record before. */
  private int channelOf(RecordContext arrival) {
    final String topic = arrival.topic();
    if (topic == null || !topic.equals(channelTopic)) {
      final Integer index = channels.get(topic);
      if (index == null) {
        throw execution.refuse(
            Substrate.misconfigured(
                "the causal node '"
                    + settings.name()
                    + "' was fed a record of a topic that it does not declare; add .topic(\""
                    + topic
                    + "\") to its builder, or take the topic off the sources above it",
                topic));
      }
      channelTopic = topic;
      channel = index;
    }
    if (arrival.partition() != partition) {
      throw execution.refuse(
          Substrate.misconfigured(
              "the causal node '"
                  + settings.name()
                  + "' of task partition "
                  + partition
                  + " was fed partition "
                  + arrival.partition()
                  + "; feed it straight from sources, so that each task gets the partition of its"
                  + " own number",
              topic));
    }
    return channel;
  }

  /** Delivers what is deliverable, the record at hand among it when its turn comes, or holds it. */
  private void drainOrHold(int from, RecordContext arrival, Record<byte[], byte[]> record) {
    // Delivering another record reads its headers into the same place.
    final RecordPart part =
        new RecordPart(record.timestamp(), record.key(), record.value(), headers.all());
    boolean delivered = false;
    int next = execution.next();
    while (next != NativeEngine.NONE) {
      if (next == NativeEngine.CURRENT) {
        delivered = true;
        headers.read(part.headers());
        deliverCurrent(from, arrival, record);
      } else {
        deliverHeld(next);
      }
      next = execution.next();
    }
    drainDue = false;
    if (!delivered) {
      execution.hold(part.encode());
      metrics.held(from);
      if (execution.uncommittedBytes() > stagedBytesMax) {
        context.commit();
      }
    }
  }

  /** Hands over what waited when no record has come since, or in front of the one that has. */
  private void drainIfDue() {
    if (drainDue) {
      fenced();
      drain();
    }
  }

  /**
   * A transaction without positions is fenced by nobody, and another instance, which took this
   * one's place while it stood still, may have made the same step.
   */
  private void fenced() {
    internals.commitPositions(settings.storeName());
  }

  private void drain() {
    int next = execution.next();
    while (next != NativeEngine.NONE) {
      deliverHeld(next);
      next = execution.next();
    }
    drainDue = false;
  }

  private void deliverHeld(int next) {
    if (next != NativeEngine.HELD) {
      throw new IllegalStateException("the engine answered " + next + " where nothing is at hand");
    }
    final ByteBuffer in = ByteBuffer.wrap(execution.released());
    final int from = in.getInt();
    metrics.released(from);
    final ReceivedTopic<K, V> topic = received.get(from);
    final long offset = in.getLong();
    final RecordPart part = decoded(in, topic, offset);
    headers.read(part.headers());
    final Record<K, V> typed =
        typed(topic, offset, part.timestamp(), part.key(), part.value(), headers.visible());
    final RecordContext before = internals.recordContext();
    internals.enter(part.timestamp(), topic.name(), partition, offset, typed.headers());
    handOver(typed, before);
  }

  private RecordPart decoded(ByteBuffer in, ReceivedTopic<K, V> topic, long offset) {
    final RecordPart part;
    try {
      part = RecordPart.decode(in);
    } catch (IllegalArgumentException e) {
      throw unreadable(topic, offset, e.getMessage(), e);
    }
    if (part.timestamp() < 0) { // Rows of version 1 may have it, from records without a time.
      throw unreadable(
          topic,
          offset,
          "a held record has the timestamp "
              + part.timestamp()
              + ", and Kafka Streams hands over no record with a negative one",
          null);
    }
    return part;
  }

  private RefusalException unreadable(
      ReceivedTopic<K, V> topic, long offset, String detail, Throwable cause) {
    return execution.refuse(
        new RefusalException(
            RefusalReason.UNKNOWN_ORDERING_STATE_FORMAT,
            detail,
            topic.channel(),
            topic.name(),
            offset,
            null,
            cause));
  }

  private void deliverCurrent(int from, RecordContext arrival, Record<byte[], byte[]> record) {
    final Record<K, V> typed =
        typed(
            received.get(from),
            arrival.offset(),
            record.timestamp(),
            record.key(),
            record.value(),
            headers.visible());
    internals.enterWithHeaders(arrival, typed.headers());
    handOver(typed, arrival);
  }

  private Record<K, V> typed(
      ReceivedTopic<K, V> topic,
      long offset,
      long timestamp,
      byte[] key,
      byte[] value,
      Headers visible) {
    try {
      return new Record<>(
          topic.key(offset, visible, key), topic.value(offset, visible, value), timestamp, visible);
    } catch (RefusalException e) {
      throw execution.refuse(e);
    }
  }

  /**
   * The application's step, under the record's own context. The engine has marked the record
   * delivered by now.
   */
  private void handOver(Record<K, V> typed, RecordContext before) {
    try {
      application.process(typed);
    } finally {
      internals.leave(before);
    }
    execution.rethrow();
  }

  private Punctuator asStep(Punctuator punctuator) {
    return timestamp -> {
      execution.rethrow();
      final long before = execution.stamped();
      punctuator.punctuate(timestamp);
      execution.rethrow();
      if (execution.stamped() != before) {
        fenced();
      }
      drainIfDue();
    };
  }

  @Override
  public void close() {
    try {
      application.close();
    } finally {
      closeMetrics();
      closeDirectory();
    }
  }

  private void closeMetrics() {
    if (metrics != null) {
      metrics.close();
      metrics = null;
    }
  }

  private void closeDirectory() {
    if (directory != null && directory != settings.directory()) {
      directory.close();
    }
    directory = null;
  }
}
