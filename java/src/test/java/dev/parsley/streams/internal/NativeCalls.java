package dev.parsley.streams.internal;

import dev.parsley.streams.ChannelId;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;

/** Each native method by its name, to be called on a store with arguments that are well formed. */
final class NativeCalls {

  private static final byte[] KEY = {1};

  /** Those that work on no store. */
  static final Set<String> WITHOUT_A_STORE =
      Set.of("NativeStore.open", "NativeStore.selfTestPanicAtOpen");

  private NativeCalls() {}

  /** A new map, by method name. */
  static Map<String, LongConsumer> onAStore() {
    final Map<String, LongConsumer> calls = new TreeMap<>();
    calls.put("NativeStore.close", NativeStore::close);
    calls.put("NativeStore.get", store -> NativeStore.get(store, KEY));
    calls.put("NativeStore.put", store -> NativeStore.put(store, KEY, null));
    calls.put(
        "NativeStore.scan", store -> NativeStore.scan(store, null, true, null, true, false, 100));
    calls.put("NativeStore.approximateEntries", NativeStore::approximateEntries);
    calls.put("NativeStore.uncommittedBytes", NativeStore::uncommittedBytes);
    calls.put("NativeStore.restore", store -> NativeStore.restore(store, new byte[0]));
    calls.put("NativeStore.settle", NativeStore::settle);
    calls.put("NativeStore.commit", store -> NativeStore.commit(store, null));
    calls.put("NativeStore.committedOffset", store -> NativeStore.committedOffset(store, "t-0"));
    calls.put("NativeStore.selfTestPanic", NativeStore::selfTestPanic);
    calls.put("NativeEngine.open", store -> NativeEngine.open(store, config(), exchange()));
    calls.put("NativeEngine.close", NativeEngine::close);
    calls.put("NativeEngine.knownTopics", NativeEngine::knownTopics);
    calls.put("NativeEngine.topicsGone", store -> NativeEngine.topicsGone(store, new byte[0]));
    calls.put("NativeEngine.receive", store -> NativeEngine.receive(store, 0, 0, 0, 0));
    calls.put("NativeEngine.receiveLong", store -> NativeEngine.receiveLong(store, 0, 0, KEY));
    calls.put("NativeEngine.next", NativeEngine::next);
    calls.put("NativeEngine.released", NativeEngine::released);
    calls.put("NativeEngine.hold", store -> NativeEngine.hold(store, new byte[0]));
    calls.put("NativeEngine.stamp", NativeEngine::stamp);
    calls.put("NativeEngine.heldCount", NativeEngine::heldCount);
    calls.put("NativeEngine.heldCounts", NativeEngine::heldCounts);
    calls.put("NativeEngine.flush", NativeEngine::flush);
    return calls;
  }

  /** The names of all native methods there are. */
  static Set<String> declared() {
    final Set<String> names = new TreeSet<>();
    Stream.of(NativeStore.class, NativeEngine.class)
        .flatMap(type -> Stream.of(type.getDeclaredMethods()))
        .filter(method -> Modifier.isNative(method.getModifiers()))
        .map(NativeCalls::name)
        .forEach(names::add);
    return names;
  }

  private static String name(Method method) {
    return method.getDeclaringClass().getSimpleName() + "." + method.getName();
  }

  /** What causes and stamps cross through; small, so that its end is near. */
  static ByteBuffer exchange() {
    return ByteBuffer.allocateDirect(64);
  }

  /** Of an engine that receives one channel. */
  static byte[] config() {
    final byte[] name = {'t'};
    return ByteBuffer.allocate(Long.BYTES + 2 * Integer.BYTES + 1 + ChannelId.BYTES + Long.BYTES)
        .putLong(1024)
        .putInt(1)
        .putInt(name.length)
        .put(name)
        .put(new ChannelId(new Uuid(1, 1), 0).toBytes())
        .putLong(0)
        .array();
  }
}
