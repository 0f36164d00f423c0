package org.ondine;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.DoublePredicate;
import java.util.function.Predicate;

/**
 * What the library calls. It knows objects by numbers that are never given twice, so that one that is
 * gone is found without touching memory. Nothing that is thrown crosses the library: it is kept
 * until the call returns.
 */
final class Callbacks {
  /** Functions of C, in this order, for the methods of these names. */
  static final List<String> NAMES = List.of("text", "step", "epoch", "progress", "waiting", "row",
      "external", "begin", "add", "value", "forget", "piece");

  static final int TEXT = 0, STEP = 1, EPOCH = 2, PROGRESS = 3, WAITING = 4, ROW = 5, EXTERNAL = 6,
      BEGIN = 7, ADD = 8, VALUE = 9, FORGET = 10, PIECE = 11;

  private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
  private static final AtomicLong LAST = new AtomicLong();
  private static final ThreadLocal<Throwable> PENDING = new ThreadLocal<>();
  private static final TreeMap<Integer, Throwable> FAILURES = new TreeMap<>();
  private static final AtomicInteger FAILED = new AtomicInteger();
  private static final int MOST_FAILURES = 64; // that no call asked for
  private static final String RETURNED = "callback returned ";

  private Callbacks() {}

  static MethodType typeOf(String name) {
    for (Method one : Callbacks.class.getDeclaredMethods()) {
      if (one.getName().equals(name)) {
        return MethodType.methodType(one.getReturnType(), one.getParameterTypes());
      }
    }
    throw new IllegalStateException(name);
  }

  /** Keeps an object until forget(). */
  static long keep(Object object) {
    long user = LAST.incrementAndGet();
    OBJECTS.put(user, object);
    return user;
  }

  static long function(int index) {
    return Library.BACKEND.callback(index);
  }

  /** What a callback of the call that ended threw. */
  static Throwable takeThrown(String reason) {
    Throwable thrown = PENDING.get();
    PENDING.remove();
    int at = reason.lastIndexOf(RETURNED);
    if (at < 0) return thrown;
    try {
      int number = Integer.parseInt(reason.substring(at + RETURNED.length()));
      synchronized (FAILURES) {
        Throwable failure = FAILURES.remove(number);
        return failure == null ? thrown : failure;
      }
    } catch (NumberFormatException other) {
      return thrown;
    }
  }

  private interface Work<T> {
    boolean run(T object) throws Exception;
  }

  @SuppressWarnings("unchecked")
  private static <T> boolean run(long user, Work<T> work) throws Exception {
    Object object = OBJECTS.get(user);
    if (object == null) throw OndineException.mismatch("the callback is gone");
    return work.run((T) object);
  }

  /** 0 to go on. For functions that run on the thread of the call. */
  private static <T> int stops(long user, Work<T> work) {
    try {
      return run(user, work) ? 0 : 1;
    } catch (Throwable thrown) {
      PENDING.set(thrown);
      return 1;
    }
  }

  /** 0, or a number that the reason of the error will name. */
  private static <T> int fails(long user, Work<T> work) {
    try {
      run(user, work);
      return 0;
    } catch (Throwable thrown) {
      int number = FAILED.incrementAndGet() & Integer.MAX_VALUE;
      synchronized (FAILURES) {
        FAILURES.put(number, thrown);
        for (Iterator<Integer> all = FAILURES.keySet().iterator(); FAILURES.size() > MOST_FAILURES;) {
          all.next();
          all.remove();
        }
      }
      return number == 0 ? 1 : number;
    }
  }

  /** The callbacks of a fine-tuning. */
  record Tuning(Consumer<String> assumed, Predicate<Report> step, Predicate<Report> epoch) {}

  static void text(long user, long line) {
    Callbacks.<Tuning>stops(user, tuning -> {
      tuning.assumed.accept(Library.text(line));
      return true;
    });
  }

  static int step(long user, long report) {
    if (PENDING.get() != null) return 1;
    return Callbacks.<Tuning>stops(user, one -> one.step.test(new Report(Library.text(report))));
  }

  static int epoch(long user, long report) {
    return Callbacks.<Tuning>stops(user, one -> one.epoch.test(new Report(Library.text(report))));
  }

  static int progress(long user, double fraction) {
    return Callbacks.<DoublePredicate>stops(user, one -> one.test(fraction));
  }

  static int waiting(long user) {
    return Callbacks.<java.util.function.BooleanSupplier>stops(user, one -> one.getAsBoolean());
  }

  static int row(long user, long row, long entries) {
    return Callbacks.<Row.Source>fails(user, source -> source.read(row, entries));
  }

  static int external(long user, long location, long offset, long length, long bytes) {
    return Callbacks.<Model.ExternalData>stops(user, source -> {
      byte[] made = source.read(Library.text(location), offset, Math.toIntExact(length));
      if (made.length != length) {
        throw OndineException.mismatch(
            made.length + " bytes are given where " + length + " are needed");
      }
      if (length > 0) Library.view(bytes, made.length).put(made);
      return true;
    });
  }

  static void begin(long user) {
    Callbacks.<Metric>stops(user, metric -> {
      metric.begin();
      return true;
    });
  }

  static int add(long user, long outputs, long batch) {
    return Callbacks.<Metric>fails(user, metric -> {
      metric.add(Values.lent(outputs), Values.lent(batch));
      return true;
    });
  }

  static int value(long user, long result) {
    return Callbacks.<Metric>fails(user, metric -> {
      Library.view(result, 8).putDouble(0, metric.value());
      return true;
    });
  }

  static void forget(long user) {
    OBJECTS.remove(user);
  }

  static int piece(long user, long text, long length) {
    return Callbacks.<Predicate<String>>stops(
        user, one -> one.test(Library.text(text, length)));
  }
}
