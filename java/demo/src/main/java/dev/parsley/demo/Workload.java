package dev.parsley.demo;

import java.util.List;

/**
 * What one run is about: the topics that the last service reads, and the records that come to them.
 * Made for one run, used by one thread.
 */
interface Workload extends AutoCloseable {

  /**
   * An event and where its record is.
   *
   * @param offsets one, unless it never got to its topic or got there more than once
   * @param causes indices into the list that this event is in
   */
  record Placed(String topic, List<Long> offsets, List<Integer> causes) {}

  /** Creates the run's topics. */
  void createTopics(Stage stage);

  /** The topics that the last service reads. */
  List<String> topics();

  /** Those of them that are on the near broker. */
  List<String> nearTopics();

  /** The services before the last one, for it to have something to read; may be none. */
  List<ServiceMain.Settings> services(ServiceMain.Settings template);

  /** Things to feed, one after the other. */
  int steps();

  void feed(int step);

  /**
   * How many records the first {@code steps} steps bring to the near topics of the last service.
   */
  int nearRecords(int steps);

  /** How many records they bring to the last service in all. */
  int records(int steps);

  /** All events, once everything was fed and the services before the last one are done. */
  List<Placed> placed();

  @Override
  void close();
}
