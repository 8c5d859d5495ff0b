package dev.parsley.streams;

/**
 * Why the process was stopped rather than let guess. The names are part of the contract: they are
 * the ones in docs/ordering.md, in the native core and in what the {@code parsley} tool prints.
 */
public enum RefusalReason {
  UNDECODABLE_METADATA(
      "Find the producer of this record: it wrote a parsley.causes header that is no valid"
          + " encoding, or wrote it twice. Fix it, then move the group past the record or restore"
          + " the topic; the record itself was not consumed."),
  METADATA_BUDGET_EXCEEDED(
      "Raise parsley.budget.bytes on every causal node that receives or sends these records, and"
          + " the record size limits of the topics with it; then start again."),
  OUT_OF_ORDER_FEED(
      "Start the client again. If it comes back, something seeks the consumer backwards or the"
          + " topic was truncated or made anew: compare the positions named here with the log."),
  COVERED_POSITION_FED(
      "Start the client again. If it comes back, the group's offsets were moved back while it"
          + " ran: stop every instance before offsets are reset."),
  UNKNOWN_ORDERING_STATE_FORMAT(
      "Run the version of Parsley that wrote this state, or restore the changelog topic from a"
          + " copy. A damaged local directory alone can be deleted: it is rebuilt from the"
          + " changelog."),
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
      "The topic's retention removed records that were never read. Lengthen the retention, accept"
          + " the gap by committing the log's start for the group with kafka-consumer-groups"
          + " --reset-offsets while every instance is stopped, then start again."),
  ORDERING_STATE_LOST(
      "If this application has run without its causal node until now, it has no ordering state yet:"
          + " start over. Else restore the ordering changelog topic from a copy; if there is none,"
          + " the order kept so far and every held record are gone. "
          + RefusalReason.START_OVER),
  TASK_WIDTH_CHANGED(
      "The number of partitions of a received topic was changed, so records of one key moved to"
          + " another task. Use a new application.id, or go back to topics of the old width."),
  RESERVED_HEADER_USED(
      "Take the header out of what the application or its serializer writes: names that begin with"
          + " 'parsley.' are reserved."),
  STATE_ACCESS_TO_UNDECLARED_STORE(
      "Declare the store on the causal node, with stores(...) or in the supplier's own stores();"
          + " the ordering store itself is never given out."),
  APPLICATION_PAYLOAD_UNDECODABLE(
      "Fix the declared deserializer, or the producer of the record. The record was not consumed"
          + " and comes again at the next start."),
  APPLICATION_PAYLOAD_UNSERIALIZABLE(
      "Fix the declared serializer or the value the application forwards. Nothing of the step was"
          + " committed; it is done again at the next start."),
  SUBSTRATE_MISCONFIGURED("Change the named setting, then start again. Nothing was consumed.");

  // Offsets that the reset tool itself commits look like positions that were read, so the group has
  // to go as well.
  private static final String START_OVER =
      "To start over, use a new application.id; or stop every instance, delete the internal topics"
          + " with kafka-streams-application-reset, then the group with kafka-consumer-groups"
          + " --delete, and the local state directory. That gives up the order kept so far.";

  private final String advice;

  RefusalReason(String advice) {
    this.advice = advice;
  }

  /** What the operator does about it, in one or two sentences. */
  public String advice() {
    return advice;
  }
}
