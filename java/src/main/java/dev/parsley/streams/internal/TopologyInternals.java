package dev.parsley.streams.internal;

import dev.parsley.streams.RefusalException;
import dev.parsley.streams.RefusalReason;
import dev.parsley.streams.internal.LauncherTopology.CausalNode;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.Topology;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a topology's public description does not show, and its builder does: offset resets of
 * sources, and the store builders, of which ours knows what its node declares. Read by reflection.
 * Where that is not possible nothing is refused here and nothing is lost: both are noticed later,
 * before a record is passed over.
 */
public final class TopologyInternals {

  private static final Logger LOG = LoggerFactory.getLogger(TopologyInternals.class);

  private TopologyInternals() {}

  /**
   * Refuses a source of a causal node that has an offset reset of its own. The launcher's consumer
   * never lets Kafka Streams get as far as a reset on these topics, see {@link
   * FirstPositionsConsumer}.
   */
  public static void requireNoResets(Topology topology, LauncherTopology causal) {
    for (String topic : causal.receivedTopics()) {
      final String reset = resetOf(topology, topic);
      if (reset != null && !reset.equals(LauncherSettings.RESET_NONE)) {
        throw Substrate.misconfigured(
            "the source has the offset reset '"
                + reset
                + "'; read it with Causal.consumed() or AutoOffsetReset.none(), and say with"
                + " parsley.first.positions where a new group starts",
            topic);
      }
    }
  }

  /**
   * Refuses a node that declares other topics than the topology feeds it. The node does the same at
   * its initialisation, which is when its instance has joined the group already.
   */
  public static void requireFedAsDeclared(Topology topology, LauncherTopology causal) {
    for (CausalNode node : causal.nodes()) {
      final Set<String> declared = declaredBy(topology, node);
      if (declared != null) {
        requireFedAsDeclared(node.name(), declared, node.topics());
      }
    }
  }

  static void requireFedAsDeclared(String node, Set<String> declared, Set<String> fed) {
    if (!fed.equals(declared)) {
      throw new RefusalException(
          RefusalReason.SUBSTRATE_MISCONFIGURED,
          "the causal node '"
              + node
              + "' declares the topics "
              + declared
              + " but the topology feeds it "
              + fed
              + "; name each source topic with topic(...) and no other");
    }
  }

  private static String resetOf(Topology topology, String topic) {
    try {
      final Object builder = builderOf(topology);
      final Object strategy =
          builder.getClass().getMethod("offsetResetStrategy", String.class).invoke(builder, topic);
      return strategy == null
          ? null
          : (String) strategy.getClass().getMethod("name").invoke(strategy);
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("Cannot tell the offset reset of {}", topic, e);
      return null;
    }
  }

  private static Set<String> declaredBy(Topology topology, CausalNode node) {
    try {
      final Object builder = builderOf(topology);
      final Map<?, ?> stores =
          (Map<?, ?>) builder.getClass().getMethod("stateStores").invoke(builder);
      final Object factory = stores.get(NodeSettings.STORE_PREFIX + node.name());
      final Object store = factory.getClass().getMethod("builder").invoke(factory);
      return store instanceof CausalStoreBuilder ours ? ours.declaredTopics() : null;
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.debug("Cannot tell what the causal node {} declares", node.name(), e);
      return null;
    }
  }

  private static Object builderOf(Topology topology) throws ReflectiveOperationException {
    final Field field = Topology.class.getDeclaredField("internalTopologyBuilder");
    field.setAccessible(true);
    return field.get(topology);
  }
}
