/** Tests of mutation stores whose processes die, and of servers that are reached over a socket. */
package dev.parsley.tests.mutations;
