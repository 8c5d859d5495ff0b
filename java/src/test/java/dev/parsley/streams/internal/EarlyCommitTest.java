package dev.parsley.streams.internal;

import static dev.parsley.streams.internal.CausalDriver.ORDERS;
import static dev.parsley.streams.internal.CausalDriver.PAYMENTS;
import static dev.parsley.streams.internal.CausalDriver.afterOrder;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.streams.ParsleyConfig;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Set;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;
import org.junit.jupiter.api.Test;

/** What is staged between two commits is bounded. */
class EarlyCommitTest {

  private static final int BOUND_BYTES = 4096;

  private int commitsAsked;

  @Test
  void shouldAskForACommitWhenHoldsPassTheBound() {
    try (CausalDriver driver = driver()) {
      driver.pipe(PAYMENTS, "small", afterOrder(0));
      assertEquals(0, commitsAsked);

      driver.pipe(PAYMENTS, "x".repeat(BOUND_BYTES), null);
      assertEquals(1, commitsAsked);

      driver.pipe(PAYMENTS, "small", null);
      assertEquals(1, commitsAsked);
    }
  }

  @Test
  void shouldNotAskForACommitForWhatIsDeliveredAtOnce() {
    try (CausalDriver driver = driver()) {
      driver.pipe(ORDERS, "x".repeat(BOUND_BYTES), null);

      assertEquals(0, commitsAsked);
    }
  }

  private CausalDriver driver() {
    final ProcessorSupplier<byte[], byte[], String, String> node =
        CausalDriver.node()
            .processing(
                () ->
                    new ContextualProcessor<String, String, String, String>() {
                      @Override
                      public void process(Record<String, String> record) {}
                    });
    final ProcessorSupplier<byte[], byte[], String, String> counted =
        new ProcessorSupplier<>() {
          @Override
          public Processor<byte[], byte[], String, String> get() {
            return new Counted(node.get());
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return node.stores();
          }
        };
    return CausalDriver.of(
        CausalDriver.topology(counted),
        settings -> {
          settings.put(ParsleyConfig.STAGED_BYTES_MAX, String.valueOf(BOUND_BYTES));
          return settings;
        });
  }

  /** Gives the node a context that counts the commits it is asked for. */
  private final class Counted implements Processor<byte[], byte[], String, String> {
    private final Processor<byte[], byte[], String, String> node;

    Counted(Processor<byte[], byte[], String, String> node) {
      this.node = node;
    }

    @Override
    @SuppressWarnings("unchecked") // A proxy of what the context is.
    public void init(ProcessorContext<String, String> context) {
      node.init(
          (ProcessorContext<String, String>)
              Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  context.getClass().getSuperclass().getInterfaces(),
                  (proxy, method, arguments) -> {
                    if (method.getName().equals("commit")) {
                      commitsAsked++;
                    }
                    try {
                      return method.invoke(context, arguments);
                    } catch (InvocationTargetException e) {
                      throw e.getCause();
                    }
                  }));
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      node.process(record);
    }
  }
}
