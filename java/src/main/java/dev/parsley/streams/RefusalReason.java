package dev.parsley.streams;

/**
 * Why the process was stopped rather than let guess. The names are part of the contract: they are
 * the ones in docs/ordering.md, in the native core and in what the {@code parsley} tool prints.
 */
public enum RefusalReason {
  UNDECODABLE_METADATA(
      "Find the producer of this record: it wrote a parsley.causes header that is no valid"
          + " encoding, or wrote it twice. Fix it. "
          + RefusalReason.PASS_OVER),
  METADATA_BUDGET_EXCEEDED(
      "Raise parsley.budget.bytes on every causal node that receives or sends these records, and"
          + " the record size limits of the topics with it; then start again."),
  OUT_OF_ORDER_FEED(
      "Start the client again. If it comes back, something seeks the consumer backwards, or the"
          + " topic was truncated or made anew: compare the position named here with '"
          + RefusalReason.GROUPS
          + " --describe' and with 'kafka-get-offsets.sh --bootstrap-server <brokers>"
          + " --topic-partitions <topic>:<partition>'."),
  COVERED_POSITION_FED(
      "Start the client again. If it comes back, the group's offsets were moved back while it"
          + " ran: stop every instance before offsets are reset."),
  UNKNOWN_ORDERING_STATE_FORMAT(
      "Run the version of Parsley that wrote this state. If it is damaged, stop the instance,"
          + " delete <state.dir>/<application.id> and start again: it is rebuilt from the"
          + " changelog. If the refusal comes back the changelog topic itself is damaged: restore"
          + " it from a copy, with every local state deleted. "
          + RefusalReason.START_OVER),
  CHANNEL_IDENTITY_CHANGED(
      "A received topic was deleted and made again under the same name. "
          + RefusalReason.START_OVER),
  CHANNEL_REMOVED_WITH_HELD_MESSAGES(
      "Give the node its old topic back until it holds nothing of it any more, and only then take"
          + " the topic out of the topology."),
  CHANNEL_DELETED_WITH_UNDELIVERED_MESSAGES(
      "A received topic was deleted while records of it were held. They are still in the ordering"
          + " changelog; read them there if they matter. Take the topic out of the topology. "
          + RefusalReason.START_OVER),
  POSITIONS_DISCARDED_UNREAD(
      "If the bound is above the position, records were removed that were never read: lengthen the"
          + " topic's retention. To accept the gap, stop every instance, move the group to the"
          + " log's start with '"
          + RefusalReason.GROUPS
          + " --topic <topic>:<partition> --reset-offsets --to-earliest --execute', and start"
          + " again. If the bound is below the position, the log lost its end, and other records"
          + " will take positions that count as read. "
          + RefusalReason.START_OVER),
  ORDERING_STATE_LOST(
      "If the changelog topic was deleted or emptied, restore it from a copy; without one the order"
          + " kept so far and every held record are gone, and the way out is to start over. If the"
          + " node has never read these topics (the application ran without it, or a tool set the"
          + " offsets first), nothing is lost: stop every instance, forget the offsets of each"
          + " received topic with '"
          + RefusalReason.GROUPS
          + " --topic <topic> --delete-offsets', say with parsley.first.positions where to begin,"
          + " such as earliest,<topic>:<partition>=<position>, and start again. "
          + RefusalReason.START_OVER),
  TASK_WIDTH_CHANGED(
      "The number of partitions of a topic was changed, so records of one key may have moved to"
          + " another task, away from their state, and Kafka cannot take partitions away again. Use"
          + " a new application.id, or take the topic out of the topology once nothing of it is"
          + " held."),
  RESERVED_HEADER_USED(
      "Take the header out of what the application or its serializer writes: names that begin with"
          + " 'parsley.' are reserved."),
  STATE_ACCESS_TO_UNDECLARED_STORE(
      "Declare the store on the causal node, with stores(...) or in the supplier's own stores();"
          + " the ordering store itself is never given out."),
  APPLICATION_PAYLOAD_UNDECODABLE(
      "Fix the declared deserializer, or the producer of the record. The record was not consumed"
          + " and comes again at the next start. "
          + RefusalReason.PASS_OVER),
  APPLICATION_PAYLOAD_UNSERIALIZABLE(
      "Fix the declared serializer or the value the application forwards. Nothing of the step was"
          + " committed; it is done again at the next start."),
  SUBSTRATE_MISCONFIGURED(
      "Mend what is named here, be it a setting, a handler, a source or a topic, as it says; then"
          + " start again. Nothing of this step was committed.");

  private static final String GROUPS =
      "kafka-consumer-groups.sh --bootstrap-server <brokers> --group <application.id>";

  // Moving the group at once would pass over what went back with the aborted transaction too.
  private static final String PASS_OVER =
      "To pass over this record alone, first start with max.poll.records=1 and"
          + " commit.interval.ms=0, perhaps more than once, and only when the group's offset is the"
          + " position of this record say '"
          + GROUPS
          + " --topic <topic>:<partition> --reset-offsets --to-offset <position+1> --execute' with"
          + " every instance stopped.";

  // Offsets that the reset tool itself commits look like positions that were read, so the group has
  // to go as well.
  private static final String START_OVER =
      "To start over, use a new application.id; or stop every instance, say"
          + " 'kafka-streams-application-reset.sh --bootstrap-server <brokers> --application-id"
          + " <application.id>' and then '"
          + GROUPS
          + " --delete', and delete <state.dir>/<application.id> everywhere. That gives up the"
          + " order kept so far.";

  private final String advice;

  RefusalReason(String advice) {
    this.advice = advice;
  }

  /**
   * What the operator does about it, as sentences with whole commands. What only a case or an
   * installation knows is in angle brackets: brokers, application.id, state.dir, topic, partition,
   * position. {@link RefusalException#advice()} has those of its case filled in.
   */
  public String advice() {
    return advice;
  }
}
