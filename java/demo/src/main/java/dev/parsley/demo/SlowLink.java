package dev.parsley.demo;

import dev.parsley.tests.harness.BrokerSettings;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The network between one broker and the last service: a proxy in front of the broker that passes
 * all bytes on as they are, but keeps each answer to a fetch for a while, as a slow or busy link
 * would. So records that were written early can arrive after records that were written later on
 * another broker, which is how effects overtake their causes. It can also stall, and lets no
 * fetched records through until it goes on.
 *
 * <p>Only fetches are delayed: commits and heartbeats use connections and answers of their own.
 */
final class SlowLink implements AutoCloseable {

  private static final short API_FETCH = 1;

  /** Kafka's own bound for a request is 100 MiB; a larger frame means that we lost the thread. */
  private static final int FRAME_BYTES_MAX = 128 * 1024 * 1024;

  private final ServerSocket listening;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition goesOn = lock.newCondition();
  private final int delayMsMax;
  private final Random delays; // guarded by lock
  private boolean stalled; // guarded by lock
  private volatile int brokerPort;
  private volatile boolean closed;

  /**
   * @param delayMsMax a fetch is kept for 0 to this many milliseconds, drawn evenly
   */
  SlowLink(long seed, int delayMsMax) {
    this.delays = new Random(seed);
    this.delayMsMax = delayMsMax;
    try {
      listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Puts the link in front of a broker that is about to start, as its listener {@code name}.
   *
   * @return the port behind the link, which that listener will use
   */
  int standBefore(BrokerSettings broker, String name) {
    brokerPort = broker.addProxiedListener(name, listening.getLocalPort());
    startThread("link-accept", this::acceptAll);
    return brokerPort;
  }

  int port() {
    return listening.getLocalPort();
  }

  void stall() {
    lock.lock();
    try {
      stalled = true;
    } finally {
      lock.unlock();
    }
  }

  void goOn() {
    lock.lock();
    try {
      stalled = false;
      goesOn.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    closed = true;
    goOn();
    closeQuietly(listening);
    sockets.forEach(SlowLink::closeQuietly);
  }

  private void acceptAll() throws IOException {
    while (!closed) {
      final Socket client = listening.accept();
      final Socket broker = new Socket();
      sockets.add(client);
      sockets.add(broker);
      broker.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), brokerPort));
      client.setTcpNoDelay(true);
      broker.setTcpNoDelay(true);
      final Set<Integer> fetches = ConcurrentHashMap.newKeySet();
      startThread("link-requests", () -> passOn(client, broker, frame -> note(frame, fetches)));
      startThread("link-answers", () -> passOn(broker, client, frame -> keep(frame, fetches)));
    }
  }

  /** What is done with a frame before it goes on its way. */
  private interface Waypoint {
    void at(ByteBuffer frame) throws InterruptedException;
  }

  /** Passes whole frames on (int32 size, then so many bytes) until one side hangs up. */
  private void passOn(Socket from, Socket to, Waypoint waypoint) throws IOException {
    try {
      final DataInputStream in = new DataInputStream(from.getInputStream());
      final DataOutputStream out = new DataOutputStream(to.getOutputStream());
      while (true) {
        final int size = in.readInt();
        if (size < 0 || size > FRAME_BYTES_MAX) {
          throw new IOException("a frame of " + size + " bytes");
        }
        final byte[] frame = new byte[size];
        in.readFully(frame);
        waypoint.at(ByteBuffer.wrap(frame));
        out.writeInt(size);
        out.write(frame);
        out.flush();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      closeQuietly(from);
      closeQuietly(to);
      sockets.remove(from);
      sockets.remove(to);
    }
  }

  /** A request begins with int16 api key, int16 version, int32 correlation id. */
  private static void note(ByteBuffer request, Set<Integer> fetches) {
    if (request.remaining() >= 8 && request.getShort(0) == API_FETCH) {
      fetches.add(request.getInt(4));
    }
  }

  /** An answer begins with the correlation id of its request. */
  private void keep(ByteBuffer answer, Set<Integer> fetches) throws InterruptedException {
    if (answer.remaining() < 4 || !fetches.remove(answer.getInt(0))) {
      return;
    }
    lock.lock();
    try {
      long remainingNanos = TimeUnit.MILLISECONDS.toNanos(delays.nextInt(delayMsMax + 1));
      while (!closed && (stalled || remainingNanos > 0)) {
        if (stalled) {
          goesOn.await();
        } else {
          remainingNanos = goesOn.awaitNanos(remainingNanos);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** What a thread of the link does until a connection ends. */
  private interface Work {
    void run() throws IOException;
  }

  private static void startThread(String name, Work work) {
    final Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (EOFException | SocketException e) {
                // One side hung up, which is how every connection ends.
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void closeQuietly(AutoCloseable socket) {
    try {
      socket.close();
    } catch (Exception e) {
      // It was going away; how does not matter.
    }
  }
}
