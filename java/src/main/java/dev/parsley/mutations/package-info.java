/**
 * Writes to the outside world that must happen: journaled, then pushed in order with the same bytes
 * and the same idempotency key until they settle.
 *
 * <p>{@link dev.parsley.mutations.MutationStore} is the journal and its drains, {@link
 * dev.parsley.mutations.Coordinator} drains it again when it is due. Everything in the {@code
 * internal} package can change at any time.
 */
package dev.parsley.mutations;
