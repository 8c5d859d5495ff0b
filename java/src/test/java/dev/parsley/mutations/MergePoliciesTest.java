package dev.parsley.mutations;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MergePoliciesTest {

  private static final Identity KEY = new Identity("n", "a");

  private record Pair(Integer left, Integer right) {}

  private static <V> Merge<V> merged(MergePolicy<Identity, V> policy, V base, V mine, V theirs)
      throws Exception {
    return policy.merge(KEY, base, mine, theirs);
  }

  private static <V> Merge<V> retry(V value) {
    return new Merge.Retry<>(value);
  }

  private static <V> Merge<V> serverWins() {
    return new Merge.ServerWins<>();
  }

  @Test
  void shouldAlwaysLetOneSideWin() throws Exception {
    assertEquals(serverWins(), merged(MergePolicies.serverWins(), 1, 2, 3));
    assertEquals(retry(2), merged(MergePolicies.clientWins(), 1, 2, 3));
    assertEquals(retry(null), merged(MergePolicies.clientWins(), 1, null, 3));
  }

  @Test
  void shouldLetTheLastWriteWinAndTheServerATie() throws Exception {
    final MergePolicy<Identity, Integer> policy =
        MergePolicies.lastWriteWins(value -> value.longValue());
    assertEquals(retry(5), merged(policy, null, 5, 4));
    assertEquals(serverWins(), merged(policy, null, 5, 5));
    assertEquals(serverWins(), merged(policy, null, 5, 6));
    assertEquals(retry(5), merged(policy, null, 5, null));
    assertEquals(serverWins(), merged(policy, null, null, 5));
    assertEquals(serverWins(), merged(policy, 5, null, null));
  }

  @Test
  void shouldSettleOnlyWhatBothSidesHaveChanged() throws Exception {
    final MergePolicy<Identity, Integer> policy =
        MergePolicies.threeWay((base, mine, theirs) -> retry(9));
    assertEquals(retry(2), merged(policy, 1, 2, 1));
    assertEquals(serverWins(), merged(policy, 1, 1, 2));
    assertEquals(serverWins(), merged(policy, 1, 2, 2));
    assertEquals(retry(9), merged(policy, 1, 2, 3));
    assertEquals(retry(null), merged(policy, 1, null, 1));
  }

  @Test
  void shouldMergeFieldByField() throws Exception {
    final MergePolicy<Identity, Pair> policy =
        MergePolicies.perField(
            List.of(
                new MergePolicies.Field<Pair, Integer>(
                    Pair::left, (pair, left) -> new Pair(left, pair.right())),
                new MergePolicies.Field<Pair, Integer>(
                    Pair::right, (pair, right) -> new Pair(pair.left(), right))));
    final Pair base = new Pair(1, 1);
    final Pair theirs = new Pair(3, 3);
    assertEquals(retry(new Pair(2, 3)), merged(policy, base, new Pair(2, 1), new Pair(1, 3)));
    assertEquals(serverWins(), merged(policy, base, new Pair(2, 1), theirs));
    assertEquals(serverWins(), merged(policy, null, new Pair(2, 1), theirs));
    assertEquals(serverWins(), merged(policy, base, null, theirs));
  }
}
