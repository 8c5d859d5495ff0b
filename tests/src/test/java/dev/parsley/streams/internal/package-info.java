/**
 * Tests of the native methods that take long or a JVM of their own. They are in the package of what
 * they call.
 */
package dev.parsley.streams.internal;
