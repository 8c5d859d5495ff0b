package dev.parsley.benches;

import com.gruelbox.transactionoutbox.Dialect;
import com.gruelbox.transactionoutbox.Instantiator;
import com.gruelbox.transactionoutbox.Persistor;
import com.gruelbox.transactionoutbox.Submitter;
import com.gruelbox.transactionoutbox.TransactionManager;
import com.gruelbox.transactionoutbox.TransactionOutbox;
import com.gruelbox.transactionoutbox.TransactionOutboxEntry;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcConnectionPool;

/**
 * gruelbox transaction-outbox on H2 before {@link OtherSide}. For one thread.
 *
 * <p>Its version has no order of its own, so a namespace that must keep its order has one thread,
 * which is what a user of it would do; the order then holds until a process dies or a push fails.
 */
final class OutboxSide implements Drained {

  /** How entries come to threads. */
  enum Way {
    /** At their commit, to the one thread of their namespace: in order in good weather. */
    LANES,
    /** At their commit, to whichever thread is free: in no order. */
    POOL,
    /** By a flush, as after a restart, to whichever thread is free: in no order. */
    FLUSH
  }

  /** How durable a commit is. */
  enum Durability {
    /** Gone with the process. */
    MEMORY,
    /** H2's default: written within half a second, so a crash takes the last commits. */
    LATER,
    /** Synced when it returns, as the journal's are. */
    SYNCED
  }

  /** The library's own default. */
  private static final int FLUSH_BATCH = 4096;

  private static final Duration ATTEMPT_EVERY = Duration.ofMinutes(2);
  private static final AtomicInteger DATABASES = new AtomicInteger();

  private final Way way;
  private final JdbcConnectionPool pool;
  private final TransactionManager transactions;
  private final TransactionOutbox outbox;
  private final List<ExecutorService> threads = new ArrayList<>();

  /** Which of the threads a namespace has. Entries are handed over by one thread at a time. */
  private final Map<Object, Integer> laneOf = new HashMap<>();

  private final CountDownLatch drained = new CountDownLatch(1);

  /** Entries that are not done and committed as that. */
  private final AtomicInteger left = new AtomicInteger();

  private final CountDownLatch opened = new CountDownLatch(1);
  private volatile boolean later;

  /** What is called for each entry. */
  public static class Target {

    private final OtherSide server;

    Target(OtherSide server) {
      this.server = server;
    }

    /** Public and of plain types, since the call is kept as text. */
    public void push(String namespace, String key, int number, String value) {
      server.take(namespace, key, number);
    }
  }

  OutboxSide(OtherSide server, Path directory, Durability durability, Way way, int threadCount) {
    this.way = way;
    pool = JdbcConnectionPool.create(url(directory, durability), "sa", "");
    pool.setMaxConnections(threadCount + 1);
    transactions =
        TransactionManager.fromDataSource(
            durability == Durability.SYNCED ? synced(pool) : (DataSource) pool);
    for (int i = 0; i < (way == Way.LANES ? threadCount : 1); i++) {
      threads.add(Executors.newFixedThreadPool(way == Way.LANES ? 1 : threadCount));
    }
    outbox =
        TransactionOutbox.builder()
            .transactionManager(transactions)
            .persistor(Persistor.forDialect(Dialect.H2))
            .instantiator(Instantiator.using(type -> new Target(server)))
            .attemptFrequency(ATTEMPT_EVERY)
            .flushBatchSize(FLUSH_BATCH)
            // Entries are due for a flush only two minutes after their commit.
            .clockProvider(
                () ->
                    later
                        ? Clock.offset(Clock.systemUTC(), ATTEMPT_EVERY.multipliedBy(2))
                        : Clock.systemUTC())
            .submitter((Submitter) this::submit)
            .build();
  }

  private static String url(Path directory, Durability durability) {
    final String name = "outbox" + DATABASES.incrementAndGet();
    return durability == Durability.MEMORY
        ? "jdbc:h2:mem:" + name
        : "jdbc:h2:file:"
            + directory.resolve(name)
            + (durability == Durability.SYNCED ? ";WRITE_DELAY=0" : "");
  }

  /** Connections whose commits are synced: H2 writes at a commit, but syncs only when told to. */
  private static DataSource synced(DataSource plain) {
    return proxy(
        DataSource.class,
        plain,
        result -> result instanceof Connection ? synced((Connection) result) : result,
        null);
  }

  private static Connection synced(Connection plain) {
    return proxy(Connection.class, plain, result -> result, () -> sync(plain));
  }

  private static void sync(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("CHECKPOINT SYNC");
    }
  }

  private interface AfterCommit {
    void run() throws SQLException;
  }

  private static <T> T proxy(
      Class<T> type, T plain, UnaryOperator<Object> results, AfterCommit after) {
    return type.cast(
        Proxy.newProxyInstance(
            OutboxSide.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              try {
                final Object result = results.apply(method.invoke(plain, arguments));
                if (after != null && method.getName().equals("commit")) {
                  after.run();
                }
                return result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  private void submit(TransactionOutboxEntry entry, Consumer<TransactionOutboxEntry> work) {
    if (way == Way.FLUSH && !later) {
      return; // Left for the flush.
    }
    final Object namespace = entry.getInvocation().getArgs()[0];
    threads
        .get(way == Way.LANES ? lane(namespace) : 0)
        .execute(
            () -> {
              try {
                opened.await();
              } catch (InterruptedException e) {
                return; // Closed before it was opened.
              }
              work.accept(entry);
              if (left.decrementAndGet() == 0) {
                drained.countDown();
              }
            });
  }

  private int lane(Object namespace) {
    final int next = laneOf.size();
    final Integer lane = laneOf.putIfAbsent(namespace, next);
    return lane == null ? next : lane;
  }

  @Override
  public void accept(String namespace, String key, String value) {
    final int number = left.incrementAndGet();
    transactions.inTransaction(
        () -> outbox.schedule(Target.class).push(namespace, key, number, value));
  }

  @Override
  public void drain() throws InterruptedException {
    later = true;
    opened.countDown();
    if (way == Way.FLUSH) {
      while (outbox.flush()) {
        // Each flush hands a batch to the threads; it answers whether there was anything.
      }
    }
    drained.await();
  }

  @Override
  public void close() {
    opened.countDown();
    threads.forEach(ExecutorService::shutdownNow);
    try {
      for (ExecutorService executor : threads) {
        executor.awaitTermination(10, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    pool.dispose();
  }
}
