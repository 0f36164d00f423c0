// Data sets, the training loop, and new networks.
import { refuse } from "./errors.js";
import { Owned } from "./handles.js";
import { Model, takeBytes } from "./model.js";
import { toPairs } from "./options.js";
import { call, drop, json, keep, read, ready, reportCallback, scoped, u64 } from "./runtime.js";
import { made, takeValues, withOwnValues } from "./values.js";

const USES = { training: 0, evaluation: 1, inference: 2 };

function handleOf(object, kind, what) {
  if (object instanceof kind) return object.handle;
  throw refuse("mismatch", `${what} is no ${kind.name}`);
}

/** Named columns with an entry for each row: a training and possibly a validation part. */
export class Dataset extends Owned {
  /** Not for callers: fromArrays() and open() make data sets. */
  constructor(handle) {
    super(handle, "ondine_dataset_free");
  }

  /** Arrays and tensors whose first axis counts rows; they are copied. */
  static async fromArrays(training, { validation, ...options } = {}) {
    await ready();
    return withOwnValues(training, (rows) =>
      withOwnValues(
        validation,
        (others, scope) =>
          new Dataset(
            made(
              scope,
              "ondine_dataset_from_values",
              rows,
              validation === undefined ? 0 : others,
              scope.options(toPairs(options)),
            ),
          ),
      ),
    );
  }

  /** Files that writeFile() wrote. `model`: data is read as this model takes it. */
  static async open(places, { model, use = "training", ...options } = {}) {
    await ready();
    if (!Object.hasOwn(USES, use)) {
      throw refuse("mismatch", `use is one of ${Object.keys(USES).join(", ")}, not ${String(use)}`);
    }
    const list = Array.isArray(places) ? places : [places];
    const reader = model === undefined ? 0 : handleOf(model, Model, "the model");
    return scoped(
      (scope) =>
        new Dataset(
          made(
            scope,
            "ondine_dataset_open",
            scope.names(list, "a place"),
            reader,
            USES[use],
            scope.options(toPairs(options)),
          ),
        ),
    );
  }

  describe() {
    return json("ondine_dataset_describe", this.handle);
  }

  get rows() {
    return scoped((scope) => {
      const out = scope.out();
      call("ondine_dataset_rows", this.handle, out);
      return Number(read.u64(out));
    });
  }

  #part(name) {
    return scoped((scope) => new Dataset(made(scope, name, this.handle)));
  }

  training() {
    return this.#part("ondine_dataset_training");
  }

  validation() {
    return this.#part("ondine_dataset_validation");
  }

  /** The training part in batches, in an order that follows from seed and epoch. */
  *batches(size, { seed = 0, epoch = 0, shuffle = true, model, algorithm = 0 } = {}) {
    const reader = model === undefined ? 0 : handleOf(model, Model, "the model");
    if (!Number.isInteger(algorithm)) {
      throw refuse(
        "mismatch",
        `algorithm ${algorithm} is no number of a training algorithm, nor -1`,
      );
    }
    const range = scoped(
      (scope) =>
        new Owned(
          made(
            scope,
            "ondine_batches_new",
            this.handle,
            u64(size, "a batch size"),
            u64(seed, "a seed"),
            u64(epoch, "an epoch"),
            shuffle ? 1 : 0,
            reader,
            BigInt(algorithm),
          ),
          "ondine_batches_free",
        ),
    );
    try {
      for (;;) {
        const values = scoped((scope) => made(scope, "ondine_batches_next", range.handle));
        if (values === 0) return;
        yield takeValues(values);
      }
    } finally {
      range.free();
    }
  }
}

/** Trains a model over epochs: validation, schedules, early stopping, checkpoints. */
export class Trainer extends Owned {
  #closures = [];

  constructor(model, options = {}) {
    const trained = handleOf(model, Model, "the model of a trainer");
    super(
      scoped((scope) =>
        made(scope, "ondine_trainer_new", trained, scope.options(toPairs(options))),
      ),
      "ondine_trainer_free",
    );
    this.model = model;
  }

  #add(name, callback) {
    if (typeof callback !== "function") throw refuse("mismatch", "a callback is a function");
    const number = keep(callback);
    this.#closures.push(number);
    call(name, this.handle, reportCallback(), number);
  }

  /** Adds a callback for step reports; one that returns false ends the run. */
  onStep(callback) {
    this.#add("ondine_trainer_on_step", callback);
  }

  /** Adds a callback for epoch reports; one that returns false ends the run. */
  onEpoch(callback) {
    this.#add("ondine_trainer_on_epoch", callback);
  }

  /** Trains until all epochs are done or something stops the run; the call returns then. */
  fit(training, validation) {
    return json(
      "ondine_trainer_fit",
      this.handle,
      handleOf(training, Dataset, "the training data"),
      validation === undefined ? 0 : handleOf(validation, Dataset, "the validation data"),
    );
  }

  /** Loss and metrics of the training part of a data set. */
  evaluate(dataset) {
    return json("ondine_trainer_evaluate", this.handle, handleOf(dataset, Dataset, "the data"));
  }

  /** From a callback: the run ends before its next step. */
  requestStop() {
    call("ondine_trainer_request_stop", this.handle);
  }

  free() {
    super.free();
    this.#closures.forEach(drop);
  }
}

/** Compares an output of the model with the labels of the data. */
export function evaluate(model, dataset, options = {}) {
  return scoped((scope) =>
    json(
      "ondine_evaluate",
      handleOf(model, Model, "the model"),
      handleOf(dataset, Dataset, "the data"),
      scope.options(toPairs(options)),
    ),
  );
}

/** A small network for the data, with initial weights. `kind`: mlp, cnn, unet, text, audio or null. */
export function newNetwork(kind, dataset, options = {}) {
  return scoped((scope) => {
    const out = scope.out(12);
    call(
      "ondine_new_network",
      kind === null ? 0 : scope.text(kind, "the kind"),
      handleOf(dataset, Dataset, "the data"),
      scope.options(toPairs(options)),
      out,
      out + 4,
      out + 8,
    );
    const bytes = takeBytes(out);
    return { bytes, description: read.given(read.u32(out + 8)) };
  });
}
