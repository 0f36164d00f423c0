package org.ondine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Values by name, in order: what calls are fed with and what they return. */
public final class Values extends Handle {
  private final boolean lent; // to a callback, and its memory is used again

  private Values(long address, boolean lent) {
    super(address, lent ? null : made -> Library.CALLS.ondine_values_free(made));
    this.lent = lent;
  }

  public Values() {
    this(made((calls, out) -> calls.ondine_values_new(out)), false);
  }

  static Values owned(long address) {
    return address == 0 ? null : new Values(address, false);
  }

  static Values lent(long address) {
    return new Values(address, true);
  }

  /** What a call writes to the place that it is given. */
  static long made(Getting call, Object... kept) {
    try (Scope scope = new Scope()) {
      long out = scope.out();
      call(calls -> call.run(calls, out), kept);
      return Scope.at(out);
    }
  }

  public static Values of(Map<String, Value> values) {
    Values made = new Values();
    values.forEach(made::set);
    return made;
  }

  @Override
  public synchronized void close() {
    super.close();
  }

  /** Adds the value or takes the place of the one of this name. Gives this. */
  public synchronized Values set(String name, Value value) {
    if (lent) throw OndineException.mismatch("values of a callback do not change");
    try (Scope scope = new Scope()) {
      long text = scope.text(name);
      run(calls -> calls.ondine_values_set(address, text, addressOf(value)), value);
    }
    return this;
  }

  public Values set(String name, float[] elements, long... dims) {
    return setNew(name, () -> Value.of(elements, dims));
  }

  public Values set(String name, double[] elements, long... dims) {
    return setNew(name, () -> Value.of(elements, dims));
  }

  public Values set(String name, long[] elements, long... dims) {
    return setNew(name, () -> Value.of(elements, dims));
  }

  public Values set(String name, int[] elements, long... dims) {
    return setNew(name, () -> Value.of(elements, dims));
  }

  private Values setNew(String name, java.util.function.Supplier<Value> make) {
    Value value;
    try {
      value = make.get();
    } catch (OndineException refused) {
      throw refused.about(name);
    }
    try (value) {
      return set(name, value);
    }
  }

  public synchronized List<String> names() {
    long count = get((calls, out) -> calls.ondine_values_count(address, out));
    List<String> made = new ArrayList<>();
    for (long i = 0; i < count; ++i) {
      long index = i;
      made.add(Library.text(get((calls, out) -> calls.ondine_values_name(address, index, out))));
    }
    return made;
  }

  /** The value of a name. In a callback it is a copy, which may be kept. */
  public Value get(String name) {
    try (Scope scope = new Scope()) {
      long text = scope.text(name);
      Value made = new Value(get((calls, out) -> calls.ondine_values_get(address, text, out)));
      if (!lent || made.kind() != Kind.TENSOR) return made;
      try (made) {
        return made.dtype() == DType.STRING ? Value.of(made.texts(), made.dims())
                                            : Value.of(made.dtype(), made.bytes(), made.dims());
      }
    }
  }

  /** The only element of a tensor of numbers or booleans. */
  public double scalar(String name) {
    try (Scope scope = new Scope()) {
      long text = scope.text(name);
      return Double.longBitsToDouble(
          get((calls, out) -> calls.ondine_values_scalar(address, text, out)));
    }
  }
}
