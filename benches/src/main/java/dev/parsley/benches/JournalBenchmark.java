package dev.parsley.benches;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The Java API of the mutation journal, in memory, before a server that answers at once. One call
 * accepts or drains {@value #MUTATIONS} mutations on a store of its own.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 40)
@Measurement(iterations = 40)
@Fork(2)
public class JournalBenchmark {

  private static final int MUTATIONS = 2_000;
  private static final int KEYS_PER_NAMESPACE = 10;
  private static final String VALUE = "v".repeat(100);

  /** An empty store for each call. */
  @State(Scope.Thread)
  public static class Empty {

    /** Namespaces that the mutations go to, and lanes. */
    @Param({"1", "20"})
    public int namespaces;

    private OtherSide server;
    private JournalSide store;

    /** Opens the store. */
    @Setup(Level.Invocation)
    public void open() {
      server = new OtherSide(0);
      store = new JournalSide(server, null, namespaces);
    }

    /** Closes the store. */
    @TearDown(Level.Invocation)
    public void close() {
      store.close();
    }

    JournalSide store() {
      return store;
    }

    OtherSide server() {
      return server;
    }

    void accept() {
      for (int i = 0; i < MUTATIONS; i++) {
        final int key = i / namespaces % KEYS_PER_NAMESPACE;
        store.accept("n" + i % namespaces, "k" + key, VALUE);
      }
    }
  }

  /** A store with mutations for each call. */
  public static class Full extends Empty {

    /** Comes after the opening, which is the parent's. */
    @Setup(Level.Invocation)
    public void fill() {
      accept();
    }
  }

  /** {@code mutate}. */
  @Benchmark
  @OperationsPerInvocation(MUTATIONS)
  public void enqueue(Empty journal) {
    journal.accept();
  }

  /** {@code drainAll}. */
  @Benchmark
  @OperationsPerInvocation(MUTATIONS)
  public int drain(Full journal) {
    journal.store().drain();
    return journal.server().taken();
  }
}
