package org.ondine;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * From a model and data to a tuned model: looks at both, prepares, trains, evaluates and writes. What
 * is left out is chosen.
 */
public final class Finetune {
  private Path file;
  private byte[] bytes;
  private Model model;
  private List<Path> places = List.of();
  private Dataset dataset;
  private List<Path> validationPlaces = List.of();
  private Dataset validation;
  private Path output;
  private Options options = Options.none();
  private Options dataOptions = Options.none();
  private Options loadOptions = Options.none();
  private Consumer<String> assumed;
  private Predicate<Report> step;
  private Predicate<Report> epoch;

  /** What a run gives: the tuned model with its training information, and the finetune report. */
  public record Tuned(Model model, Report report) implements AutoCloseable {
    @Override
    public void close() {
      model.close();
    }
  }

  /** The inference model; without one, a new network for the data. */
  public Finetune model(Path given) {
    file = given;
    return this;
  }

  public Finetune model(byte[] given) {
    bytes = given;
    return this;
  }

  /** A loaded model with its present weights. */
  public Finetune model(Model given) {
    model = given;
    return this;
  }

  /** Files and folders, which are read as the model takes them. */
  public Finetune data(Path... given) {
    places = List.of(given);
    return this;
  }

  public Finetune data(Dataset given) {
    dataset = given;
    return this;
  }

  /** Validation data; without, a part of the data. */
  public Finetune validation(Path... given) {
    validationPlaces = List.of(given);
    return this;
  }

  public Finetune validation(Dataset given) {
    validation = given;
    return this;
  }

  /** The file of the tuned inference model. */
  public Finetune output(Path given) {
    output = given;
    return this;
  }

  /** Group finetune. */
  public Finetune options(Options given) {
    options = given;
    return this;
  }

  /** Group data, for files and folders. */
  public Finetune dataOptions(Options given) {
    dataOptions = given;
    return this;
  }

  /** Group load. */
  public Finetune loadOptions(Options given) {
    loadOptions = given;
    return this;
  }

  /** Before training, with each line of what was assumed. */
  public Finetune onAssumed(Consumer<String> say) {
    assumed = say;
    return this;
  }

  /** With the report of each step; false ends the run, which then writes no output. */
  public Finetune onStep(Predicate<Report> tell) {
    step = tell;
    return this;
  }

  /** With the report of each epoch; false ends the run after the next step. */
  public Finetune onEpoch(Predicate<Report> tell) {
    epoch = tell;
    return this;
  }

  /** An ondine_finetune_run. */
  private long write(Scope scope, long user) {
    return scope.words(scope.path(file), bytes == null ? 0 : scope.bytes(bytes),
        bytes == null ? 0 : bytes.length, Handle.addressOf(model),
        scope.names(Dataset.names(places)), Handle.addressOf(dataset),
        scope.names(Dataset.names(validationPlaces)), Handle.addressOf(validation), scope.path(output),
        scope.options(options), scope.options(dataOptions), scope.options(loadOptions),
        assumed == null ? 0 : Callbacks.function(Callbacks.TEXT),
        step == null ? 0 : Callbacks.function(Callbacks.STEP),
        epoch == null ? 0 : Callbacks.function(Callbacks.EPOCH), user);
  }

  public Tuned run() {
    long user = Callbacks.keep(new Callbacks.Tuning(assumed, step, epoch));
    try (Scope scope = new Scope()) {
      long run = write(scope, user), made = scope.out(), report = scope.out();
      try {
        Handle.call(calls -> calls.ondine_finetune(run, made, report), model, dataset, validation);
      } catch (Throwable thrown) { // of a callback that ended the run
        Library.CALLS.ondine_free(Scope.at(report));
        Library.CALLS.ondine_model_free(Scope.at(made));
        throw thrown;
      }
      return new Tuned(
          new Model(Scope.at(made), null), new Report(Library.takeText(Scope.at(report))));
    } finally {
      Callbacks.forget(user);
    }
  }
}
