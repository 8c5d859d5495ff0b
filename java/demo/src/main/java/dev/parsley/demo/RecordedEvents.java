package dev.parsley.demo;

import dev.parsley.streams.Causes;
import dev.parsley.streams.ChannelId;
import dev.parsley.tests.harness.Cluster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;

/**
 * The user's own events, sent by a plain producer that writes the causes header itself. Their
 * topics are put on the far and the near broker in turn, in the order in which the file names them
 * first.
 */
final class RecordedEvents implements Workload {

  private static final int PARTITION = 0;

  private final Cluster cluster;
  private final String run;
  private final List<Event> events;
  private final List<String> topics;
  private final Map<String, Uuid> topicIds = new HashMap<>();
  private final List<Long> offsets = new ArrayList<>();

  RecordedEvents(Cluster cluster, String run, List<Event> events) {
    this.cluster = cluster;
    this.run = run;
    this.events = events;
    this.topics = events.stream().map(this::topic).distinct().toList();
  }

  @Override
  public void createTopics(Stage stage) {
    for (String topic : topics) {
      if (isNear(topic)) {
        stage.createNear(topic);
      } else {
        stage.createFar(topic);
      }
      topicIds.put(topic, cluster.topicId(topic));
    }
  }

  @Override
  public List<String> topics() {
    return topics;
  }

  @Override
  public List<String> nearTopics() {
    return topics.stream().filter(this::isNear).toList();
  }

  @Override
  public List<ServiceMain.Settings> services(ServiceMain.Settings template) {
    return List.of();
  }

  @Override
  public int steps() {
    return events.size();
  }

  @Override
  public void feed(int step) {
    final Event event = events.get(step);
    final ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(topic(event), PARTITION, bytes(event.key()), bytes(event.value()));
    final Causes.Builder causes = Causes.builder();
    for (int cause : event.causes()) {
      causes.add(
          new ChannelId(topicIds.get(topic(events.get(cause))), PARTITION), offsets.get(cause));
    }
    causes.build().writeTo(record.headers());
    // Sent one by one, because the next event may need this one's offset for its causes.
    offsets.add(cluster.send(record).offset());
  }

  @Override
  public int nearRecords(int steps) {
    return (int) events.subList(0, steps).stream().filter(event -> isNear(topic(event))).count();
  }

  @Override
  public int records(int steps) {
    return steps;
  }

  @Override
  public List<Placed> placed() {
    final List<Placed> placed = new ArrayList<>(events.size());
    for (int i = 0; i < events.size(); i++) {
      final Event event = events.get(i);
      placed.add(new Placed(topic(event), List.of(offsets.get(i)), event.causes()));
    }
    return placed;
  }

  @Override
  public void close() {}

  private String topic(Event event) {
    return run + "." + event.topic();
  }

  private boolean isNear(String topic) {
    return topics.indexOf(topic) % 2 == 1;
  }

  private static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }
}
