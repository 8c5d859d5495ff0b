package dev.parsley.tests.mutations;

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
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * A client of a {@link DedupServer} in a process of its own. Arguments: directory, port, and how
 * many mutations to accept before it drains everything.
 */
public final class DrainingChild
    implements MutationServer<Identity, String>, LocalState<Identity, String>, Codec<String> {

  static final int LANES = 5;
  static final int KEYS = 15;

  private final int port;

  private DrainingChild(int port) {
    this.port = port;
  }

  /** The identity of the mutation with this number. */
  static Identity identity(int number) {
    return new Identity("lane-" + number % LANES, "id-" + number % KEYS);
  }

  /** Runs. */
  public static void main(String[] arguments) {
    final DrainingChild side = new DrainingChild(Integer.parseInt(arguments[1]));
    final Mutators<Identity, String> mutators = new Mutators<>();
    final MutatorHandle<String> set = mutators.create("set", side, text -> text);
    try (MutationStore<Identity, String> store =
        MutationStore.<Identity, String>builder("child", Resolution.Found::new, side, side, side)
            .mutators(mutators)
            .directory(Path.of(arguments[0]))
            .open()) {
      System.out.println("open");
      for (int number = 0; number < Integer.parseInt(arguments[2]); number++) {
        store.mutate(identity(number), set, "value-" + number);
      }
      System.out.println("accepted");
      while (!store.pendingWrites().isEmpty()) {
        store.drainAll().join();
      }
      System.out.println("drained");
    }
  }

  @Override
  public PushOutcome<String> push(Push<Identity, String> push) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
      final String line = push.idempotencyKey() + "|" + push.identity() + "|" + push.mine() + "\n";
      socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
      if (!"ok".equals(in.readLine())) {
        throw new IOException("no answer");
      }
      return new PushOutcome.Accepted<>(push.mine());
    }
  }

  @Override
  public long retire(String clientId, long retiredThrough) {
    return retiredThrough;
  }

  @Override
  public byte[] encode(String value) {
    return value.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public String decode(int version, byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public Meta status(Identity key) {
    return null;
  }

  @Override
  public String read(Identity key) {
    return null; // It keeps no copy.
  }

  @Override
  public void freshRead(Identity key) {
    // It keeps no copy.
  }

  @Override
  public void apply(Identity key, String value) {
    // It keeps no copy.
  }

  @Override
  public void confirmFresh(Identity key, String etag) {
    // It keeps no copy.
  }

  @Override
  public void clear(Identity key) {
    // It keeps no copy.
  }

  @Override
  public void markStale(Identity key) {
    // It keeps no copy.
  }

  @Override
  public void invalidateNamespace(String namespace) {
    // It keeps no copy.
  }
}
