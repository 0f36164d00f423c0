// Tensors, and the element types that JavaScript has arrays for.
import { refuse } from "./errors.js";

// Name, number in <ondine/c.h>, the array that holds the elements, and numbers in it for an element.
const TYPES = [
  ["float32", 1, Float32Array],
  ["uint8", 2, Uint8Array],
  ["int8", 3, Int8Array],
  ["uint16", 4, Uint16Array],
  ["int16", 5, Int16Array],
  ["int32", 6, Int32Array],
  ["int64", 7, BigInt64Array],
  ["string", 8, Array],
  ["bool", 9, Uint8Array],
  ["float16", 10, globalThis.Float16Array ?? Uint16Array],
  ["float64", 11, Float64Array],
  ["uint32", 12, Uint32Array],
  ["uint64", 13, BigUint64Array],
  ["complex64", 14, Float32Array, 2],
  ["complex128", 15, Float64Array, 2],
  ["bfloat16", 16, Uint16Array],
  ["float8e4m3fn", 17, Uint8Array],
  ["float8e4m3fnuz", 18, Uint8Array],
  ["float8e5m2", 19, Uint8Array],
  ["float8e5m2fnuz", 20, Uint8Array],
  ["uint4", 21, Uint8Array],
  ["int4", 22, Int8Array],
  ["float4e2m1", 23, Uint8Array],
  ["float8e8m0", 24, Uint8Array],
  ["uint2", 25, Uint8Array],
  ["int2", 26, Int8Array],
].map(([name, number, array, width = 1]) => ({ name, number, array, width }));

const byName = new Map(TYPES.map((one) => [one.name, one]));
const byNumber = new Map(TYPES.map((one) => [one.number, one]));
// The first type of an array is the one that it stands for by itself.
const byArray = new Map([...TYPES].reverse().map((one) => [one.array, one]));
byArray.set(Uint8ClampedArray, byName.get("uint8"));

export const typeNumbered = (number) => byNumber.get(number);

/** The type of a typed array; nothing for what is none. */
export function typeOfArray(array) {
  return ArrayBuffer.isView(array) ? byArray.get(array.constructor) : undefined;
}

/** Throws for an array whose memory went elsewhere: it would look like an empty one. */
export function requireAttached(array, what) {
  const buffer = ArrayBuffer.isView(array) ? array.buffer : array;
  try {
    new Uint8Array(buffer); // a view of a buffer that is gone cannot be made
  } catch (error) {
    throw refuse("mismatch", `${what} is detached: its buffer was transferred elsewhere`, error);
  }
}

/** Bytes given as an ArrayBuffer, or as any view of one. */
export function bytesOf(source, what) {
  const isBuffer =
    source instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer !== "undefined" && source instanceof SharedArrayBuffer);
  if (!isBuffer && !ArrayBuffer.isView(source)) {
    throw refuse("mismatch", `${what} is no ArrayBuffer and no typed array`);
  }
  requireAttached(source, what);
  return isBuffer
    ? new Uint8Array(source)
    : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
}

const sizeOf = (dims) => dims.reduce((product, dim) => product * dim, 1);

function checkedDims(dims) {
  if (!Array.isArray(dims) || !dims.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw refuse(
      "mismatch",
      `dims of a tensor are a list of integers from 0 on, not ${String(dims)}`,
    );
  }
  return [...dims];
}

/** Elements of one type in row-major order. `data` is the array that was given, not a copy. */
export class Tensor {
  constructor(dtype, data, dims) {
    const type = byName.get(dtype);
    if (type === undefined) {
      throw refuse(
        "mismatch",
        `there is no element type '${dtype}': ${[...byName.keys()].join(", ")}`,
      );
    }
    const fits =
      type.array === Array
        ? Array.isArray(data)
        : typeOfArray(data)?.array === type.array ||
          (dtype === "uint8" && data instanceof Uint8ClampedArray);
    if (!fits) throw refuse("mismatch", `a tensor of ${dtype} is given in a ${type.array.name}`);
    if (type.array !== Array) requireAttached(data, `the ${type.array.name} of a tensor`);
    this.dtype = dtype;
    this.data = data;
    this.dims = dims === undefined ? [data.length / type.width] : checkedDims(dims);
    if (sizeOf(this.dims) * type.width !== data.length) {
      throw refuse(
        "mismatch",
        `a tensor of dims [${this.dims}] has ${sizeOf(this.dims)} elements; ` +
          `the array has ${data.length / type.width}`,
      );
    }
  }
}

export const typeOf = (tensor) => byName.get(tensor.dtype);

/** Dims of an array for an input: one dim may be open, and the length decides it. */
function dimsFor(array, type, port, name) {
  const elements = array.length / type.width;
  if (port === undefined || port.dims === null) return [elements];
  const open = port.dims.filter((dim) => dim < 0).length;
  const known = sizeOf(port.dims.filter((dim) => dim >= 0));
  if (open === 0) return port.dims;
  if (open > 1 || known === 0) {
    throw refuse(
      "mismatch",
      `the array for '${name}' does not tell its dims, as ${port.type} leaves ` +
        "them open: give a Tensor with dims",
    );
  }
  if (elements % known !== 0) {
    throw refuse(
      "mismatch",
      `the array for '${name}' has ${elements} elements, which do not fill rows ` +
        `of ${known}: ${port.type}`,
    );
  }
  return port.dims.map((dim) => (dim < 0 ? elements / known : dim));
}

function fromNumber(value, port, name) {
  const type = byNumber.get(port?.dtype ?? 1);
  const takesBigInt = type.array === BigInt64Array || type.array === BigUint64Array;
  if (
    type.array === Array ||
    type.width !== 1 ||
    /^(b?float(16|[48]e)|u?int[24]$)/.test(type.name)
  ) {
    throw refuse(
      "mismatch",
      `a ${typeof value} for '${name}' does not make a ${type.name}: give a Tensor`,
    );
  }
  const array = new type.array([takesBigInt ? BigInt(value) : Number(value)]);
  const kept = takesBigInt
    ? array[0] === BigInt(value)
    : type.name.startsWith("float") || array[0] === Number(value);
  if (!kept) throw refuse("mismatch", `${value} for '${name}' is no ${type.name}`);
  return new Tensor(
    type.name,
    array,
    (port?.dims ?? []).map((dim) => Math.abs(dim)),
  );
}

/** A tensor from what is given for an input; `port` describes the input where there is one. */
export function asTensor(value, port, name) {
  if (value instanceof Tensor) {
    if (typeOf(value).array !== Array) requireAttached(value.data, `the tensor for '${name}'`);
    return value;
  }
  const type = typeOfArray(value);
  if (type !== undefined) {
    requireAttached(value, `the array for '${name}'`);
    const dims = dimsFor(value, type, port, name);
    return new Tensor(type.name, value, dims);
  }
  if (["number", "bigint", "boolean"].includes(typeof value)) return fromNumber(value, port, name);
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
    return new Tensor("string", value, dimsFor(value, byName.get("string"), port, name));
  }
  throw refuse(
    "mismatch",
    `'${name}' is given as ${value === null ? "null" : typeof value}: give a typed ` +
      "array, a Tensor, a number or a list of texts",
  );
}
