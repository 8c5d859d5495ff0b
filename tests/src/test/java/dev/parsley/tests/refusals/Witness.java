package dev.parsley.tests.refusals;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.parsley.streams.RefusalReason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Sees which refusals a test met and that the application went on afterwards, so that {@link
 * Reaches} says no more than was done. Tests run one after the other.
 */
final class Witness implements BeforeTestExecutionCallback, AfterTestExecutionCallback {

  private static final List<RefusalReason> MET = new ArrayList<>();
  private static int metWhenItWentOn;

  static void met(RefusalReason reason) {
    MET.add(reason);
  }

  /** What the application delivered was judged and found right. */
  static void wentOn() {
    metWhenItWentOn = MET.size();
  }

  @Override
  public void beforeTestExecution(ExtensionContext context) {
    MET.clear();
    metWhenItWentOn = 0;
  }

  @Override
  public void afterTestExecution(ExtensionContext context) {
    if (context.getExecutionException().isPresent()) {
      return;
    }
    final Reaches reaches = context.getRequiredTestMethod().getAnnotation(Reaches.class);
    for (RefusalReason reason : reaches.value()) {
      assertTrue(MET.contains(reason), reason + " was not met, but " + MET);
    }
    assertTrue(metWhenItWentOn == MET.size(), "nothing was judged after the last refusal");
  }
}
