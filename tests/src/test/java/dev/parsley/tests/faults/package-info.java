/**
 * Applications, brokers and clocks that are damaged at work, by processes and under load. What
 * comes of it is judged from the committed records alone. The tests are the short form, {@link
 * dev.parsley.tests.faults.Soak} is the long one.
 */
package dev.parsley.tests.faults;
