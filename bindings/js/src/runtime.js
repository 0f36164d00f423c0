// The module of WebAssembly: starting it, its memory, and calls of <ondine/c.h>.
import { OndineError, refuse } from "./errors.js";

let module = null;
let starting = null;
let broken = null;
let pending = null; // what a callback threw, with the call that it ends

let loaded = 1;

const MOST_THREADS = 1024;

async function processors() {
  if (globalThis.navigator?.hardwareConcurrency !== undefined)
    return navigator.hardwareConcurrency;
  return (await import("node:os")).availableParallelism();
}

/** How many threads to load for what ready() was given. */
async function threadsFor(wanted) {
  const possible =
    typeof SharedArrayBuffer !== "undefined" && globalThis.crossOriginIsolated !== false;
  if (wanted === "auto") return possible ? Math.min(await processors(), MOST_THREADS) : 1;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_THREADS) {
    throw refuse(
      "mismatch",
      `threads is "auto" or an integer from 1 to ${MOST_THREADS}, not ${String(wanted)}`,
    );
  }
  if (wanted > 1 && !possible) {
    throw refuse(
      "limit",
      `${wanted} threads need shared memory, which this page does not have: serve it with the ` +
        "headers Cross-Origin-Opener-Policy: same-origin and " +
        'Cross-Origin-Embedder-Policy: require-corp, or give threads: "auto"',
    );
  }
  return wanted;
}

async function start(options, threads) {
  // The names are literals, so that bundlers find the files.
  const { default: factory } =
    threads === 1 ? await import("./ondine-wasm.mjs") : await import("./ondine-wasm-threads.mjs");
  const settings = { threads };
  if (options.wasmBinary !== undefined) {
    settings.wasmBinary = options.wasmBinary;
    // Otherwise the place of a file that is not read is computed, which a blob has not.
    settings.locateFile = (name) => name;
  }
  if (options.wasmUrl !== undefined) settings.locateFile = () => String(options.wasmUrl);
  const made = await factory(settings);
  made.FS.mkdir("/ondine");
  // A worker that is made later begins when its maker returns, which waits for it.
  if (threads > 1) made.PThread.getNewWorker = () => made.PThread.unusedWorkers.pop();
  module = made;
  loaded = threads;
}

async function load(options) {
  const threads = await threadsFor(options.threads ?? 1);
  try {
    await start(options, threads);
  } catch (error) {
    throw refuse("io", `cannot load the module of WebAssembly: ${error.message}`, error);
  }
  return { threads };
}

/** Loads the module, once for all; what loads or makes objects waits for it anyway. */
export function ready(options = {}) {
  if (starting === null) {
    starting = load(options).catch((error) => {
      starting = null;
      throw error;
    });
  } else if (["wasmBinary", "wasmUrl", "threads"].some((one) => options[one] !== undefined)) {
    return Promise.reject(
      refuse("mismatch", "the module was loaded already; give its place and threads before"),
    );
  }
  return starting;
}

/** Threads that models may have. */
export function loadedThreads() {
  return loaded;
}

function live() {
  if (broken !== null) {
    throw refuse(
      "internal",
      `the module stopped earlier and must be loaded anew: ${broken.message}`,
      broken,
    );
  }
  if (module === null) throw refuse("mismatch", "the module is not loaded yet: await ready()");
  return module;
}

/** A function of <ondine/c.h>; what it returns as it is. */
export function invoke(name, ...args) {
  const functions = live();
  try {
    return functions[`_${name}`](...args);
  } catch (error) {
    if (error instanceof TypeError) throw error; // an argument of another type: nothing ran
    // An exception of C++ never comes out of the library: this is a trap, as a stack that is full.
    broken = error;
    throw refuse("internal", `${name} stopped: ${error.message}`, error);
  }
}

/** A function that returns an ondine_error: throws that. */
export function call(name, ...args) {
  const error = invoke(name, ...args) >>> 0;
  const thrown = pending;
  pending = null;
  const failure = error === 0 ? null : taken(error);
  if (thrown !== null) throw thrown.value;
  if (failure !== null) throw failure;
}

