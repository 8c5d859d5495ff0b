/**
 * Every refusal, caused for real on a broker, and the way out that it advises, done and judged.
 * {@code RefusalOverviewTest} fails when a reason has no such test.
 */
package dev.parsley.tests.refusals;
