// What calls are fed with and what they return: ondine_values.
import { refuse } from "./errors.js";
import { call, invoke, read, scoped } from "./runtime.js";
import { asTensor, Tensor, typeNumbered, typeOf } from "./tensor.js";

const KINDS = { none: 0, tensor: 1, sparse: 2, sequence: 3, map: 4, optional: 5 };

/** A handle that a function writes to its last argument. */
export function made(scope, name, ...args) {
  const out = scope.out(4);
  call(name, ...args, out);
  return read.u32(out);
}

const bytesIn = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function strings(scope, tensor) {
  const encoder = new TextEncoder();
  const texts = tensor.data.map((one) => {
    if (typeof one !== "string")
      throw refuse("mismatch", `a ${typeof one} is among the texts of a tensor`);
    return encoder.encode(one);
  });
  const lengths = scope.pointers(texts.map((one) => one.byteLength));
  const pointers = scope.pointers(texts.map((one) => scope.bytes(one)));
  return made(
    scope,
    "ondine_tensor_strings",
    tensor.dims.length,
    scope.dims(tensor.dims),
    pointers,
    lengths,
  );
}

function newTensor(scope, tensor) {
  if (tensor.dtype === "string") return strings(scope, tensor);
  return made(
    scope,
    "ondine_tensor_new",
    typeOf(tensor).number,
    tensor.dims.length,
    scope.dims(tensor.dims),
    scope.bytes(bytesIn(tensor.data)),
  );
}

function freed(handles, work) {
  try {
    return work();
  } finally {
    for (const one of handles) invoke("ondine_value_free", one);
  }
}

// The value of an input: a tensor, a list for a sequence, null for an empty optional.
function newValue(scope, value, port, name) {
  if (value === null && port?.type?.startsWith("optional")) {
    return made(scope, "ondine_value_optional", 0);
  }
  if (Array.isArray(value) && port?.type?.startsWith("seq")) {
    const elements = [];
    return freed(elements, () => {
      for (const one of value) elements.push(newValue(scope, one, undefined, name));
      return made(scope, "ondine_value_sequence", scope.pointers(elements), elements.length);
    });
  }
  return newTensor(scope, asTensor(value, port, name));
}

function setValue(scope, values, name, value, port) {
  const tensor =
    value !== null && !(Array.isArray(value) && port?.type?.startsWith("seq"))
      ? asTensor(value, port, name)
      : null;
  if (tensor !== null && tensor.dtype !== "string") {
    // In the memory of the scope, which outlives the list.
    call(
      "ondine_values_set_tensor",
      values,
      scope.text(name, "a name"),
      typeOf(tensor).number,
      tensor.dims.length,
      scope.dims(tensor.dims),
      scope.bytes(bytesIn(tensor.data)),
    );
    return;
  }
  const handle = newValue(scope, value, port, name);
  freed([handle], () => call("ondine_values_set", values, scope.text(name, "a name"), handle));
}

/** `work` with an ondine_values of what is given. `ports`: the inputs by name. */
export function withValues(given, ports, work) {
  if (
    given === null ||
    typeof given !== "object" ||
    ArrayBuffer.isView(given) ||
    Array.isArray(given)
  ) {
    throw refuse("mismatch", "values are given as an object of arrays by name");
  }
  return scoped((scope) => {
    const values = made(scope, "ondine_values_new");
    try {
      for (const [name, value] of Object.entries(given))
        setValue(scope, values, name, value, ports.get(name));
      return work(values, scope);
    } finally {
      invoke("ondine_values_free", values);
    }
  });
}

/** As withValues, with elements that the values keep: for data sets, which share them. */
export function withOwnValues(given, work) {
  return scoped((scope) => {
    const values = made(scope, "ondine_values_new");
    try {
      for (const [name, value] of Object.entries(given ?? {})) {
        scoped((inner) => {
          const handle = newValue(inner, value, undefined, name);
          freed([handle], () =>
            call("ondine_values_set", values, inner.text(name, "a name"), handle),
          );
        });
      }
      return work(values, scope);
    } finally {
      invoke("ondine_values_free", values);
    }
  });
}

function elementsOf(type, data, bytes, count) {
  const copy = read.bytes(data, bytes);
  return new type.array(copy.buffer, 0, count * type.width);
}

function tensorOf(scope, value) {
  const at = scope.out(20);
  call("ondine_tensor_info", value, at, at + 4, at + 8, at + 12, at + 16);
  const type = typeNumbered(read.i32(at));
  const dims = read.dims(read.u32(at + 8), read.u32(at + 4));
  const count = read.u32(at + 12);
  if (type.name === "string") {
    const texts = Array.from({ length: count }, (_, i) => {
      call("ondine_tensor_string", value, i, at, at + 4);
      return read.text(read.u32(at), read.u32(at + 4));
    });
    return new Tensor("string", texts, dims);
  }
  call("ondine_tensor_data", value, at + 8);
  return new Tensor(type.name, elementsOf(type, read.u32(at + 8), read.u32(at + 16), count), dims);
}

function elementsOfValue(scope, value) {
  const count = read.u32(counted(scope, "ondine_value_count", value));
  return Array.from({ length: count }, (_, i) => {
    const element = made(scope, "ondine_value_element", value, i);
    return freed([element], () => fromValue(element));
  });
}

function counted(scope, name, handle) {
  const out = scope.out(4);
  call(name, handle, out);
  return out;
}

function keysOf(scope, value) {
  const keys = made(scope, "ondine_value_keys", value);
  return freed([keys], () => fromValue(keys));
}

/** A copy: a Tensor, a list, a Map, an element or null of an optional, { indices, values }. */
export function fromValue(value) {
  return scoped((scope) => {
    switch (read.i32(counted(scope, "ondine_value_kind", value))) {
      case KINDS.tensor:
        return tensorOf(scope, value);
      case KINDS.sequence:
        return elementsOfValue(scope, value);
      case KINDS.optional:
        return elementsOfValue(scope, value)[0] ?? null;
      case KINDS.map: {
        const keys = [...keysOf(scope, value).data];
        const elements = elementsOfValue(scope, value);
        return new Map(keys.map((key, i) => [key, elements[i]]));
      }
      case KINDS.sparse:
        return { indices: keysOf(scope, value), values: elementsOfValue(scope, value)[0] };
      default:
        return null;
    }
  });
}

// A tensor of rank 0 is its element.
const plain = (value) =>
  value instanceof Tensor && value.dims.length === 0 && typeOf(value).width === 1
    ? value.data[0]
    : value;

/** Copies of all, by name; the list is freed. */
export function takeValues(values) {
  try {
    return scoped((scope) => {
      const entries = [];
      const count = read.u32(counted(scope, "ondine_values_count", values));
      const name = scope.out(4);
      for (let i = 0; i < count; ++i) {
        call("ondine_values_name", values, i, name);
        const value = made(scope, "ondine_values_at", values, i);
        entries.push([read.text(read.u32(name)), freed([value], () => plain(fromValue(value)))]);
      }
      return Object.fromEntries(entries);
    });
  } finally {
    invoke("ondine_values_free", values);
  }
}
