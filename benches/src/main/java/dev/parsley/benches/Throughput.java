package dev.parsley.benches;

import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.ChildBroker;
import dev.parsley.tests.harness.Cluster;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Records a second through a broker, exactly once, with the node and without it, in turn. The
 * broker is a process of its own on the same machine; both topologies read the same topic from its
 * start.
 */
final class Throughput {

  private static final int RECORDS = 1_000_000;
  private static final int WARM_UP = 250_000;
  private static final int ROUNDS = 5;

  /** Rounds that are not counted: the compiler is still at work in them. */
  private static final int ROUNDS_TO_WARM_UP = 2;

  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final String IN = "bench-in";

  private final Cluster cluster;
  private final Path directory;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private Throughput(Cluster cluster, Path directory) {
    this.cluster = cluster;
    this.directory = directory;
  }

  static void measure(Path directory) throws InterruptedException {
    try (ChildBroker broker = ChildBroker.start();
        Cluster cluster = new Cluster(broker.bootstrapServers())) {
      new Throughput(cluster, directory).compare();
    }
  }

  private void compare() throws InterruptedException {
    cluster.createTopic(IN, 1);
    produce();
    final double[] without = new double[ROUNDS];
    final double[] with = new double[ROUNDS];
    final double[] ratios = new double[ROUNDS];
    for (int round = -ROUNDS_TO_WARM_UP; round < ROUNDS; round++) {
      final Meter plain = runPlain(round);
      final Meter causal = runCausal(round);
      if (round >= 0) {
        without[round] = plain.perSecond;
        with[round] = causal.perSecond;
        ratios[round] = causal.perSecond / plain.perSecond;
        System.out.printf(
            "throughput     round %d: without %.0f/s, with %.0f/s, ratio %.2f; stream thread %.0f"
                + " and %.0f ns per record%n",
            round + 1,
            plain.perSecond,
            causal.perSecond,
            ratios[round],
            plain.threadNanos,
            causal.threadNanos);
      }
    }
    Arrays.sort(without);
    Arrays.sort(with);
    Arrays.sort(ratios);
    System.out.printf(
        "RESULT throughput without=%.0f/s with=%.0f/s ratio=%.2f (medians of %d, ratios %.2f to"
            + " %.2f)%n",
        without[ROUNDS / 2],
        with[ROUNDS / 2],
        ratios[ROUNDS / 2],
        ROUNDS,
        ratios[0],
        ratios[ROUNDS - 1]);
  }

  private void produce() {
    final Map<String, ?> settings = Map.of("linger.ms", 20, "batch.size", 262_144);
    try (KafkaProducer<byte[], byte[]> producer = cluster.newProducer(settings)) {
      for (int i = 0; i < RECORDS; i++) {
        final ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(IN, 0, new byte[] {1}, new byte[Workload.VALUE_BYTES]);
        record.headers().add(Causes.HEADER, Workload.causes(i));
        producer.send(record);
      }
      producer.flush();
    }
  }

  private Meter runPlain(int round) throws InterruptedException {
    final String out = out("plain", round);
    final Meter meter = new Meter();
    final Topology topology = new Topology();
    topology.addSource("in", new ByteArrayDeserializer(), new ByteArrayDeserializer(), IN);
    topology.addProcessor("forward", () -> new Counting(meter), "in");
    topology.addSink("out", out, new ByteArraySerializer(), new ByteArraySerializer(), "forward");
    final Properties settings = settings("plain", round);
    settings.put("auto.offset.reset", "earliest");
    try (KafkaStreams streams = new KafkaStreams(topology, settings)) {
      streams.start();
      return meter.await();
    }
  }

  private Meter runCausal(int round) throws InterruptedException {
    final String out = out("causal", round);
    final Meter meter = new Meter();
    final ProcessorSupplier<byte[], byte[], byte[], byte[]> node =
        Workload.node(IN).processing(() -> new Counting(meter));
    final Topology topology = new Topology();
    Causal.addSource(topology, "in", IN);
    topology.addProcessor("forward", node, "in");
    topology.addSink("out", out, new ByteArraySerializer(), new ByteArraySerializer(), "forward");
    try (CausalStreams streams = CausalStreams.of(topology, settings("causal", round))) {
      streams.start();
      return meter.await();
    }
  }

  private String out(String kind, int round) {
    final String topic = "bench-out-" + kind + "-" + (round + ROUNDS_TO_WARM_UP);
    cluster.createTopic(topic, 1);
    return topic;
  }

  private Properties settings(String kind, int round) {
    final Properties settings = new Properties();
    settings.put(
        StreamsConfig.APPLICATION_ID_CONFIG, "bench-" + kind + "-" + (round + ROUNDS_TO_WARM_UP));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrapServers());
    settings.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    return settings;
  }

  /** Times the records after the warm-up. Counted on the stream thread, awaited on another. */
  private static final class Meter {
    private final CountDownLatch done = new CountDownLatch(1);
    private int count;
    private long begin;
    private long beginThread;
    private volatile double perSecond;
    private volatile double threadNanos;

    void count() {
      count++;
      if (count == WARM_UP) {
        begin = System.nanoTime();
        beginThread = THREADS.getCurrentThreadCpuTime();
      } else if (count == RECORDS) {
        final double records = RECORDS - WARM_UP;
        perSecond = records / ((System.nanoTime() - begin) / 1e9);
        threadNanos = (THREADS.getCurrentThreadCpuTime() - beginThread) / records;
        done.countDown();
      }
    }

    Meter await() throws InterruptedException {
      if (!done.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("not all records came within " + PATIENCE);
      }
      return this;
    }
  }

  private static final class Counting extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
    private final Meter meter;

    Counting(Meter meter) {
      this.meter = meter;
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      context().forward(record);
      meter.count();
    }
  }
}
