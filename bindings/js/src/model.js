// Models: loading, preparing, calls, state and files.
import { refuse } from "./errors.js";
import { stored, temporary } from "./files.js";
import { Owned } from "./handles.js";
import { divide, toPairs } from "./options.js";
import { call, invoke, json, loadedThreads, read, ready, scoped, text, u64 } from "./runtime.js";
import { bytesOf } from "./tensor.js";
import { fromValue, made, takeValues, withValues } from "./values.js";

const byName = (ports) => new Map(ports.map((port) => [port.name, port]));

function algorithmOf(given) {
  const algorithm = given.algorithm ?? 0;
  if (Number.isInteger(algorithm) && algorithm >= 0) return algorithm;
  throw refuse("mismatch", `algorithm ${algorithm} is no number of a training algorithm`);
}

/** Options of loading: all threads where none are named, as results do not depend on them. */
function loading(pairs) {
  if (loadedThreads() === 1 || pairs.some(([name]) => name === "threads")) return pairs;
  return [...pairs, ["threads", String(loadedThreads())]];
}

function numberOf(value, what) {
  if (typeof value !== "number")
    throw refuse("mismatch", `${what} is a ${typeof value}, not a number`);
  return value;
}

/** A model that can be trained. Made by Model.load() and prepare(). */
export class Model extends Owned {
  #ports = new Map();

  /** Not for callers: Model.load() and prepare() make models. */
  constructor(handle, prepareReport = null) {
    super(handle, "ondine_model_free");
    this.prepareReport = prepareReport;
  }

  /** Loads the bytes of an .onnx file. */
  static async load(bytes, options = {}) {
    await ready();
    const source = bytesOf(bytes, "the model");
    return scoped(
      (scope) =>
        new Model(
          made(
            scope,
            "ondine_model_load_bytes",
            scope.bytes(source),
            source.byteLength,
            0,
            0,
            scope.options(loading(toPairs(options))),
          ),
        ),
    );
  }

  // What a model is.
  describe() {
    return json("ondine_model_describe", this.handle);
  }

  get inputs() {
    return this.describe().inputs;
  }

  get outputs() {
    return this.describe().outputs;
  }

  get state() {
    return this.describe().state;
  }

  get steps() {
    return scoped((scope) => {
      const out = scope.out();
      call("ondine_model_steps", this.handle, out);
      return Number(read.u64(out));
    });
  }

  fingerprint() {
    return text("ondine_model_fingerprint", this.handle);
  }

  inspect(stage, algorithm = 0) {
    return scoped((scope) =>
      text("ondine_model_inspect", this.handle, scope.text(stage, "a stage"), algorithm),
    );
  }

