package dev.parsley.demo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.parsley.tests.harness.BrokerSettings;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SlowLinkTest {

  private static final short API_PRODUCE = 0;
  private static final short API_FETCH = 1;
  private static final int CORRELATION_BYTES = 4;

  private SlowLink link;
  private ServerSocket broker;

  @BeforeEach
  void start() throws IOException {
    link = new SlowLink(1, 0);
    final int brokerPort = link.standBefore(BrokerSettings.first(), "LINKED");
    broker = new ServerSocket(brokerPort, 10, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stop() throws IOException {
    link.close();
    broker.close();
  }

  @Test
  void shouldPassAnswersOnAsTheyAre() throws IOException {
    try (Connection connection = new Connection()) {
      connection.request(API_FETCH, 7);
      connection.answer(7, new byte[] {1, 2, 3});
      assertArrayEquals(new byte[] {0, 0, 0, 7, 1, 2, 3}, connection.read());
    }
  }

  @Test
  void shouldKeepFetchedRecordsAndNothingElseWhileItStalls() throws IOException {
    try (Connection fetching = new Connection();
        Connection producing = new Connection()) {
      link.stall();
      fetching.request(API_FETCH, 7);
      fetching.answer(7, new byte[0]);
      producing.request(API_PRODUCE, 7);
      producing.answer(7, new byte[0]);
      assertEquals(CORRELATION_BYTES, producing.read().length);
      assertEquals(0, fetching.fromBroker.available());
      link.goOn();
      assertEquals(CORRELATION_BYTES, fetching.read().length);
    }
  }

  /** A client's connection through the link, with the broker's end of it played by the test. */
  private final class Connection implements AutoCloseable {
    private final Socket client;
    private final Socket brokersEnd;
    private final DataInputStream fromBroker;

    Connection() {
      try {
        client = new Socket(InetAddress.getLoopbackAddress(), link.port());
        brokersEnd = broker.accept();
        fromBroker = new DataInputStream(client.getInputStream());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Returns when the request has come through, so that the link knows what its answer is. */
    void request(short api, int correlation) throws IOException {
      final byte[] request =
          ByteBuffer.allocate(8).putShort(api).putShort((short) 0).putInt(correlation).array();
      final DataOutputStream out = new DataOutputStream(client.getOutputStream());
      out.writeInt(request.length);
      out.write(request);
      out.flush();
      assertArrayEquals(request, frame(new DataInputStream(brokersEnd.getInputStream())));
    }

    void answer(int correlation, byte[] rest) throws IOException {
      final DataOutputStream out = new DataOutputStream(brokersEnd.getOutputStream());
      out.writeInt(CORRELATION_BYTES + rest.length);
      out.writeInt(correlation);
      out.write(rest);
      out.flush();
    }

    byte[] read() throws IOException {
      return frame(fromBroker);
    }

    private byte[] frame(DataInputStream in) throws IOException {
      return in.readNBytes(in.readInt());
    }

    @Override
    public void close() throws IOException {
      client.close();
      brokersEnd.close();
    }
  }
}
