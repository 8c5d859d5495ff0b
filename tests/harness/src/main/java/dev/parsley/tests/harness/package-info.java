/**
 * Brokers, child JVMs and the small helpers around them. Shared by the tests against brokers, the
 * benchmarks and the demo; no part of what users add.
 */
package dev.parsley.tests.harness;
