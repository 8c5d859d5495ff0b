/**
 * The demo: records that overtake their causes on the way, first without and then with the causal
 * node, then with a service that is killed while it holds records. {@link dev.parsley.demo.Demo}
 * runs it and prints what it saw.
 */
package dev.parsley.demo;
