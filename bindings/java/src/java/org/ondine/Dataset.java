package org.ondine;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Rows to train with or to evaluate. */
public final class Dataset extends Handle {
  Dataset(long address) {
    super(address, made -> Library.CALLS.ondine_dataset_free(made));
  }

  static List<String> names(List<Path> places) {
    return places.stream().map(Path::toString).toList();
  }

  /** Files and folders. {@code options}: group data. */
  public static Dataset open(List<Path> places, Options options) {
    return open(places, null, DataUse.TRAINING, options);
  }

  /** The same, read as a model takes it. */
  public static Dataset open(List<Path> places, Model model, DataUse use, Options options) {
    try (Scope scope = new Scope()) {
      long names = scope.names(names(places)), list = scope.options(options);
      return new Dataset(Values.made((calls, out) ->
          calls.ondine_dataset_open(names, addressOf(model), use.number(), list, out), model));
    }
  }

  /** Tensors whose first axis counts rows. {@code validation} may be null. */
  public static Dataset of(Values training, Values validation, Options options) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options);
      return new Dataset(Values.made((calls, out) -> calls.ondine_dataset_from_values(
          addressOf(training), addressOf(validation), list, out), training, validation));
    }
  }

  public static Dataset of(Values training) {
    return of(training, null, Options.none());
  }

  /**
   * Rows that are read when they are needed, by one thread at a time. What the reader throws comes
   * out of the call that reads.
   */
  public static Dataset of(List<Column> columns, long rows, Row.Reader reader, Options options) {
    try (Scope scope = new Scope()) {
      long given = scope.allocate(32L * columns.size()), list = scope.options(options);
      int[] sizes = new int[columns.size()];
      for (int i = 0; i < sizes.length; ++i) sizes[i] = write(scope, columns.get(i), given + 32L * i);
      long user = Callbacks.keep(new Row.Source(reader, List.copyOf(columns), sizes));
      // The library forgets it, also where the call fails.
      return new Dataset(Values.made((calls, out) -> calls.ondine_dataset_from_rows(given,
          sizes.length, rows, Callbacks.function(Callbacks.ROW),
          Callbacks.function(Callbacks.FORGET), user, list, out)));
    }
  }

  /** An ondine_column; gives the bytes of an entry. */
  private static int write(Scope scope, Column column, long at) {
    long size = Value.widthOf(column.dtype());
    try {
      for (long one : column.dims()) size = Math.multiplyExact(size, Math.max(one, 0));
      Math.toIntExact(size);
    } catch (ArithmeticException large) {
      throw OndineException.mismatch("column '" + column.name() + "' of dims "
          + Arrays.toString(column.dims()) + " is too large");
    }
    ByteBuffer to = Library.view(at, 32);
    to.putLong(0, scope.text(column.name()));
    to.putInt(8, column.dtype().number());
    to.putLong(16, column.dims().length);
    to.putLong(24, scope.words(column.dims()));
    return (int) size;
  }

  /** Rows, columns, classes, notes, ... */
  public Report describe() {
    return getReport((calls, out) -> calls.ondine_dataset_describe(address, out));
  }

  public long rows() {
    return get((calls, out) -> calls.ondine_dataset_rows(address, out));
  }

  /** The training part without the validation part. */
  public Dataset training() {
    return new Dataset(get((calls, out) -> calls.ondine_dataset_training(address, out)));
  }

  /** The validation part, which may be empty. */
  public Dataset validation() {
    return new Dataset(get((calls, out) -> calls.ondine_dataset_validation(address, out)));
  }

  /** Two parts of the training part. */
  public record Parts(Dataset first, Dataset second) {}

  /** The training part in two: {@code fraction} of the rows are the second's. */
  public Parts split(double fraction, long seed) {
    try (Scope scope = new Scope()) {
      long out = scope.words(0, 0);
      run(calls -> calls.ondine_dataset_split(address, fraction, seed, out, out + 8));
      return new Parts(new Dataset(Scope.at(out)), new Dataset(Scope.at(out + 8)));
    }
  }

  /** The training part in batches of {@code size} rows. */
  public Batches batches(long size, Batches.Order order) {
    if (size < 0) throw OndineException.mismatch("a batch has at least one row, not " + size);
    return new Batches(get((calls, out) -> calls.ondine_batches_new(address, size, order.seed(),
        order.epoch(), order.shuffle() ? 1 : 0, addressOf(order.model()), order.algorithm(), out), order));
  }
}
