package dev.parsley.benches;

import dev.parsley.mutations.Codec;
import dev.parsley.mutations.Identity;
import dev.parsley.mutations.LocalState;
import dev.parsley.mutations.Meta;
import dev.parsley.mutations.MutationServer;
import dev.parsley.mutations.MutationStore;
import dev.parsley.mutations.MutatorHandle;
import dev.parsley.mutations.Mutators;
import dev.parsley.mutations.Push;
import dev.parsley.mutations.PushOutcome;
import dev.parsley.mutations.Resolution;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** A mutation store before {@link OtherSide}, whose client keeps no state. For one thread. */
final class JournalSide implements Drained {

  private final MutationStore<Identity, String> store;
  private final MutatorHandle<String> set;

  /**
   * Opens a store.
   *
   * @param directory null for memory
   */
  JournalSide(OtherSide server, Path directory, int lanes) {
    final Mutators<Identity, String> mutators = new Mutators<>();
    set = mutators.create("set", new Text(), value -> value);
    final MutationStore.Builder<Identity, String> builder =
        MutationStore.<Identity, String>builder(
                "bench", Resolution.Found::new, new Text(), new Server(server), new NoState())
            .mutators(mutators)
            .lanes(lanes);
    store = (directory == null ? builder : builder.directory(directory)).open();
  }

  @Override
  public void accept(String namespace, String key, String value) {
    store.mutate(new Identity(namespace, key), set, value);
  }

  @Override
  public void drain() {
    store.drainAll().join();
  }

  @Override
  public void close() {
    store.close();
  }

  private static final class Text implements Codec<String> {

    @Override
    public int version() {
      return 1;
    }

    @Override
    public byte[] encode(String value) {
      return value.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public String decode(int version, byte[] bytes) {
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  private static final class Server implements MutationServer<Identity, String> {

    private final OtherSide server;

    Server(OtherSide server) {
      this.server = server;
    }

    @Override
    public PushOutcome<String> push(Push<Identity, String> push) {
      server.take(
          push.key().namespace(), push.key().canonicalId(), Math.toIntExact(push.clientSequence()));
      return new PushOutcome.Accepted<>(push.mine(), null, null);
    }

    @Override
    public long retire(String clientId, long through) {
      return through;
    }
  }

  /** Knows nothing and keeps nothing, so that only the journal's cost is measured. */
  private static final class NoState implements LocalState<Identity, String> {

    @Override
    public Meta status(Identity key) {
      return null;
    }

    @Override
    public String read(Identity key) {
      return null;
    }

    @Override
    public void freshRead(Identity key) {}

    @Override
    public void apply(Identity key, String value) {}

    @Override
    public void confirmFresh(Identity key, String etag) {}

    @Override
    public void clear(Identity key) {}

    @Override
    public void markStale(Identity key) {}

    @Override
    public void invalidateNamespace(String namespace) {}
  }
}
