// Types of the package. docs/javascript.md explains it; reports are those of docs/c.md.

export type ErrorCode =
  | "invalid_model"
  | "unsupported"
  | "mismatch"
  | "corrupt"
  | "io"
  | "limit"
  | "cancelled"
  | "internal"
  | "not_finite"
  | "not_found"
  | "exists"
  | "invalid_option";

/** An error of the library. `message` is the reason and a line for each object that encloses it. */
export class OndineError extends Error {
  readonly code: ErrorCode;
  /** As in <ondine/c.h>. */
  readonly number: number;
  readonly reason: string;
  readonly context: readonly string[];
}

export type DType =
  | "float32"
  | "uint8"
  | "int8"
  | "uint16"
  | "int16"
  | "int32"
  | "int64"
  | "string"
  | "bool"
  | "float16"
  | "float64"
  | "uint32"
  | "uint64"
  | "complex64"
  | "complex128"
  | "bfloat16"
  | "float8e4m3fn"
  | "float8e4m3fnuz"
  | "float8e5m2"
  | "float8e5m2fnuz"
  | "uint4"
  | "int4"
  | "float4e2m1"
  | "float8e8m0"
  | "uint2"
  | "int2";

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Elements of one type in row-major order; types that JavaScript lacks are in arrays of their bits. */
export class Tensor {
  /** `data` is kept, not copied. Without `dims` the tensor has one axis. */
  constructor(dtype: DType, data: TypedArray | string[], dims?: readonly number[]);
  readonly dtype: DType;
  readonly data: TypedArray | string[];
  readonly dims: readonly number[];
}

/** A typed array takes the dims of its input, of which one may be open. */
export type Feed =
  TypedArray | Tensor | number | bigint | boolean | readonly string[] | readonly Feed[] | null;
export type Feeds = { readonly [name: string]: Feed };
/** A tensor of rank 0 is its element; a sequence is a list, an empty optional null. */
export type Result =
  | Tensor
  | number
  | bigint
  | string
  | readonly Result[]
  | Map<string | number | bigint, Result>
  | { readonly indices: Tensor; readonly values: Tensor }
  | null;
/** Names are those of the model: what is there is known when it runs. */
export type Results = { readonly [name: string]: any };
export type Bytes = ArrayBuffer | SharedArrayBuffer | ArrayBufferView;
export type OptionValue = string | number | bigint | boolean;
export type Report = { readonly [member: string]: any };

export interface Port {
  readonly name: string;
  /** As in "tensor(float)[N, 3]". */
  readonly type: string;
  readonly dtype: number | null;
  /** -1 where any size will do; null where the rank is unknown. */
  readonly dims: readonly number[] | null;
  readonly has_default: boolean;
}

export interface StateVariable {
  readonly name: string;
  readonly role: string;
  readonly dtype: number;
  readonly dims: readonly number[];
}

export interface StepOptions {
  /** Number of the training algorithm; 0 if absent. */
  algorithm?: number;
  /** Outputs that are wanted; those of the algorithm if absent. */
  fetches?: readonly string[];
}

/**
 * Loads the module, once for all, and says how many threads models may have. Without a call it is
 * loaded from beside the package's file, for one.
 */
export function ready(options?: {
  /** "auto": one for each processor, or one where the page may not share memory. Default: 1. */
  threads?: number | "auto";
  wasmUrl?: string | URL;
  wasmBinary?: ArrayBuffer | Uint8Array;
}): Promise<{ threads: number }>;
/** "MAJOR.MINOR.PATCH", once the module is loaded. */
export function version(): string;
/** Objects that were made and not freed. */
export function liveHandles(): number;
/** The memory of the module, which grows and never shrinks. */
export function memoryBytes(): number;
/** The options of a group, as the library's table says. */
export function options(group: string): Report[];

/** What owns memory of the module until free(), the end of a `using` block, or some time after. */
declare class Owned {
  free(): void;
  [Symbol.dispose](): void;
}

export class Model extends Owned {
  private constructor();
  static load(bytes: Bytes, options?: LoadOptions): Promise<Model>;
  /** What prepare() wrote; null for a model that was loaded. */
  readonly prepareReport: Report | null;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly state: readonly StateVariable[];
  /** Training steps since the model was loaded or initialized. */
  readonly steps: number;
  learningRate: number;
  describe(): Report;
  fingerprint(): string;
  inspect(
    stage: "model" | "graph" | "training" | "gradient" | "optimized" | "plan",
    algorithm?: number,
  ): string;
  trainStep(feeds: Feeds, options?: StepOptions): Results;
  evalStep(feeds: Feeds, options?: StepOptions): Results;
  infer(feeds: Feeds, options?: { fetches?: readonly string[] }): Results;
  gradients(feeds: Feeds, options?: { algorithm?: number }): Results;
  plan(feeds: Feeds, options?: StepOptions): Report;
  initialize(seed?: number | bigint): void;
  getState(name: string): Result;
  setState(values: Feeds): void;
  takeAverages(): void;
  clone(): Model;
  saveCheckpoint(): Uint8Array;
  restoreCheckpoint(bytes: Bytes): Report;
  /** A .safetensors file. `all`: every state variable, not only weights. */
  saveWeights(options?: { all?: boolean }): Uint8Array;
  loadWeights(bytes: Bytes, options?: { all?: boolean }): Report;
  exportInference(): Uint8Array;
  exportTraining(): Uint8Array;
  setThreads(threads: number): void;
  setDeadline(seconds: number | null): void;
}

/** Adds loss, gradient, optimizer and initialization to an inference model. */
export function prepare(
  source: Bytes | Model,
  options?: PrepareOptions & LoadOptions,
): Promise<Model>;

export class Dataset extends Owned {
  private constructor();
  /** Arrays and tensors whose first axis counts rows; they are copied. */
  static fromArrays(
    training: Feeds,
    options?: DataOptions & { validation?: Feeds },
  ): Promise<Dataset>;
  /** Files that writeFile() wrote. */
  static open(
    places: string | readonly string[],
    options?: DataOptions & {
      model?: Model;
      use?: "training" | "evaluation" | "inference";
    },
  ): Promise<Dataset>;
  readonly rows: number;
  describe(): Report;
  training(): Dataset;
  validation(): Dataset;
  batches(
    size: number,
    options?: {
      seed?: number | bigint;
      epoch?: number;
      shuffle?: boolean;
      /** Batches are feeds for its algorithm, or with -1 for infer(). */
      model?: Model;
      algorithm?: number;
    },
  ): Generator<Results, void, undefined>;
}

export class Trainer extends Owned {
  constructor(model: Model, options?: TrainOptions);
  readonly model: Model;
  /** Adds a callback; one that returns false ends the run, and what it throws comes out of fit(). */
  onStep(callback: (report: Report) => boolean | void): void;
  onEpoch(callback: (report: Report) => boolean | void): void;
  /** Blocks until the run ends: in a page, call it in a worker. */
  fit(training: Dataset, validation?: Dataset): Report;
  evaluate(dataset: Dataset): Report;
  requestStop(): void;
}

export function evaluate(model: Model, dataset: Dataset, options?: EvaluateOptions): Report;
/** A small network for the data, with initial weights: the bytes of an .onnx file. */
export function newNetwork(
  kind: "mlp" | "cnn" | "unet" | "text" | "audio" | null,
  dataset: Dataset,
  options?: NetworkOptions,
): { bytes: Uint8Array; description: string };

/** Files in the memory of the module; they are gone with the page or process. */
export function writeFile(path: string, content: Bytes | string): void;
export function readFile(path: string): Uint8Array;
export function removeFile(path: string): void;
