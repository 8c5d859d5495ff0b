package dev.parsley.tests.streams;

import dev.parsley.streams.CausalStreams;
import dev.parsley.tests.harness.ChildJvm;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.streams.KafkaStreams;

/**
 * An instance in a JVM of its own, which can be killed. Arguments: the output topic, the received
 * topics with commas between them, and the settings as {@code key=value}. It prints {@link
 * #RUNNING} once it runs and a line for each of its first copies, and goes on until its input ends.
 */
final class ChildInstance {

  static final String RUNNING = "running";

  /** What a line begins with that tells how many copies it has forwarded so far. */
  static final String COPIED = "copied ";

  /** So many copies are told of. */
  private static final int TOLD_MAX = 10;

  private ChildInstance() {}

  static ChildJvm start(Map<String, String> settings, List<String> topics, String output) {
    final List<String> arguments = new ArrayList<>();
    arguments.add(output);
    arguments.add(String.join(",", topics));
    settings.forEach((key, value) -> arguments.add(key + "=" + value));
    return ChildJvm.start(ChildInstance.class, arguments.toArray(new String[0]));
  }

  public static void main(String[] arguments) throws InterruptedException {
    final Map<String, String> settings = new HashMap<>();
    for (String setting : List.of(arguments).subList(2, arguments.length)) {
      final int middle = setting.indexOf('=');
      settings.put(setting.substring(0, middle), setting.substring(middle + 1));
    }
    final CountDownLatch running = new CountDownLatch(1);
    final AtomicInteger copied = new AtomicInteger();
    final CausalStreams instance =
        CausalStreams.builder(
                CopyingNode.topology(
                    List.of(arguments[1].split(",")),
                    arguments[0],
                    origin -> {
                      if (copied.incrementAndGet() <= TOLD_MAX) {
                        System.out.println(COPIED + copied);
                      }
                    }),
                settings)
            .stateListener(
                (now, before) -> {
                  if (now == KafkaStreams.State.RUNNING) {
                    running.countDown();
                  }
                })
            .build();
    instance.start();
    running.await();
    System.out.println(RUNNING);
    try (Scanner input = new Scanner(System.in, "UTF-8")) {
      while (input.hasNextLine()) {
        input.nextLine();
      }
    }
    instance.close();
  }
}
