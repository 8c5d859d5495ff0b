package dev.parsley.tests.refusals;

import dev.parsley.streams.RefusalReason;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that causes these refusals on a broker and then goes on by what they advise. {@link
 * Witness} holds it to that.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(Witness.class)
@interface Reaches {
  RefusalReason[] value();
}
