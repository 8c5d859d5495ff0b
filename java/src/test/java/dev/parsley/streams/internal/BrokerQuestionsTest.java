package dev.parsley.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.TopicDirectory.Topic;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicCollection.TopicIdCollection;
import org.apache.kafka.common.TopicCollection.TopicNameCollection;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.DisconnectException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;

class BrokerQuestionsTest {

  private static final Uuid ID = new Uuid(1, 2);
  private static final long TIMEOUT_MS = 10_000;

  /** The answers to come, one for each request; the last one is repeated. */
  private final Deque<Object> answers = new ArrayDeque<>();

  private int asked;

  private final Admin admin =
      (Admin)
          Proxy.newProxyInstance(
              Admin.class.getClassLoader(),
              new Class<?>[] {Admin.class},
              (proxy, method, arguments) -> {
                if (!method.getName().equals("describeTopics")) {
                  throw new UnsupportedOperationException(method.toString());
                }
                asked++;
                return new Described((TopicCollection) arguments[0], nextAnswer());
              });

  @Test
  void shouldAskAgainWhenARequestWasNotAnswered() {
    answers.addAll(List.of(new DisconnectException(), new DisconnectException(), ID));
    assertEquals(
        Map.of("orders", new Topic(ID, 3)), questions(TIMEOUT_MS).describe(Set.of("orders")));
    assertEquals(3, asked);
  }

  @Test
  void shouldNotBelieveUnknownTopicUntilItIsRepeated() {
    answers.addAll(List.of(unknown(), unknown(), unknown(), ID));
    assertTrue(questions(TIMEOUT_MS).describe(Set.of("orders")).containsKey("orders"));
  }

  @Test
  void shouldBelieveUnknownTopicWhenItIsRepeated() {
    answers.add(unknown());
    assertEquals(Map.of(), questions(TIMEOUT_MS).describe(Set.of("orders")));
    assertEquals(BrokerQuestions.UNKNOWN_ANSWERS_MIN, asked);
  }

  @Test
  void shouldBelieveAnUnknownIdWhenItIsRepeated() {
    answers.addAll(List.of(new UnknownTopicIdException("no"), ID));
    assertEquals(Set.of(), questions(TIMEOUT_MS).gone(Set.of(ID)));
    answers.clear();
    answers.add(new UnknownTopicIdException("no"));
    assertEquals(Set.of(ID), questions(TIMEOUT_MS).gone(Set.of(ID)));
  }

  @Test
  void shouldNotTakeATopicOfOthersForGone() {
    answers.add(new TopicAuthorizationException("no"));
    assertEquals(Set.of(), questions(TIMEOUT_MS).gone(Set.of(ID)));
    assertEquals(1, asked);
  }

  @Test
  void shouldSayWhatToCheckWhenTheTimeIsOver() {
    final DisconnectException last = new DisconnectException();
    answers.add(last);
    final StreamsException error =
        assertThrows(StreamsException.class, () -> questions(150).describe(Set.of("orders")));
    assertSame(last, error.getCause());
    assertTrue(error.getMessage().contains("[orders]"), error.getMessage());
    assertTrue(error.getMessage().contains("parsley.directory.timeout.ms"), error.getMessage());
  }

  @Test
  void shouldNotAskAgainWhenAskingIsOfNoUse() {
    answers.add(new TopicAuthorizationException("no"));
    final BrokerQuestions questions = questions(TIMEOUT_MS);
    assertThrows(StreamsException.class, () -> questions.describe(Set.of("orders")));
    assertEquals(1, asked);
  }

  @Test
  void shouldStopAskingWhenItIsClosed() {
    answers.add(new DisconnectException());
    final BrokerQuestions questions = questions(Long.MAX_VALUE / 2_000_000);
    questions.stop();
    assertThrows(StreamsException.class, () -> questions.describe(Set.of("orders")));
  }

  @Test
  void shouldRefuseATopicWithoutAnId() {
    answers.add(Uuid.ZERO_UUID);
    final BrokerQuestions questions = questions(TIMEOUT_MS);
    final RefusalException refusal =
        assertThrows(RefusalException.class, () -> questions.describe(Set.of("orders")));
    assertEquals(RefusalReason.SUBSTRATE_MISCONFIGURED, refusal.reason());
    assertEquals("orders", refusal.topic().orElseThrow());
  }

  @Test
  void shouldShareOneClientAndCloseItWithTheLast() {
    final int[] made = {0};
    final int[] closed = {0};
    final Map<String, Object> settings =
        Map.of("application.id", "shared", "bootstrap.servers", "127.0.0.1:1, 127.0.0.1:2");
    // As a processor context shows the same setting.
    final Map<String, Object> parsed = new HashMap<>(settings);
    parsed.put("bootstrap.servers", List.of("127.0.0.1:1", "127.0.0.1:2"));

    final BrokerTopicDirectory one =
        BrokerTopicDirectory.acquire("shared", settings, configs -> counting(made, closed));
    final BrokerTopicDirectory two =
        BrokerTopicDirectory.acquire("shared", parsed, configs -> counting(made, closed));
    assertEquals(1, made[0]);
    one.close();
    one.close();
    assertEquals(0, closed[0]);
    assertThrows(IllegalStateException.class, () -> one.describe(Set.of("orders")));
    two.close();
    assertEquals(1, closed[0]);

    BrokerTopicDirectory.acquire("shared", settings, configs -> counting(made, closed)).close();
    assertEquals(2, made[0]);
    assertEquals(2, closed[0]);
  }

  private static Admin counting(int[] made, int[] closed) {
    made[0]++;
    return (Admin)
        Proxy.newProxyInstance(
            Admin.class.getClassLoader(),
            new Class<?>[] {Admin.class},
            (proxy, method, arguments) -> {
              assertEquals("close", method.getName());
              closed[0]++;
              return null;
            });
  }

  private BrokerQuestions questions(long timeoutMs) {
    return new BrokerQuestions(admin, timeoutMs);
  }

  private Object nextAnswer() {
    return answers.size() == 1 ? answers.peek() : answers.remove();
  }

  private static RuntimeException unknown() {
    return new UnknownTopicOrPartitionException("no");
  }

  /**
   * Every topic asked for is described with the same id and 3 partitions, or fails the same way.
   */
  private static final class Described extends DescribeTopicsResult {

    Described(TopicCollection topics, Object answer) {
      super(
          topics instanceof TopicIdCollection ids ? each(ids.topicIds(), answer) : null,
          topics instanceof TopicNameCollection names ? each(names.topicNames(), answer) : null);
    }

    private static <T> Map<T, KafkaFuture<TopicDescription>> each(
        Iterable<T> topics, Object answer) {
      final Map<T, KafkaFuture<TopicDescription>> described = new HashMap<>();
      for (T topic : topics) {
        final KafkaFutureImpl<TopicDescription> future = new KafkaFutureImpl<>();
        if (answer instanceof Throwable failure) {
          future.completeExceptionally(failure);
        } else {
          future.complete(
              new TopicDescription(topic.toString(), false, partitions(), Set.of(), (Uuid) answer));
        }
        described.put(topic, future);
      }
      return described;
    }

    private static List<TopicPartitionInfo> partitions() {
      return List.of(0, 1, 2).stream()
          .map(i -> new TopicPartitionInfo(i, Node.noNode(), List.of(), List.of()))
          .toList();
    }
  }
}
