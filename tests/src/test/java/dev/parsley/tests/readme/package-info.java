/** The samples of the README. */
package dev.parsley.tests.readme;