function taken(error) {
  const number = invoke("ondine_error_code", error);
  const context = [];
  for (let i = 0; ; ++i) {
    const line = invoke("ondine_error_context", error, i) >>> 0;
    if (line === 0) break;
    context.push(read.text(line));
  }
  const result = new OndineError(read.text(invoke("ondine_error_message", error) >>> 0), {
    code: read.text(invoke("ondine_code_name", number) >>> 0),
    number,
    reason: read.text(invoke("ondine_error_reason", error) >>> 0),
    context,
  });
  invoke("ondine_error_free", error);
  return result;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

// Views are made anew when the memory has grown, which any thread lets it do.
let bytes = new Uint8Array(0);
let numbers = new DataView(bytes.buffer);
function heap() {
  const { buffer } = live().wasmMemory;
  if (bytes.buffer !== buffer) {
    bytes = new Uint8Array(buffer);
    numbers = new DataView(buffer);
  }
  return bytes;
}
function view() {
  heap();
  return numbers;
}

export const read = {
  u32: (at) => view().getUint32(at, true),
  i32: (at) => view().getInt32(at, true),
  u64: (at) => view().getBigUint64(at, true),
  f32: (at) => view().getFloat32(at, true),
  f64: (at) => view().getFloat64(at, true),
  /** A copy. */
  bytes: (at, size) => heap().slice(at, at + size),
  text(at, length) {
    const from = heap();
    return decoder.decode(from.slice(at, length === undefined ? from.indexOf(0, at) : at + length));
  },
  /** List of int64. */
  dims(at, rank) {
    const from = view();
    return Array.from({ length: rank }, (_, i) => Number(from.getBigInt64(at + 8 * i, true)));
  },
  /** A text that the library gave. */
  given(at) {
    const text = read.text(at);
    invoke("ondine_free", at);
    return text;
  },
};

/** Memory of the module for one call, given back at its end. */
class Scope {
  #blocks = [];

  memory(size) {
    const at = live()._malloc(Math.max(size, 1)) >>> 0;
    if (at === 0) throw refuse("limit", `memory is short: ${size} bytes for what a call is given`);
    this.#blocks.push(at);
    return at;
  }

  /** Zeros, where a call writes a result. */
  out(size = 8) {
    const at = this.memory(size);
    heap().fill(0, at, at + size);
    return at;
  }

  bytes(bytes) {
    const at = this.memory(bytes.byteLength);
    heap().set(bytes, at);
    return at;
  }

  text(text, what = "a text") {
    if (typeof text !== "string")
      throw refuse("mismatch", `${what} is a ${typeof text}, not a string`);
    if (text.includes("\0")) throw refuse("mismatch", `${what} has a zero character`);
    return this.bytes(encoder.encode(`${text}\0`));
  }

  pointers(list) {
    const at = this.memory(4 * list.length);
    list.forEach((one, i) => view().setUint32(at + 4 * i, one, true));
    return at;
  }

  dims(dims) {
    const at = this.memory(8 * dims.length);
    dims.forEach((one, i) => view().setBigInt64(at + 8 * i, BigInt(one), true));
    return at;
  }

  /** Texts with NULL at their end; nothing where there are none. */
  names(list, what) {
    if (list === undefined || list.length === 0) return 0;
    return this.pointers([...list.map((one) => this.text(one, what)), 0]);
  }

  /** Pairs of texts as a list of ondine_option. */
  options(pairs) {
    return this.pointers([...pairs.flat().map((one) => this.text(one, "an option")), 0, 0]);
  }

  end() {
    for (const block of this.#blocks) live()._free(block);
  }
}

/** `work` with memory that is given back afterwards. */
export function scoped(work) {
  const scope = new Scope();
  try {
    return work(scope);
  } finally {
    if (broken === null) scope.end();
  }
}

/** An integer for uint64_t. */
export function u64(value, what) {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) {
    const number = BigInt(value);
    if (BigInt.asUintN(64, number) === number) return number;
  }
  throw refuse("mismatch", `${what} is an integer from 0 to 2^64 - 1, not ${String(value)}`);
}

/** JSON that a function gives by its last argument. */
export function json(name, ...args) {
  return JSON.parse(text(name, ...args));
}

export function text(name, ...args) {
  return scoped((scope) => {
    const out = scope.out(4);
    call(name, ...args, out);
    return read.given(read.u32(out));
  });
}

// What the library calls back: one function for all, which finds the closure by its number.
const closures = new Map();
let lastClosure = 0;
let reporting = null;

/** A number for `user`, until it is dropped. */
export function keep(closure) {
  closures.set(++lastClosure, closure);
  return lastClosure;
}

export function drop(number) {
  closures.delete(number);
}

/** ondine_report_callback: the closure ends the run by returning false. */
export function reportCallback() {
  reporting ??= live().addFunction((user, report) => {
    try {
      return closures.get(user)(JSON.parse(read.text(report >>> 0))) === false ? 1 : 0;
    } catch (value) {
      pending ??= { value };
      return 1;
    }
  }, "iii");
  return reporting;
}

export function heapBytes() {
  return heap().length;
}

/** Files in the memory of the module. */
export function files() {
  return live().FS;
}
