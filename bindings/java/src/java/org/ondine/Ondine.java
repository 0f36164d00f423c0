package org.ondine;

import java.nio.file.Path;
import java.util.List;

/** Functions of the library that belong to no object. */
public final class Ondine {
  private Ondine() {}

  /** "MAJOR.MINOR.PATCH" of the library. */
  public static String version() {
    return Library.text(Library.CALLS.ondine_version());
  }

  /** Objects that were made and not freed, errors included. */
  public static long liveHandles() {
    return Library.CALLS.ondine_live_handles();
  }

  /** All options of all groups, with kinds, defaults and ranges. */
  public static Report options() {
    return new Report(
        Library.takeText(Values.made((calls, out) -> calls.ondine_options_json(out))));
  }

  /** How Java reaches the library: "foreign" from Java 22 on, else "jni". */
  public static String backend() {
    return Library.BACKEND instanceof JniBackend ? "jni" : "foreign";
  }

  /** All findings on a model: none when it loads with strict=true. {@code options}: group load. */
  public static List<String> check(Path file, Options options) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file), list = scope.options(options);
      long text = Values.made((calls, out) -> calls.ondine_check(name, list, out));
      return new Report(Library.takeText(text)).list().stream().map(Report::text).toList();
    }
  }

  /** Whether there is a checkpoint to restore. */
  public static boolean hasCheckpoint(Path file) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file);
      return (int) Values.made((calls, out) -> calls.ondine_has_checkpoint(name, out)) != 0;
    }
  }

  /** Compares an output of the model with the labels of the data. {@code options}: group evaluate. */
  public static Report evaluate(Model model, Dataset dataset, Options options) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options);
      return new Report(Library.takeText(Values.made((calls, out) ->
          calls.ondine_evaluate(Handle.addressOf(model), Handle.addressOf(dataset), list, out), model, dataset)));
    }
  }

  /** The bytes of an .onnx file with a small network, and a line about it. */
  public record Network(byte[] bytes, String description) {}

  /**
   * A network for the data. {@code kind}: mlp, cnn, unet, text or audio; null: that which fits.
   * {@code options}: group network.
   */
  public static Network newNetwork(String kind, Dataset dataset, Options options) {
    try (Scope scope = new Scope()) {
      long name = scope.text(kind), list = scope.options(options), out = scope.words(0, 0, 0);
      Handle.call(calls -> calls.ondine_new_network(
          name, Handle.addressOf(dataset), list, out, out + 8, out + 16), dataset);
      String description = Library.takeText(Scope.at(out + 16));
      return new Network(ModelFiles.take(out), description);
    }
  }
}
