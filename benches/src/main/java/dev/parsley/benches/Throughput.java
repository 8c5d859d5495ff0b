package dev.parsley.benches;

import com.sun.management.OperatingSystemMXBean;
import dev.parsley.streams.Causal;
import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.Causes;
import dev.parsley.tests.harness.ChildBroker;
import dev.parsley.tests.harness.Cluster;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
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
 * Records a second through a broker, exactly once, with the node and without it. The broker is a
 * process of its own on the same machine.
 *
 * <p>Both topologies read the same records from the start of the same topic, with the same serdes
 * and the same processor, which forwards what it gets, and send to one topic. The received causes
 * go along without the node too, so both send a header of about the same length. They run in pairs,
 * and each pair begins with the other one, so that what the machine does beside hits both alike;
 * what counts is the median of the pairs' ratios. CPU time beside it tells whether a difference is
 * the node's or the machine's.
 */
final class Throughput {

  private static final int RECORDS = 1_000_000;
  private static final int WARM_UP = 250_000;
  private static final int PAIRS = 9;

  /** Pairs that are not counted: the compiler is still at work in them. */
  private static final int PAIRS_TO_WARM_UP = 2;

  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final String IN = "bench-in";

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final OperatingSystemMXBean PROCESS =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final Cluster cluster;
  private final Path directory;

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
    final List<Meter> without = new ArrayList<>();
    final List<Meter> with = new ArrayList<>();
    for (int pair = -PAIRS_TO_WARM_UP; pair < PAIRS; pair++) {
      final boolean plainFirst = pair % 2 == 0;
      final Meter early = plainFirst ? runPlain(pair) : runCausal(pair);
      final Meter late = plainFirst ? runCausal(pair) : runPlain(pair);
      if (pair >= 0) {
        without.add(plainFirst ? early : late);
        with.add(plainFirst ? late : early);
        print(pair, without.get(pair), with.get(pair));
      }
    }
    final Spread ratio = ratios(with, without, meter -> meter.perSecond);
    final Spread thread = ratios(without, with, meter -> meter.threadNanos);
    final Spread process = ratios(without, with, meter -> meter.processNanos);
    System.out.printf(
        "throughput     the same ratio of CPU time: stream thread %s, whole process %s%n",
        thread, process);
    System.out.printf(
        "RESULT throughput without=%.0f/s with=%.0f/s ratio=%.3f quartiles=%.3f..%.3f pairs=%d%n",
        Spread.of(without.stream().mapToDouble(meter -> meter.perSecond)).median(),
        Spread.of(with.stream().mapToDouble(meter -> meter.perSecond)).median(),
        ratio.median(),
        ratio.low(),
        ratio.high(),
        PAIRS);
  }

  private static void print(int pair, Meter without, Meter with) {
    System.out.printf(
        "throughput     pair %d: without %.0f/s, with %.0f/s, ratio %.3f; CPU per record: stream"
            + " thread %.0f and %.0f ns, whole process %.0f and %.0f ns%n",
        pair + 1,
        without.perSecond,
        with.perSecond,
        with.perSecond / without.perSecond,
        without.threadNanos,
        with.threadNanos,
        without.processNanos,
        with.processNanos);
  }

  /** Of each pair. */
  private static Spread ratios(
      List<Meter> dividends, List<Meter> divisors, ToDoubleFunction<Meter> figure) {
    return Spread.of(
        IntStream.range(0, PAIRS)
            .mapToDouble(
                pair ->
                    figure.applyAsDouble(dividends.get(pair))
                        / figure.applyAsDouble(divisors.get(pair))));
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

  private Meter runPlain(int pair) throws InterruptedException {
    final String out = out("plain", pair);
    final Meter meter = new Meter();
    final Topology topology = new Topology();
    topology.addSource("in", new ByteArrayDeserializer(), new ByteArrayDeserializer(), IN);
    topology.addProcessor("forward", () -> new Counting(meter), "in");
    topology.addSink("out", out, new ByteArraySerializer(), new ByteArraySerializer(), "forward");
    final Properties settings = settings("plain", pair);
    settings.put("auto.offset.reset", "earliest");
    try (KafkaStreams streams = new KafkaStreams(topology, settings)) {
      streams.start();
      return meter.await();
    }
  }

  private Meter runCausal(int pair) throws InterruptedException {
    final String out = out("causal", pair);
    final Meter meter = new Meter();
    final ProcessorSupplier<byte[], byte[], byte[], byte[]> node =
        Workload.node(IN).processing(() -> new Counting(meter));
    final Topology topology = new Topology();
    Causal.addSource(topology, "in", IN);
    topology.addProcessor("forward", node, "in");
    topology.addSink("out", out, new ByteArraySerializer(), new ByteArraySerializer(), "forward");
    try (CausalStreams streams = CausalStreams.of(topology, settings("causal", pair))) {
      streams.start();
      return meter.await();
    }
  }

  private String out(String kind, int pair) {
    final String topic = "bench-out-" + kind + "-" + (pair + PAIRS_TO_WARM_UP);
    cluster.createTopic(topic, 1);
    return topic;
  }

  private Properties settings(String kind, int pair) {
    final Properties settings = new Properties();
    settings.put(
        StreamsConfig.APPLICATION_ID_CONFIG, "bench-" + kind + "-" + (pair + PAIRS_TO_WARM_UP));
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
    private long beginProcess;
    private volatile double perSecond;
    private volatile double threadNanos;
    private volatile double processNanos;

    void count() {
      count++;
      if (count == WARM_UP) {
        begin = System.nanoTime();
        beginThread = THREADS.getCurrentThreadCpuTime();
        beginProcess = PROCESS.getProcessCpuTime();
      } else if (count == RECORDS) {
        final double records = RECORDS - WARM_UP;
        perSecond = records / ((System.nanoTime() - begin) / 1e9);
        threadNanos = (THREADS.getCurrentThreadCpuTime() - beginThread) / records;
        processNanos = (PROCESS.getProcessCpuTime() - beginProcess) / records;
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
