package dev.parsley.tests.mutations;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The other side on a real socket: one push a connection, {@code idempotencyKey|identity|value},
 * whose effect it has once, however often it comes. Told to, it has the effect and says nothing.
 */
final class DedupServer implements AutoCloseable {

  private final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final Map<String, String> pushedByKey = new HashMap<>();
  private final Map<String, List<String>> effects = new HashMap<>();
  private final List<String> faults = new ArrayList<>();
  private int pushes;
  private int silentFrom = Integer.MAX_VALUE;

  DedupServer() throws IOException {
    final Thread acceptor = new Thread(this::accept, "dedup-server");
    acceptor.setDaemon(true);
    acceptor.start();
  }

  int port() {
    return socket.getLocalPort();
  }

  /** From that push on it answers none. */
  synchronized void silentFrom(int push) {
    silentFrom = push;
  }

  synchronized boolean isSilent() {
    return pushes >= silentFrom;
  }

  synchronized int pushes() {
    return pushes;
  }

  /** The values each identity got, in order. */
  synchronized Map<String, List<String>> effects() {
    return Map.copyOf(effects);
  }

  /** Pushes that came again and were not the same. */
  synchronized List<String> faults() {
    return List.copyOf(faults);
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        final Socket connection = socket.accept();
        final Thread thread = new Thread(() -> serve(connection), "dedup-connection");
        thread.setDaemon(true);
        thread.start();
      } catch (IOException e) {
        return; // Closed.
      }
    }
  }

  private void serve(Socket connection) {
    try (connection;
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
        BufferedWriter out =
            new BufferedWriter(
                new OutputStreamWriter(connection.getOutputStream(), StandardCharsets.UTF_8))) {
      final String push = in.readLine();
      if (push != null && take(push)) {
        out.write("ok\n");
        out.flush();
      } else {
        in.readLine(); // Until the client is gone.
      }
    } catch (IOException e) {
      // The client was killed, which is what this is for.
    }
  }

  private synchronized boolean take(String push) {
    pushes++;
    final String[] fields = push.split("\\|");
    final String before = pushedByKey.putIfAbsent(fields[0], push);
    if (before == null) {
      effects.computeIfAbsent(fields[1], identity -> new ArrayList<>()).add(fields[2]);
    } else if (!before.equals(push)) {
      faults.add(before + " came again as " + push);
    }
    return pushes < silentFrom;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