  // Calls.
  #inputs(algorithm) {
    let ports = this.#ports.get(algorithm);
    if (ports === undefined) {
      const whole = this.describe();
      ports = byName(algorithm < 0 ? whole.inputs : (whole.algorithms[algorithm]?.inputs ?? []));
      this.#ports.set(algorithm, ports);
    }
    return ports;
  }

  #step(name, feeds, given) {
    const algorithm = algorithmOf(given);
    return withValues(feeds, this.#inputs(algorithm), (values, scope) =>
      takeValues(
        made(scope, name, this.handle, values, algorithm, scope.names(given.fetches, "a fetch")),
      ),
    );
  }

  /** One training step: what the algorithm returns (loss, accuracy, ...), or `fetches`. */
  trainStep(feeds, given = {}) {
    return this.#step("ondine_model_train_step", feeds, given);
  }

  /** Loss and metrics of a batch in evaluation mode, without an update. */
  evalStep(feeds, given = {}) {
    return this.#step("ondine_model_eval_step", feeds, given);
  }

  /** The outputs of the network. */
  infer(feeds, given = {}) {
    return withValues(feeds, this.#inputs(-1), (values, scope) =>
      takeValues(
        made(
          scope,
          "ondine_model_infer",
          this.handle,
          values,
          scope.names(given.fetches, "a fetch"),
        ),
      ),
    );
  }

  /** The derivatives of the loss by name of the state variable, without an update. */
  gradients(feeds, given = {}) {
    const algorithm = algorithmOf(given);
    return withValues(feeds, this.#inputs(algorithm), (values, scope) =>
      takeValues(made(scope, "ondine_model_gradients", this.handle, values, algorithm)),
    );
  }

  /** Memory of a call before it runs; without an algorithm that of infer(). */
  plan(feeds, given = {}) {
    const algorithm = given.algorithm === undefined ? -1 : algorithmOf(given);
    return withValues(feeds, this.#inputs(algorithm), (values, scope) =>
      json(
        "ondine_model_plan",
        this.handle,
        values,
        BigInt(algorithm),
        scope.names(given.fetches, "a fetch"),
      ),
    );
  }

  // State.
  /** Goes back to the initial state, drawing what is drawn with this seed. */
  initialize(seed = 0) {
    call("ondine_model_initialize", this.handle, u64(seed, "a seed"));
  }

  get learningRate() {
    return scoped((scope) => {
      const out = scope.out(4);
      call("ondine_model_get_learning_rate", this.handle, 0, out);
      return read.f32(out);
    });
  }

  set learningRate(rate) {
    call("ondine_model_set_learning_rate", this.handle, 0, numberOf(rate, "a learning rate"));
  }

  /** A copy of a state variable. */
  getState(name) {
    return scoped((scope) => {
      const value = made(scope, "ondine_model_get_state", this.handle, scope.text(name, "a name"));
      try {
        return fromValue(value);
      } finally {
        invoke("ondine_value_free", value);
      }
    });
  }

  /** Sets state variables, all or none. */
  setState(values) {
    withValues(values, byName(this.state), (list) =>
      call("ondine_model_set_state", this.handle, list),
    );
  }

  takeAverages() {
    call("ondine_model_take_averages", this.handle);
  }

  clone() {
    return scoped(
      (scope) => new Model(made(scope, "ondine_model_clone", this.handle), this.prepareReport),
    );
  }

  // Files, as bytes.
  saveCheckpoint() {
    return temporary((path, scope) => {
      call("ondine_model_save_checkpoint", this.handle, scope.text(path));
      return stored(path);
    });
  }

  restoreCheckpoint(bytes) {
    return this.#read("ondine_model_restore_checkpoint", bytes, "the checkpoint");
  }

  saveWeights({ all = false } = {}) {
    return temporary((path, scope) => {
      call("ondine_model_save_weights", this.handle, scope.text(path), all ? 1 : 0);
      return stored(path);
    });
  }

  loadWeights(bytes, { all = false } = {}) {
    return this.#read("ondine_model_load_weights", bytes, "the weights", all ? 1 : 0);
  }

  #read(name, bytes, what, ...more) {
    const source = bytesOf(bytes, what);
    return temporary((path, scope) => json(name, this.handle, scope.text(path), ...more), source);
  }

  /** The inference model with the present weights. */
  exportInference() {
    return this.#export("ondine_model_export_inference_bytes");
  }

  /** The training model with the present state. */
  exportTraining() {
    return this.#export("ondine_model_export_training_bytes");
  }

  #export(name) {
    return scoped((scope) => {
      const out = scope.out();
      call(name, this.handle, out, out + 4);
      return takeBytes(out);
    });
  }

  // Settings.
  setThreads(threads) {
    call("ondine_model_set_threads", this.handle, numberOf(threads, "the number of threads"));
  }

  /** Every call that takes longer is an error of code "limit"; null for none. */
  setDeadline(seconds) {
    const milliseconds =
      seconds === null ? -1 : Math.max(0, Math.round(numberOf(seconds, "a deadline") * 1000));
    if (!Number.isSafeInteger(milliseconds))
      throw refuse("mismatch", `a deadline is a number of seconds or null, not ${seconds}`);
    call("ondine_model_set_deadline", this.handle, BigInt(milliseconds));
  }
}

/** Bytes that a function gave at `out`, with their number behind the pointer. */
export function takeBytes(out) {
  const at = read.u32(out);
  const bytes = read.bytes(at, read.u32(out + 4));
  invoke("ondine_free", at);
  return bytes;
}

/** Adds loss, gradient, optimizer and initialization to the bytes of an inference model or to a Model. */
export async function prepare(source, options = {}) {
  await ready();
  const [prepareBy, loadBy] = divide(options, "prepare", "load");
  return scoped((scope) => {
    const out = scope.out();
    const rest = [scope.options(prepareBy), scope.options(loading(loadBy)), out, out + 4];
    if (source instanceof Model) {
      call("ondine_prepare_model", source.handle, ...rest);
    } else {
      const bytes = bytesOf(source, "the model");
      call("ondine_prepare_bytes", scope.bytes(bytes), bytes.byteLength, ...rest);
    }
    return new Model(read.u32(out), JSON.parse(read.given(read.u32(out + 4))));
  });
}
