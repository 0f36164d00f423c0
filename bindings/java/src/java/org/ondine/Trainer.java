package org.ondine;

import java.util.List;
import java.util.function.Predicate;

/** The training loop. It keeps the model, which nothing else may train meanwhile. */
public final class Trainer extends Handle {
  private final Model model;

  /** {@code options}: group train. The order of rows follows from the seed of the model. */
  public Trainer(Model model, Options options) {
    super(make(model, options), made -> Library.CALLS.ondine_trainer_free(made));
    this.model = model;
  }

  private static long make(Model model, Options options) {
    try (Scope scope = new Scope()) {
      long list = scope.options(options);
      return Values.made((calls, out) -> calls.ondine_trainer_new(addressOf(model), list, out), model);
    }
  }

  public Model model() {
    return model;
  }

  private interface Adding {
    long run(Calls calls, long user);
  }

  private void add(Object callback, Adding call) {
    long user = keep(callback);
    try {
      run(calls -> call.run(calls, user));
    } catch (OndineException refused) {
      forget(user);
      throw refused;
    }
  }

  /** Adds a callback that gets the report of each step; false ends the run. */
  public void onStep(Predicate<Report> tell) {
    add(new Callbacks.Tuning(null, tell, null), (calls, user) ->
        calls.ondine_trainer_on_step(address, Callbacks.function(Callbacks.STEP), user));
  }

  /** The same of each epoch. */
  public void onEpoch(Predicate<Report> tell) {
    add(new Callbacks.Tuning(null, null, tell), (calls, user) ->
        calls.ondine_trainer_on_epoch(address, Callbacks.function(Callbacks.EPOCH), user));
  }

  /** {@code outputs} that the metric reads; none: the first of the main graph. */
  public void addMetric(String name, Metric metric, String... outputs) {
    try (Scope scope = new Scope()) {
      long given = scope.words(scope.text(name), Callbacks.function(Callbacks.BEGIN),
          Callbacks.function(Callbacks.ADD), Callbacks.function(Callbacks.VALUE),
          scope.names(List.of(outputs)));
      add(metric, (calls, user) -> calls.ondine_trainer_add_metric(address, given, user));
    }
  }

  /** Restores the checkpoint of the options: the restore report. */
  public Report resume() {
    return getReport((calls, out) -> calls.ondine_trainer_resume(address, out));
  }

  /**
   * Trains until all epochs are done or something stops the run: the fit report. {@code validation}
   * may be null: the validation part of {@code training}, or what the options set apart.
   */
  public Report fit(Dataset training, Dataset validation) {
    return getReport((calls, out) ->
        calls.ondine_trainer_fit(address, addressOf(training), addressOf(validation), out), training, validation);
  }

  public Report fit(Dataset training) {
    return fit(training, null);
  }

  /** Loss and metrics of the training part of a data set, as of validation. */
  public Report evaluate(Dataset dataset) {
    return getReport(
        (calls, out) -> calls.ondine_trainer_evaluate(address, addressOf(dataset), out), dataset);
  }

  /** A run ends before its next step. Other threads and callbacks may call it. */
  public void requestStop() {
    run(calls -> calls.ondine_trainer_request_stop(address));
  }
}
