package org.ondine;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Options by the names of the command line without the dashes: {@code Options.of("loss", "mse",
 * "epochs", 5)}. Values are texts, numbers, booleans and paths, or a list of them for an option that
 * is repeated. The library checks names and values; {@link Ondine#options} lists all.
 */
public final class Options {
  private record Pair(String name, String value) {}

  private static final Options NONE = new Options(List.of());
  private final List<Pair> pairs;

  private Options(List<Pair> pairs) {
    this.pairs = pairs;
  }

  /** No options: the defaults. */
  public static Options none() {
    return NONE;
  }

  /** Names and values in turns. */
  public static Options of(Object... namesAndValues) {
    if (namesAndValues.length % 2 != 0) {
      throw new OndineException(Code.INVALID_OPTION, "options are names and values in turns");
    }
    Options made = NONE;
    for (int i = 0; i < namesAndValues.length; i += 2) {
      made = made.with(String.valueOf(namesAndValues[i]), namesAndValues[i + 1]);
    }
    return made;
  }

  /** These and one more. */
  public Options with(String name, Object value) {
    List<Pair> more = new ArrayList<>(pairs);
    if (value instanceof List<?> list) {
      list.forEach(one -> more.add(new Pair(name, textOf(name, one))));
    } else {
      more.add(new Pair(name, textOf(name, value)));
    }
    return new Options(List.copyOf(more));
  }

  private static String textOf(String name, Object value) {
    if (value instanceof String || value instanceof Number || value instanceof Boolean
        || value instanceof Path) {
      return value.toString();
    }
    throw new OndineException(Code.INVALID_OPTION, "option '" + name + "' is a "
        + (value == null ? "null" : value.getClass().getSimpleName())
        + ": give a text, number, boolean, path or a list of them");
  }

  long list(Scope scope) {
    if (pairs.isEmpty()) return 0;
    long[] words = new long[2 * pairs.size() + 1];
    for (int i = 0; i < pairs.size(); ++i) {
      words[2 * i] = scope.text(pairs.get(i).name);
      words[2 * i + 1] = scope.text(pairs.get(i).value);
    }
    return scope.words(words);
  }
}
