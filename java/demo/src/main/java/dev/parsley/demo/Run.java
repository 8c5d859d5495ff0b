package dev.parsley.demo;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.ChildJvm;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Plays a workload once, with topics and processes of its own, and has the result judged. */
final class Run implements AutoCloseable {

  /** A service stopped by itself, or nothing moves any more: there is nothing to judge. */
  static final class FailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    FailedException(String message) {
      super(message);
    }
  }

  /**
   * Of the steps, those fed before the link to the far broker stalls. Kafka Streams holds a task
   * back until it has heard once from each of its partitions, so a stall from the start would show
   * Streams' own waiting.
   */
  private static final double FED_BEFORE_THE_STALL = 0.2;

  /** Of the steps, those fed before the kill. */
  private static final double FED_BEFORE_THE_KILL = 0.6;

  private static final Duration START_PATIENCE = Duration.ofSeconds(30);

  /** A run that shows nothing new for this long is over, and what is missing is lost. */
  private static final Duration QUIET_PATIENCE = Duration.ofSeconds(20);

  /** What the progress line calls the time in which nothing special happens. */
  private static final String FLOW = "records flow";

  private static final long FEED_NANOS = Duration.ofSeconds(8).toNanos();
  private static final long STEP_NANOS_MIN = Duration.ofMillis(1).toNanos();
  private static final long STEP_NANOS_MAX = Duration.ofMillis(100).toNanos();

  private final String name;
  private final boolean causal;
  private final boolean kill;
  private final Stage stage;
  private final Workload workload;
  private final Progress progress;
  private final Path directory;
  private final Map<String, ChildJvm> services = new LinkedHashMap<>();
  private final String output;
  private final KafkaConsumer<byte[], byte[]> outputReader;
  private int fed;
  private int seen;

  /**
   * @param directory for logs and state
   */
  Run(
      String name,
      boolean causal,
      boolean kill,
      Stage stage,
      Workload workload,
      Progress progress,
      Path directory) {
    this.name = name;
    this.causal = causal;
    this.kill = kill;
    this.stage = stage;
    this.workload = workload;
    this.progress = progress;
    this.directory = directory;
    this.output = name + "." + Services.SHIPMENTS;
    this.outputReader = stage.cluster().newConsumer();
  }

  Outcome play() {
    workload.createTopics(stage);
    stage.createNear(output);
    final TopicPartition partition = new TopicPartition(output, 0);
    outputReader.assign(List.of(partition));
    outputReader.seekToBeginning(List.of(partition));

    workload.services(template(false)).forEach(this::start);
    start(lastService(1));
    awaitRunning("services start");

    OptionalInt heldAtKill = OptionalInt.empty();
    if (kill) {
      feedUpTo((int) Math.ceil(workload.steps() * FED_BEFORE_THE_STALL), FLOW);
      awaitSeen(FLOW);
      stage.farLink().stall();
      progress.say("killed: the slow link stalls, so the last service holds what waits for it");
      feedUpTo((int) Math.ceil(workload.steps() * FED_BEFORE_THE_KILL), "the link stalls");
      awaitTakenIn();
      services.get(Services.SHIPMENTS).kill();
      heldAtKill = OptionalInt.of(takenInAndNotSeen());
      progress.say(
          "killed: kill -9, while it holds "
              + heldAtKill.getAsInt()
              + " records; it starts again, and the link goes on");
      stage.farLink().goOn();
      start(lastService(2));
      awaitRunning("restart after kill");
    }
    final String last = kill ? "after the restart" : FLOW;
    feedUpTo(workload.steps(), last);
    awaitSeen(last);
    closeServices();
    return Judge.judge(name, workload.placed(), sightings(), heldAtKill);
  }

  @Override
  public void close() {
    stage.farLink().goOn();
    outputReader.close();
    workload.close();
    closeServices();
  }

  private ServiceMain.Settings template(boolean throughTheLinks) {
    return new ServiceMain.Settings(
        "",
        causal,
        1,
        name,
        stage.bootstrapServers(throughTheLinks),
        directory.resolve("state").toString(),
        List.of(),
        "");
  }

  private ServiceMain.Settings lastService(int life) {
    final ServiceMain.Settings settings =
        template(true).as(Services.SHIPMENTS, workload.topics(), output);
    return life == 1 ? settings : settings.again(life);
  }

  private void start(ServiceMain.Settings settings) {
    final Path log = log(settings.name());
    services.put(
        settings.name(),
        ChildJvm.start(
            ServiceMain.class,
            List.of(
                "-Xmx192m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.logFile=" + log),
            settings.toArguments(),
            Optional.of(log)));
  }

  private Path log(String service) {
    return directory.resolve(name + "-" + service + ".log");
  }

  private void awaitRunning(String phase) {
    Await.until(
        () -> {
          show(phase);
          return services.values().stream()
              .allMatch(service -> service.lastLine(ServiceMain.RUNNING).isPresent());
        },
        START_PATIENCE,
        () -> "all services of the run '" + name + "' run; their logs are in " + directory);
  }

  private void feedUpTo(int steps, String phase) {
    final long stepNanos =
        Math.max(
            STEP_NANOS_MIN, Math.min(STEP_NANOS_MAX, FEED_NANOS / Math.max(1, workload.steps())));
    long due = System.nanoTime();
    for (; fed < steps; fed++) {
      workload.feed(fed);
      due += stepNanos;
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      show(phase);
    }
  }

  /** Until the last service has taken in, and committed, all that came over the fast link. */
  private void awaitTakenIn() {
    final int expected = workload.nearRecords(fed);
    Await.until(
        () -> {
          show("the link stalls");
          return workload.nearTopics().stream().mapToInt(topic -> takenIn(topic).size()).sum()
              >= expected;
        },
        START_PATIENCE,
        () ->
            "the last service takes in the "
                + expected
                + " records on the near broker; it has committed "
                + stage.cluster().committedOffsets(lastService(1).application()));
  }

  /** The offsets of records that the last service has committed as read. */
  private List<Long> takenIn(String topic) {
    final long committed =
        stage
            .cluster()
            .committedOffsets(lastService(1).application())
            .getOrDefault(new TopicPartition(topic, 0), 0L);
    return stage.cluster().readCommitted(topic).stream()
        .map(ConsumerRecord::offset)
        .filter(offset -> offset < committed)
        .toList();
  }

  /** What a killed service owes: read positions say that it has these, its output lacks them. */
  private int takenInAndNotSeen() {
    final Set<String> seenPlaces = new HashSet<>();
    sightings().forEach(seen -> seenPlaces.add(seen.topic() + "@" + seen.offset()));
    int count = 0;
    for (String topic : workload.topics()) {
      for (long offset : takenIn(topic)) {
        count += seenPlaces.contains(topic + "@" + offset) ? 0 : 1;
      }
    }
    return count;
  }

  /** Until the last service has processed all that was fed, or shows nothing new any more. */
  private void awaitSeen(String phase) {
    final int expected = workload.records(fed);
    long deadline = System.nanoTime() + QUIET_PATIENCE.toNanos();
    while (seen < expected && System.nanoTime() < deadline) {
      final int more = outputReader.poll(Duration.ofMillis(100)).count();
      if (more > 0) {
        seen += more;
        deadline = System.nanoTime() + QUIET_PATIENCE.toNanos();
      }
      show(phase);
    }
  }

  private List<Sighting> sightings() {
    return stage.cluster().readCommitted(output).stream()
        .map(record -> Sighting.decode(new String(record.value(), StandardCharsets.UTF_8)))
        .toList();
  }

  /** Shows where the run is, and stops it when a service has stopped. */
  private void show(String what) {
    services.forEach(this::requireAlive);
    final String[] status =
        Optional.ofNullable(services.get(Services.SHIPMENTS))
            .flatMap(service -> service.lastLine(ServiceMain.STATUS))
            .orElse(ServiceMain.STATUS + "0 0")
            .split(" ");
    final long arrived = Long.parseLong(status[1]);
    final long processed = Long.parseLong(status[2]);
    progress.show(
        String.format(
            "%-8s %-20s fed %d/%d  processed %d/%d  waiting %d",
            name,
            what,
            fed,
            workload.steps(),
            processed,
            workload.records(workload.steps()),
            Math.max(0, arrived - processed)));
  }

  private void requireAlive(String service, ChildJvm process) {
    final Optional<String> failed = process.lastLine(ServiceMain.FAILED);
    if (failed.isPresent() || !process.isAlive()) {
      throw new FailedException(
          "the service "
              + service
              + " of the run '"
              + name
              + "' stopped: "
              + failed.map(line -> line.substring(ServiceMain.FAILED.length())).orElse("no reason")
              + "\nIts log: "
              + log(service));
    }
  }

  private void closeServices() {
    new ArrayList<>(services.values()).parallelStream().forEach(ChildJvm::close);
    services.clear();
  }
}
