package dev.parsley.mutations;

import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** The usual ways to end a conflict. Values are compared by {@code equals}; null is "no value". */
public final class MergePolicies {

  private MergePolicies() {}

  /** The server's value stands. */
  public static <K extends Key, V> MergePolicy<K, V> serverWins() {
    return (key, base, mine, theirs) -> new Merge.ServerWins<>();
  }

  /** What the mutation wanted is pushed again, on the server's value. */
  public static <K extends Key, V> MergePolicy<K, V> clientWins() {
    return (key, base, mine, theirs) -> new Merge.Retry<>(mine);
  }

  /**
   * The value that was written last stands, the server's where both were written at once. No value
   * has no time and is older than any: a deletion gives way to a change on the other side.
   *
   * @param writtenAt when a value was written, on a clock that both sides share
   */
  public static <K extends Key, V> MergePolicy<K, V> lastWriteWins(ToLongFunction<V> writtenAt) {
    return (key, base, mine, theirs) -> {
      final boolean isNewer =
          mine != null
              && (theirs == null || writtenAt.applyAsLong(mine) > writtenAt.applyAsLong(theirs));
      return isNewer ? new Merge.Retry<>(mine) : new Merge.ServerWins<>();
    };
  }

  /** Settles a value that both sides have changed; each argument is null where there is none. */
  @FunctionalInterface
  public interface Conflict<V> {
    /** How it ends. */
    Merge<V> settle(V base, V mine, V theirs) throws Exception;
  }

  /**
   * A change on one side only stands, and so does the same change on both; what both have changed
   * differently is settled by {@code conflict}.
   */
  public static <K extends Key, V> MergePolicy<K, V> threeWay(Conflict<V> conflict) {
    return (key, base, mine, theirs) -> {
      if (Objects.equals(mine, theirs) || Objects.equals(mine, base)) {
        return new Merge.ServerWins<>();
      }
      return Objects.equals(theirs, base)
          ? new Merge.Retry<>(mine)
          : conflict.settle(base, mine, theirs);
    };
  }

  /**
   * One part of a value.
   *
   * @param get reads it
   * @param with a copy of a value with another content of this part
   */
  public record Field<V, F>(Function<V, F> get, BiFunction<V, F, V> with) {

    private V merged(V base, V mine, V result) {
      final F wanted = get.apply(mine);
      final F before = base == null ? null : get.apply(base);
      final boolean changedHere = !Objects.equals(wanted, before);
      final boolean changedThere = !Objects.equals(get.apply(result), before);
      return changedHere && !changedThere ? with.apply(result, wanted) : result;
    }
  }

  /**
   * Merges field by field: a change on one side only stands, of two changes the server's. Where one
   * side has no value at all the server's stands.
   */
  public static <K extends Key, V> MergePolicy<K, V> perField(List<Field<V, ?>> fields) {
    final List<Field<V, ?>> parts = List.copyOf(fields);
    return (key, base, mine, theirs) -> {
      if (mine == null || theirs == null) {
        return new Merge.ServerWins<>();
      }
      V merged = theirs;
      for (Field<V, ?> part : parts) {
        merged = part.merged(base, mine, merged);
      }
      return merged.equals(theirs) ? new Merge.ServerWins<>() : new Merge.Retry<>(merged);
    };
  }
}
