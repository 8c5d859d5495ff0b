package dev.parsley.tests.faults;

import dev.parsley.tests.harness.BrokerQuorum;
import dev.parsley.tests.harness.ChildBroker;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;

/** Ways to damage an application at work. Each ends with all records copied, and judges them. */
enum Trial {

  /** Instances are killed at random moments, with both kinds of stores, and start again. */
  KILLS(192) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      KillTrial.run(tally, seed, rounds);
    }
  },

  /** The clock of the process jumps, and the records' time with it. */
  CLOCKS(4) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      ClockTrial.run(tally, seed, rounds);
    }
  },

  /**
   * Three brokers, one of which at a time is killed or stands still; applications die meanwhile.
   */
  BROKERS(5) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      try (BrokerQuorum quorum = BrokerQuorum.start();
          Application application =
              new Application(
                  quorum.bootstrapServers(),
                  random.nextBoolean(),
                  3,
                  Feed.Kind.PLAIN,
                  tally,
                  seed)) {
        final Map<String, String> settings = Map.of("request.timeout.ms", "5000");
        final List<Instance> instances = new ArrayList<>();
        instances.add(application.join(settings));
        instances.add(application.join(settings));
        instances.forEach(application::awaitRunning);
        application.awaitCopiesOfEach(30);
        final Admin admin = application.scenario.cluster.admin();
        for (int round = 0; round < rounds; round++) {
          quorum.awaitInSync(admin);
          final boolean leader = random.nextBoolean();
          final ChildBroker broker =
              quorum.broker(leader ? quorum.controller(admin) : random.nextInt(BrokerQuorum.COUNT));
          final boolean kill = round % 2 == 0;
          if (kill) {
            broker.kill();
          } else {
            broker.pause();
          }
          if (random.nextBoolean()) {
            final Instance victim = instances.get(random.nextInt(instances.size()));
            application.kill(victim);
            victim.startAgain();
          }
          application.awaitCopiesOfEach(30);
          if (kill) {
            broker.startAgain();
          } else {
            broker.resume();
          }
          tally.fault(kill ? Tally.BROKER_KILL : Tally.BROKER_PAUSE);
          application.awaitCopiesOfEach(30);
        }
        application.finish();
      }
    }
  },

  /** Transactions time out and commits fail in the middle of a burst; so do those of producers. */
  TRANSACTIONS(6) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      try (Application application =
          new Application(random.nextBoolean(), 1, Feed.Kind.WITH_ABORTED_BURSTS, tally, seed)) {
        final Instance instance =
            application.join(Map.of("producer.transaction.timeout.ms", "1500"));
        for (int round = 0; round < rounds; round++) {
          application.awaitCopies(20 + random.nextInt(60));
          if (round % 2 == 0) {
            instance.forget();
            instance.send(FaultyInstance.STALL);
            application.await(
                () -> instance.has(FaultyInstance.STALLED) && application.isInTransaction(),
                "the processor stands still in a transaction");
            application.await(() -> !application.isInTransaction(), "the brokers abort it");
            instance.send(FaultyInstance.GO);
            tally.fault(Tally.TRANSACTION_TIMEOUT);
          } else {
            instance.send(FaultyInstance.FAIL + 1);
            tally.fault(Tally.COMMIT_FAILURE);
          }
        }
        application.awaitCopies(50);
        application.finish();
      }
    }
  },

  /** An instance stands still until others have its place, and wakes up then. */
  ZOMBIES(3) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      try (Application application =
          new Application(random.nextBoolean(), 2, Feed.Kind.PLAIN, tally, seed)) {
        final List<Instance> instances =
            List.of(application.join(Map.of()), application.join(Map.of()));
        instances.forEach(application::awaitRunning);
        for (int round = 0; round < rounds; round++) {
          application.awaitCopies(20 + random.nextInt(60));
          final Instance zombie = instances.get(random.nextInt(2));
          zombie.forget();
          zombie.pause();
          application.await(() -> !application.isMember(zombie), "the group gives it up");
          application.awaitCopiesOfEach(30); // The other one has its place.
          zombie.resume();
          tally.fault(Tally.ZOMBIE);
          application.await(() -> application.isMember(zombie), "it finds back into the group");
          application.awaitCopiesOfEach(30);
        }
        application.finish();
      }
    }
  },

  /** An instance takes longer over a record than it may stay away from the group. */
  SLOW_CONSUMERS(2) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      final Map<String, String> impatient = Map.of("max.poll.interval.ms", "4000");
      try (Application application =
          new Application(random.nextBoolean(), 2, Feed.Kind.PLAIN, tally, seed)) {
        final List<Instance> instances =
            List.of(application.join(impatient), application.join(impatient));
        instances.forEach(application::awaitRunning);
        for (int round = 0; round < rounds; round++) {
          application.awaitCopies(20 + random.nextInt(60));
          final Instance slow = instances.get(round % 2);
          slow.forget();
          slow.send(FaultyInstance.STALL);
          application.await(() -> slow.has(FaultyInstance.STALLED), "it stands still");
          application.await(() -> !application.isMember(slow), "it leaves the group");
          application.awaitCopiesOfEach(30); // The other one has its place.
          slow.send(FaultyInstance.GO);
          tally.fault(Tally.POLL_TIMEOUT);
          application.await(() -> application.isMember(slow), "it finds back into the group");
          application.awaitCopiesOfEach(30);
        }
        application.finish();
      }
    }
  },

  /** Tasks move between instances with standbys, which join, leave and are killed. */
  MIGRATIONS(4) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      final Map<String, String> withStandbys = Map.of("num.standby.replicas", "1");
      try (Application application =
          new Application(random.nextBoolean(), 2, Feed.Kind.PLAIN, tally, seed)) {
        final List<Instance> instances = new ArrayList<>();
        instances.add(application.join(withStandbys));
        for (int round = 0; round < rounds; round++) {
          final Instance joining = application.join(withStandbys);
          instances.add(joining);
          tally.fault(Tally.MIGRATION);
          application.awaitRunning(joining);
          application.awaitCopiesOfEach(30);
          final Instance leaving = instances.remove(random.nextInt(instances.size()));
          if (random.nextBoolean()) {
            application.lose(leaving);
          } else {
            application.leave(leaving);
            tally.fault(Tally.MIGRATION);
          }
          application.awaitCopiesOfEach(30);
        }
        application.finish();
      }
    }
  },

  /** 64 tasks, and instances that join and are killed. */
  WIDE(3) {
    @Override
    void run(Tally tally, long seed, int rounds) {
      final Random random = new Random(seed);
      final Map<String, String> threads = Map.of("num.stream.threads", "2");
      try (Application application =
          new Application(random.nextBoolean(), 64, Feed.Kind.PLAIN, tally, seed)) {
        final List<Instance> instances = new ArrayList<>();
        instances.add(application.join(threads));
        application.awaitRunning(instances.get(0));
        for (int round = 0; round < rounds; round++) {
          instances.add(application.join(threads));
          tally.fault(Tally.MIGRATION);
          application.awaitCopies(1 + random.nextInt(400));
          application.lose(instances.remove(random.nextInt(instances.size())));
        }
        application.finish();
      }
    }
  };

  /** How often it does damage in the short form. */
  final int shortRounds;

  Trial(int shortRounds) {
    this.shortRounds = shortRounds;
  }

  /**
   * @param rounds how often it does damage
   * @throws AssertionError when the application does not get over it
   */
  abstract void run(Tally tally, long seed, int rounds);
}
