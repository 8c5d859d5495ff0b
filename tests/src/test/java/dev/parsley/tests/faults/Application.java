package dev.parsley.tests.faults;

import dev.parsley.tests.harness.Await;
import dev.parsley.tests.harness.InProcessBroker;
import dev.parsley.tests.streams.Judge;
import dev.parsley.tests.streams.Scenario;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * An application under load whose instances are processes of their own. It does what an operator's
 * supervisor does: an instance that stops by itself is started again, unless it has refused, which
 * nothing here justifies. For one thread.
 */
final class Application implements AutoCloseable {

  /** Long enough for a few session and request timeouts, one after the other, on a busy machine. */
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  /** So often it may be started again; more is not what a supervisor puts up with. */
  private static final int FAILURES_MAX = 40;

  private static final String[] TOPICS = {"orders", "payments", "late"};

  final Scenario scenario;

  private final Tally tally;
  private final Feed feed;
  private final List<Instance> instances = new ArrayList<>();
  private int failures;

  /** On the broker that tests share. */
  Application(boolean transactionalStores, int partitions, Feed.Kind kind, Tally tally, long seed) {
    this(
        InProcessBroker.shared().bootstrapServers(),
        transactionalStores,
        partitions,
        kind,
        tally,
        seed);
  }

  Application(
      String bootstrapServers,
      boolean transactionalStores,
      int partitions,
      Feed.Kind kind,
      Tally tally,
      long seed) {
    this.tally = tally;
    this.scenario = new Scenario(bootstrapServers, transactionalStores, partitions, TOPICS);
    final List<String> topics = List.of(TOPICS).stream().map(scenario::topic).toList();
    this.feed = Feed.start(scenario, topics, partitions, kind, tally, seed);
  }

  /** Starts one more instance. */
  Instance join(Map<String, String> settings) {
    final Instance instance = instance(settings, Map.of());
    instance.start();
    return instance;
  }

  /** One more instance, which the caller starts before it waits for anything. */
  Instance instance(Map<String, String> settings, Map<String, String> environment) {
    final Instance instance = new Instance(scenario, settings, environment);
    instances.add(instance);
    return instance;
  }

  /** Closes an instance in good order and leaves it so. */
  void leave(Instance instance) {
    instances.remove(instance);
    instance.stop();
  }

  /** Kills an instance, which the caller then starts again. */
  void kill(Instance instance) {
    instance.kill();
    tally.fault(Tally.KILL);
  }

  /** Kills an instance and leaves it so. */
  void lose(Instance instance) {
    instances.remove(instance);
    kill(instance);
  }

  /** Waits for a condition, and has the instances go on meanwhile. */
  void await(Callable<Boolean> condition, String description) {
    Await.until(
        () -> {
          supervise();
          return condition.call();
        },
        PATIENCE,
        () -> description + "; " + feed.progress() + "; instances said " + said());
  }

  void awaitRunning(Instance instance) {
    await(instance::isRunning, instance.name + " runs");
  }

  int copies() {
    return feed.copies();
  }

  /** Waits until so many more copies are committed. */
  void awaitCopies(int more) {
    final int copies = feed.copies() + more;
    await(() -> feed.copies() >= copies, more + " more copies");
  }

  /** Waits until so many more copies are committed of each partition. */
  void awaitCopiesOfEach(int more) {
    final int[] before = feed.copiesByPartition();
    await(
        () -> {
          final int[] now = feed.copiesByPartition();
          return IntStream.range(0, now.length).allMatch(each -> now[each] >= before[each] + more);
        },
        more + " more copies of each partition");
  }

  /** Whether the group counts the instance as one of its own. */
  boolean isMember(Instance instance) throws InterruptedException {
    try {
      return scenario
          .cluster
          .admin()
          .describeConsumerGroups(List.of(scenario.applicationId))
          .describedGroups()
          .get(scenario.applicationId)
          .get()
          .members()
          .stream()
          .anyMatch(member -> member.clientId().startsWith(instance.name));
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Whether any instance has a transaction open. */
  boolean isInTransaction() throws InterruptedException {
    try {
      return scenario.cluster.admin().listTransactions().all().get().stream()
          .filter(each -> each.transactionalId().startsWith(scenario.applicationId))
          .anyMatch(each -> each.state() == TransactionState.ONGOING);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /**
   * Lets all that was begun come to its end, stops everything, and judges it; also what there is
   * when it does not come to an end.
   */
  void finish() {
    feed.end();
    try {
      await(feed::isDone, "all is copied");
    } finally {
      judge();
    }
  }

  private void judge() {
    List.copyOf(instances).forEach(this::leave);
    final List<ConsumerRecord<byte[], byte[]>> fed = scenario.fed();
    tally.records(fed.size());
    tally.violations(new Judge(scenario.topicIds).violations(fed, scenario.copies()));
  }

  private void supervise() {
    for (Instance instance : List.copyOf(instances)) {
      if (!instance.isAlive()) {
        instance.refusal().ifPresent(tally::refusal);
        final String reason = instance.failure().orElse("no reason; it said " + instance.lines());
        if (instance.refusal().isEmpty()) {
          tally.failure(reason);
        }
        if (++failures > FAILURES_MAX) {
          throw new AssertionError(instance.name + " stops again and again: " + reason);
        }
        instance.startAgain();
      }
    }
  }

  private List<String> said() {
    return instances.stream().map(instance -> instance.name + instance.lines()).toList();
  }

  @Override
  public void close() {
    instances.forEach(Instance::kill);
    try (scenario) {
      feed.close();
    }
  }
}
