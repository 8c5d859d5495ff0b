package dev.parsley.mutations;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What a coordinator needs of a store. */
interface Drainable {

  CompletableFuture<Report> drainAll();

  List<PendingRow> pendingWrites();

  Subscription events(Consumer<? super Event> listener);
}
