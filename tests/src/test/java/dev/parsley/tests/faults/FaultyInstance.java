package dev.parsley.tests.faults;

import dev.parsley.streams.CausalStreams;
import dev.parsley.streams.RefusalException;
import dev.parsley.tests.streams.CopyingNode;
import dev.parsley.tests.streams.FencedClients;
import dev.parsley.tests.streams.Origin;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The process of an {@link Instance}. Arguments: the output topic, the received topics with commas
 * between them, the number of the copy after which it says so, and the settings as {@code
 * key=value}. It tells in lines what it has come to, obeys the lines it is sent, closes when its
 * input ends, and ends by itself when its client has stopped.
 */
final class FaultyInstance {

  /** The JVM is up. */
  static final String ENTERED = "entered";

  /** The client is starting; a state follows each time it changes. */
  static final String STARTED = "started";

  static final String STATE = "state ";

  static final String RUNNING = STATE + "RUNNING";

  /** The copy whose number was given has been forwarded, and is not committed yet. */
  static final String COPIED = "copied";

  /** A copy stands in the processor until {@link #GO} comes; its number follows. */
  static final String STALLED = "stalled ";

  /** It has stopped by itself; the reason follows. */
  static final String REFUSED = "refused ";

  static final String FAILED = "failed ";

  /** To be sent: stand still in the processor after the next copy. */
  static final String STALL = "stall";

  static final String GO = "go";

  /** To be sent with a number: let so many commits fail after all was sent. */
  static final String FAIL = "fail ";

  /** To be sent, and the answer, with the milliseconds that its clock shows behind it. */
  static final String CLOCK = "clock";

  private static final int FAILED_STATUS = 3;

  private final long told;
  private final AtomicLong copied = new AtomicLong();
  private final FencedClients clients = new FencedClients();
  private final AtomicReference<CountDownLatch> gate = new AtomicReference<>();
  private CausalStreams instance;

  private FaultyInstance(long told) {
    this.told = told;
  }

  public static void main(String[] arguments) throws Exception {
    System.out.println(ENTERED);
    final Map<String, String> settings = new HashMap<>();
    for (String setting : List.of(arguments).subList(3, arguments.length)) {
      final int middle = setting.indexOf('=');
      settings.put(setting.substring(0, middle), setting.substring(middle + 1));
    }
    final FaultyInstance process = new FaultyInstance(Long.parseLong(arguments[2]));
    process.run(arguments[0], List.of(arguments[1].split(",")), settings);
  }

  private void run(String output, List<String> topics, Map<String, String> settings)
      throws InterruptedException {
    instance =
        CausalStreams.builder(CopyingNode.topology(topics, output, this::onCopy), settings)
            .clientSupplier(clients)
            .stateListener((now, before) -> System.out.println(STATE + now))
            .build();
    final Thread obeying = new Thread(this::obey, "commands");
    obeying.setDaemon(true);
    obeying.start();
    try {
      instance.start();
      System.out.println(STARTED);
      instance.awaitStopped();
    } catch (RuntimeException e) {
      tell(e);
    }
    instance.failure().ifPresent(FaultyInstance::tell);
    // Not an exit: what the client has still running would keep a stopped application alive.
    Runtime.getRuntime().halt(instance.failure().isPresent() ? FAILED_STATUS : 0);
  }

  private static void tell(Throwable failure) {
    Optional<Throwable> refusal = Optional.of(failure);
    while (refusal.isPresent() && !(refusal.get() instanceof RefusalException)) {
      refusal = Optional.ofNullable(refusal.get().getCause());
    }
    System.out.println(
        refusal.isPresent()
            ? REFUSED + refusal.get().getMessage()
            : FAILED + String.valueOf(failure).replace('\n', ' '));
  }

  /** On the stream thread. */
  private void onCopy(Origin origin) {
    final long number = copied.incrementAndGet();
    if (number == told) {
      System.out.println(COPIED);
    }
    final CountDownLatch stall = gate.get();
    if (stall != null) {
      System.out.println(STALLED + number);
      try {
        stall.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void obey() {
    try (BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        if (line.equals(STALL)) {
          gate.compareAndSet(null, new CountDownLatch(1));
        } else if (line.equals(GO)) {
          open();
        } else if (line.equals(CLOCK)) {
          System.out.println(CLOCK + " " + System.currentTimeMillis());
        } else if (line.startsWith(FAIL)) {
          clients.failNextCommits(Integer.parseInt(line.substring(FAIL.length())));
        }
      }
    } catch (IOException e) {
      // The parent is gone, which is the end of the input as well.
    }
    open();
    instance.close();
  }

  private void open() {
    final CountDownLatch stall = gate.getAndSet(null);
    if (stall != null) {
      stall.countDown();
    }
  }
}
