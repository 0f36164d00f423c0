// Trains ONNX models in browsers and Node: <ondine/c.h> in WebAssembly.
import { OndineError } from "./errors.js";
import { readFile, removeFile, writeFile } from "./files.js";
import { Model, prepare } from "./model.js";
import { options } from "./options.js";
import { heapBytes, invoke, read, ready } from "./runtime.js";
import { Tensor } from "./tensor.js";
import { Dataset, evaluate, newNetwork, Trainer } from "./training.js";

/** "MAJOR.MINOR.PATCH" */
export function version() {
  return read.text(invoke("ondine_version") >>> 0);
}

/** Objects that were made and not freed, errors included. */
export function liveHandles() {
  return invoke("ondine_live_handles") >>> 0;
}

/** The memory of the module, which grows and never shrinks. */
export function memoryBytes() {
  return heapBytes();
}

export {
  Dataset,
  evaluate,
  Model,
  newNetwork,
  OndineError,
  options,
  prepare,
  readFile,
  ready,
  removeFile,
  Tensor,
  Trainer,
  writeFile,
};
