package org.ondine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.DoublePredicate;

/**
 * An ONNX model with its state. {@link #infer}, {@link #evalStep}, {@link #gradients} and what only
 * reads may run at once in any number of threads, also beside a training step; a second step, or a
 * setter beside a call, is an error.
 */
public final class Model extends Handle {
  /** Gives {@code length} bytes of what a model keeps outside, from an offset on. */
  public interface ExternalData {
    byte[] read(String location, long offset, int length) throws Exception;
  }

  private final Report prepareReport;
  private long progress;
  private long warning;

  Model(long address, Report report) {
    super(address, made -> Library.CALLS.ondine_model_free(made));
    prepareReport = report;
  }

  // ---- making models ----

  /** A model as it is. {@code options}: group load. */
  public static Model load(Path file, Options options) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file), list = scope.options(options);
      return new Model(
          Values.made((calls, out) -> calls.ondine_model_load(name, list, out)), null);
    }
  }

  public static Model load(Path file) {
    return load(file, Options.none());
  }

  public static Model load(byte[] bytes, Options options) {
    return load(bytes, null, options);
  }

  /** The bytes of a model that keeps tensors outside. */
  public static Model load(byte[] bytes, ExternalData external, Options options) {
    long user = external == null ? 0 : Callbacks.keep(external);
    try (Scope scope = new Scope()) {
      long data = scope.bytes(bytes), list = scope.options(options);
      long read = external == null ? 0 : Callbacks.function(Callbacks.EXTERNAL);
      Model made = new Model(Values.made((calls, out) -> calls.ondine_model_load_bytes(
          data, bytes.length, read, user, list, out)), null);
      made.adopt(user);
      return made;
    } catch (Throwable refused) {
      Callbacks.forget(user);
      throw refused;
    }
  }

  /**
   * An inference model with its training information, initialized and ready to train. {@code
   * options}: group prepare; {@code load}: group load.
   */
  public static Model prepare(Path file, Options options, Options load) {
    try (Scope scope = new Scope()) {
      long name = scope.path(file);
      return prepared(scope, options, load, (calls, list, loading, model, report) ->
          calls.ondine_prepare(name, list, loading, model, report));
    }
  }

  public static Model prepare(Path file, Options options) {
    return prepare(file, options, Options.none());
  }

  public static Model prepare(byte[] bytes, Options options, Options load) {
    try (Scope scope = new Scope()) {
      long data = scope.bytes(bytes);
      return prepared(scope, options, load, (calls, list, loading, model, report) ->
          calls.ondine_prepare_bytes(data, bytes.length, list, loading, model, report));
    }
  }

  /** The same of a model that is loaded, with its present weights. */
  public Model prepare(Options options, Options load) {
    try (Scope scope = new Scope()) {
      return prepared(scope, options, load, (calls, list, loading, model, report) ->
          calls.ondine_prepare_model(address, list, loading, model, report));
    } finally {
      java.lang.ref.Reference.reachabilityFence(this);
    }
  }

  private interface Preparing {
    long run(Calls calls, long options, long load, long model, long report);
  }

  private static Model prepared(Scope scope, Options options, Options load, Preparing call) {
    long list = scope.options(options), loading = scope.options(load);
    long model = scope.out(), report = scope.out();
    call(calls -> call.run(calls, list, loading, model, report));
    return new Model(Scope.at(model), new Report(Library.takeText(Scope.at(report))));
  }

  /** A model of its own with the present state. */
  public Model copy() {
    return new Model(get((calls, out) -> calls.ondine_model_clone(address, out)), prepareReport);
  }

  // ---- what a model is ----

  /** What preparing chose; null for a model that was loaded. */
  public Report prepareReport() {
    return prepareReport;
  }

  /** Inputs, outputs, algorithms, state, metadata, warnings, ... */
  public Report describe() {
    return getReport((calls, out) -> calls.ondine_model_describe(address, out));
  }

  /** SHA-256 of the model without the values of its state, in hexadecimal. */
  public String fingerprint() {
    return getText((calls, out) -> calls.ondine_model_fingerprint(address, out));
  }

  /** Training steps since the model was loaded or initialized. */
  public long steps() {
    return get((calls, out) -> calls.ondine_model_steps(address, out));
  }

  /** The printed form of a stage: model, graph, training, gradient, optimized, plan. */
  public String inspect(String stage, int algorithm) {
    try (Scope scope = new Scope()) {
      long name = scope.text(stage);
      return getText((calls, out) -> calls.ondine_model_inspect(address, name, algorithm, out));
    }
  }

  /** Memory that a call with these feeds takes; {@code algorithm} -1: of {@link #infer}. */
  public Report plan(Values feeds, int algorithm, String... fetches) {
    try (Scope scope = new Scope()) {
      long names = scope.names(List.of(fetches));
      return getReport((calls, out) ->
          calls.ondine_model_plan(address, addressOf(feeds), algorithm, names, out), feeds);
    }
  }

  // ---- calls ----

  public void initialize(long seed) {
    run(calls -> calls.ondine_model_initialize(address, seed));
  }

  /**
   * One step of the first training algorithm. {@code fetches}: outputs that are wanted; none: those
   * of the algorithm.
   */
  public Values trainStep(Values feeds, String... fetches) {
    return trainStep(0, feeds, fetches);
  }

  public Values trainStep(int algorithm, Values feeds, String... fetches) {
    return results(feeds, fetches, (calls, names, out) ->
        calls.ondine_model_train_step(address, addressOf(feeds), algorithm, names, out));
  }

  /** Loss and metrics of a batch in evaluation mode, without updates. */
  public Values evalStep(Values feeds, String... fetches) {
    return evalStep(0, feeds, fetches);
  }

  public Values evalStep(int algorithm, Values feeds, String... fetches) {
    return results(feeds, fetches, (calls, names, out) ->
        calls.ondine_model_eval_step(address, addressOf(feeds), algorithm, names, out));
  }

  /** {@code fetches}: outputs that are wanted; none: all. */
  public Values infer(Values feeds, String... fetches) {
    return results(feeds, fetches, (calls, names, out) ->
        calls.ondine_model_infer(address, addressOf(feeds), names, out));
  }

  /** The derivatives of the loss by state variables, by their names, without updates. */
  public Values gradients(int algorithm, Values feeds) {
    return results(feeds, new String[0], (calls, names, out) ->
        calls.ondine_model_gradients(address, addressOf(feeds), algorithm, out));
  }

  private interface Fetching {
    long run(Calls calls, long names, long out);
  }

  private Values results(Values feeds, String[] fetches, Fetching call) {
    try (Scope scope = new Scope()) {
      long names = scope.names(java.util.Arrays.asList(fetches));
      return Values.owned(get((calls, out) -> call.run(calls, names, out), feeds));
    }
  }

  // ---- state ----

  public float learningRate(int algorithm) {
    return Float.intBitsToFloat((int) get((calls, out) ->
        calls.ondine_model_get_learning_rate(address, algorithm, out)));
  }

  public void setLearningRate(int algorithm, float rate) {
    run(calls -> calls.ondine_model_set_learning_rate(address, algorithm, rate));
  }

  /** A copy of a state variable. */
  public Value state(String name) {
    try (Scope scope = new Scope()) {
      long text = scope.text(name);
      return new Value(get((calls, out) -> calls.ondine_model_get_state(address, text, out)));
    }
  }

  /** All at once or, with an error, none. */
  public void setState(Values values) {
    run(calls -> calls.ondine_model_set_state(address, addressOf(values)), values);
  }

  /** All float32 weights, one after the other in the order of the state. */
  public float[] parameters() {
    long count = get((calls, out) -> calls.ondine_model_parameter_count(address, out));
    try (Value numbers = Value.zeros(DType.FLOAT32, count)) {
      long data = numbers.data();
      run(calls -> calls.ondine_model_get_parameters(address, data, count));
      return numbers.floats();
    }
  }

  public void setParameters(float... numbers) {
    try (Value given = Value.of(numbers)) {
      long data = given.data();
      run(calls -> calls.ondine_model_set_parameters(address, data, numbers.length));
    }
  }

  /** Gives every parameter the value of its running average (option average of preparing). */
  public void takeAverages() {
    run(calls -> calls.ondine_model_take_averages(address));
  }

  // ---- settings; an error while another call uses the model ----

  public void setThreads(int threads) {
    run(calls -> calls.ondine_model_set_threads(address, threads));
  }

  /** Every call that takes longer fails with {@link Code#LIMIT}; null for none. */
  public void setDeadline(Duration deadline) {
    long milliseconds = deadline == null ? -1 : deadline.toMillis();
    run(calls -> calls.ondine_model_set_deadline(address, milliseconds));
  }

  /** Null for none. */
  public void setCancel(Cancel cancel) {
    run(calls -> calls.ondine_model_set_cancel(address, addressOf(cancel)), cancel);
  }

  /**
   * Is told the fraction of a call that is done, at most about every 10 ms; false ends the call with
   * {@link Code#CANCELLED}. Null for none.
   */
  public synchronized void onProgress(DoublePredicate tell) {
    long user = tell == null ? 0 : keep(tell);
    long function = tell == null ? 0 : Callbacks.function(Callbacks.PROGRESS);
    kept(user, () -> run(calls -> calls.ondine_model_set_progress(address, function, user)));
    forget(progress);
    progress = user;
  }

  /** Is told each warning: those that are known at once, others when a call finds them. */
  public synchronized void onWarning(java.util.function.Consumer<String> say) {
    long user = say == null ? 0 : keep(new Callbacks.Tuning(say, null, null));
    long function = say == null ? 0 : Callbacks.function(Callbacks.TEXT);
    kept(user, () ->
        run(calls -> calls.ondine_model_set_warning_callback(address, function, user)));
    forget(warning);
    warning = user;
  }

  private void kept(long user, Runnable call) {
    try {
      call.run();
    } catch (OndineException refused) {
      forget(user);
      throw refused;
    }
  }

  public void setProfiling(boolean on) {
    run(calls -> calls.ondine_model_set_profiling(address, on ? 1 : 0));
  }

  /** Seconds by operator since profiling was switched on. */
  public Report profile() {
    return getReport((calls, out) -> calls.ondine_model_profile(address, out));
  }

  /** Files of this model. */
  public ModelFiles files() {
    return new ModelFiles(this);
  }

  /** Adapters of this model. */
  public Adapters adapters() {
    return new Adapters(this);
  }
}
