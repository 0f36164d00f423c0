import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.List;
import org.ondine.*;

/** What the tests share: checks, rows of three classes, models for them, and the runner. */
final class Support {
  private Support() {}

  interface Work {
    void run() throws Exception;
  }

  static void check(boolean is, Object about) {
    if (!is) throw new AssertionError(String.valueOf(about));
  }

  static void same(Object found, Object expected) {
    check(expected.equals(found), found + " is not " + expected);
  }

  /** Needs an exception of this code whose message has this text. */
  static void refused(Code code, String message, Work work) {
    try {
      work.run();
    } catch (OndineException error) {
      check(error.getMessage().contains(message), error.getMessage() + "\nhas no '" + message + "'");
      same(error.code(), code);
      return;
    } catch (Exception other) {
      throw new AssertionError("another exception", other);
    }
    throw new AssertionError("no exception, but '" + message + "' is needed");
  }

  static <T extends Throwable> T thrown(Class<T> type, Work work) {
    try {
      work.run();
    } catch (Throwable error) {
      if (type.isInstance(error)) return type.cast(error);
      throw new AssertionError("another exception", error);
    }
    throw new AssertionError("no " + type);
  }

  /** Rows of four numbers: 1 at the place of the class, and small numbers elsewhere. */
  static float[] images(int count) {
    float[] made = new float[4 * count];
    for (int row = 0; row < count; ++row) {
      made[4 * row + row % 3] = 1;
      made[4 * row + 3] = row % 7 * 0.01F;
    }
    return made;
  }

  static long[] labels(int count) {
    long[] made = new long[count];
    for (int row = 0; row < count; ++row) made[row] = row % 3;
    return made;
  }

  static Values feeds(int count) {
    return new Values().set("x", images(count), count, 4).set("label", labels(count));
  }

  static Dataset dataset(int count) {
    return Dataset.of(feeds(count));
  }

  /** The bytes of an inference model with the input x [N, 4]. */
  static byte[] network() {
    return Ondine.newNetwork("mlp", dataset(60), Options.of("seed", 3)).bytes();
  }

  static final Options CLASSES =
      Options.of("loss", "softmax-cross-entropy", "optimizer", "adam", "learning-rate", 0.01);

  static Model model() {
    return Model.prepare(network(), CLASSES, Options.none());
  }

  static double number(Report report, String... members) {
    return report.get(members).number().orElseThrow(
        () -> new AssertionError("no number at " + List.of(members) + " of " + report));
  }

  static Path path(String name) {
    return Path.of(System.getProperty("work"), name);
  }

  /** Runs every static method without arguments of each class. */
  static void runAll(Class<?>... classes) throws Exception {
    int passed = 0, failed = 0;
    for (Class<?> one : classes) {
      for (Method test : one.getDeclaredMethods()) {
        if (!Modifier.isStatic(test.getModifiers()) || test.getParameterCount() > 0
            || test.isSynthetic() || Modifier.isPrivate(test.getModifiers())) {
          continue;
        }
        try {
          test.invoke(null);
          ++passed;
        } catch (ReflectiveOperationException error) {
          ++failed;
          System.out.println("FAILED " + one.getName() + "." + test.getName());
          error.getCause().printStackTrace(System.out);
        }
      }
    }
    System.out.println(passed + " tests passed, " + failed + " failed, Java "
        + Runtime.version().feature() + ", " + Ondine.backend());
    if (failed > 0 || passed == 0) System.exit(1);
  }
}
