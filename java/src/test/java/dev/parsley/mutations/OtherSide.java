package dev.parsley.mutations;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A server that does what a test says, and a local state that holds what it was told. */
class OtherSide implements MutationServer<Identity, String>, LocalState<Identity, String> {

  final Map<Identity, String> values = new ConcurrentHashMap<>();
  final List<Push<Identity, String>> pushes = Collections.synchronizedList(new ArrayList<>());
  final Mutators<Identity, String> mutators = new Mutators<>();
  final MutatorHandle<String> set = mutators.create("set", ScriptedPorts.TEXT, text -> text);

  /** A store over this, in memory, on threads of its own. */
  MutationStore.Builder<Identity, String> store() {
    return MutationStore.<Identity, String>builder(
            "test", Resolution.Found::new, ScriptedPorts.TEXT, this, this)
        .mutators(mutators);
  }

  @Override
  public PushOutcome<String> push(Push<Identity, String> push) throws Exception {
    pushes.add(push);
    return answer(push);
  }

  /** What the server answers. */
  PushOutcome<String> answer(Push<Identity, String> push) throws Exception {
    return new PushOutcome.Accepted<>(push.mine());
  }

  @Override
  public long retire(String clientId, long retiredThrough) throws IOException {
    return retiredThrough;
  }

  @Override
  public Meta status(Identity key) throws Exception {
    return null;
  }

  @Override
  public String read(Identity key) {
    return values.get(key);
  }

  @Override
  public void freshRead(Identity key) {
    // What is here is fresh.
  }

  @Override
  public void apply(Identity key, String value) throws Exception {
    values.put(key, value);
  }

  @Override
  public void confirmFresh(Identity key, String etag) {
    // Nothing is kept of it.
  }

  @Override
  public void clear(Identity key) {
    values.remove(key);
  }

  @Override
  public void markStale(Identity key) {
    // Nothing is cached.
  }

  @Override
  public void invalidateNamespace(String namespace) {
    // Nothing is cached.
  }
}
