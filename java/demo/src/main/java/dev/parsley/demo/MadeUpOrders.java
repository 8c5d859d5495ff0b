package dev.parsley.demo;

import dev.parsley.tests.harness.Cluster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The demo's own work: requests, each of which the orders service turns into an order, which causes
 * a payment. The last service reads orders over the slow link and payments over the fast one.
 */
final class MadeUpOrders implements Workload {

  private final Cluster cluster;
  private final int count;
  private final String requests;
  private final String orders;
  private final String payments;
  private final KafkaProducer<byte[], byte[]> producer;

  MadeUpOrders(Cluster cluster, String run, int count) {
    this.cluster = cluster;
    this.count = count;
    this.requests = run + ".requests";
    this.orders = run + ".orders";
    this.payments = run + ".payments";
    this.producer = cluster.newProducer(Map.of());
  }

  @Override
  public void createTopics(Stage stage) {
    stage.createNear(requests);
    stage.createFar(orders);
    stage.createNear(payments);
  }

  @Override
  public List<String> topics() {
    return List.of(orders, payments);
  }

  @Override
  public List<String> nearTopics() {
    return List.of(payments);
  }

  @Override
  public List<ServiceMain.Settings> services(ServiceMain.Settings template) {
    return List.of(
        template.as(Services.ORDERS, List.of(requests), orders),
        template.as(Services.PAYMENTS, List.of(orders), payments));
  }

  @Override
  public int steps() {
    return count;
  }

  @Override
  public void feed(int step) {
    final byte[] key = key(step).getBytes(StandardCharsets.UTF_8);
    producer.send(new ProducerRecord<>(requests, key, key));
  }

  @Override
  public int nearRecords(int steps) {
    return steps;
  }

  @Override
  public int records(int steps) {
    return 2 * steps;
  }

  @Override
  public List<Placed> placed() {
    final Map<String, List<Long>> orderOffsets = offsetsByKey(orders);
    final Map<String, List<Long>> paymentOffsets = offsetsByKey(payments);
    final List<Placed> placed = new ArrayList<>(records(count));
    for (int step = 0; step < count; step++) {
      final int orderIndex = placed.size();
      placed.add(new Placed(orders, orderOffsets.getOrDefault(key(step), List.of()), List.of()));
      placed.add(
          new Placed(
              payments, paymentOffsets.getOrDefault(key(step), List.of()), List.of(orderIndex)));
    }
    return placed;
  }

  @Override
  public void close() {
    producer.close();
  }

  private static String key(int step) {
    return "order-" + step;
  }

  private Map<String, List<Long>> offsetsByKey(String topic) {
    return cluster.readCommitted(topic).stream()
        .collect(
            Collectors.groupingBy(
                record -> new String(record.key(), StandardCharsets.UTF_8),
                Collectors.mapping(ConsumerRecord::offset, Collectors.toList())));
  }
}
