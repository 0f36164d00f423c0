// Calls with what nobody should give: only errors of the package or TypeErrors come out, the module
// goes on, and no object is left. FUZZ_SECONDS (5) and FUZZ_SEED (1) are taken from the environment.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as ondine from "ondine";
import { batch, net, numbers } from "./helpers.mjs";

const { Dataset, liveHandles, Model, OndineError, prepare, Tensor, Trainer } = ondine;
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 5);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const settings = { loss: "softmax-cross-entropy", optimizer: "adam", init: "keep" };
const next = numbers(SEED);
const below = (count) => Math.floor(next() * count);
const pick = (list) => list[below(list.length)];

function detached(array) {
  structuredClone(array, { transfer: [array.buffer] });
  return array;
}

const randomBytes = () => Uint8Array.from({ length: below(300) }, () => below(256));

/** A file of the library with some bytes changed, or cut. */
function damaged(bytes) {
  const copy = new Uint8Array(bytes).slice(0, pick([bytes.length, bytes.length, below(bytes.length)]));
  for (let i = below(6); i > 0 && copy.length > 0; --i) copy[below(copy.length)] = below(256);
  return copy;
}

const PLAIN = [
  undefined, null, true, 0, 1, -1, 1.5, 3, 64, Number.NaN, Infinity, 2 ** 31, 2 ** 32, 2 ** 53, 0n,
  7n, -1n, 2n ** 64n, "", "image", "label", "logits", "w", "none", "a\0b", "\ud800", "x".repeat(5000),
  Symbol("s"), () => 0, new Date(0), /x/, {}, [], [1, 2], ["a", undefined], [[]], new Map(),
  { length: 3 }, { image: 1 }, { image: null }, { image: [] }, { fetches: "logits" },
  { fetches: ["none"] }, { fetches: [3] }, { fetches: {} }, { algorithm: 1 }, { algorithm: -1 },
  { algorithm: "0" }, { algorithm: 2 ** 40 }, { seed: -1 }, { all: "yes" }, Object.create(null),
]; // prettier-ignore

const MADE = [
  () => new Float32Array(below(20)),
  () => new Float64Array(16),
  () => BigInt64Array.from({ length: below(6) }, () => BigInt(below(9) - 3)),
  () => new Uint8Array(new SharedArrayBuffer(8)),
  () => new SharedArrayBuffer(8),
  () => detached(new Float32Array(16)),
  () => detached(new Uint8Array(9)).buffer,
  () => new DataView(new ArrayBuffer(9)),
  randomBytes,
  () => damaged(net()),
  () => batch(below(9), 4, 4),
  () => ({ ...batch(1, 4, 4), image: pick(PLAIN) }),
  () => ({ ...batch(1, 4, 4), label: pick(PLAIN) }),
  () => ({ ...batch(1, 4, 4), other: new Float32Array(3) }),
  () => ({ image: detached(batch(1, 4, 4).image) }),
  () => new Tensor(pick(["float32", "float64", "int64", "bool"]), pick(PLAIN)),
  () => new Tensor("string", ["a", "b"]),
  () => new Tensor("float32", new Float32Array(16), pick([[4, 4], [16], [2, 8], [1, 16, 1]])),
  () => new Tensor(pick(PLAIN), pick(PLAIN), pick(PLAIN)),
  () => ({ [pick(["batchSize", "learning-rate", "seed", "threads", "loss"])]: pick(PLAIN) }),
  () => ({ ...settings, [String(pick(["optimizer", "init", "é", "beta1"]))]: pick(PLAIN) }),
];

/** Something to give: often what fits, else anything. Makers may throw as calls do. */
function given(objects) {
  const kind = below(10);
  if (kind < 4) return pick(PLAIN);
  if (kind < 8) return pick(MADE)();
  return pick(objects);
}

const METHODS = [
  "describe", "fingerprint", "inspect", "trainStep", "evalStep", "infer", "gradients", "plan",
  "initialize", "getState", "setState", "takeAverages", "clone", "saveCheckpoint",
  "restoreCheckpoint", "saveWeights", "loadWeights", "exportInference", "exportTraining",
  "setThreads", "setDeadline", "free", "training", "validation", "batches", "onStep", "onEpoch",
  "fit", "evaluate", "requestStop",
]; // prettier-ignore
const PROPERTIES = ["inputs", "outputs", "state", "steps", "learningRate", "rows", "handle"];
const FUNCTIONS = ["prepare", "evaluate", "newNetwork", "options", "readFile", "removeFile", "ready"];

/** One call of anything by any name, with any number of what given() makes. */
function invoke(objects) {
  const some = Array.from({ length: below(4) }, () => given(objects));
  switch (below(10)) {
    case 0:
      return ondine[pick(FUNCTIONS)](...some);
    case 1:
      return Model.load(...some);
    case 2:
      return Dataset[pick(["fromArrays", "open"])](...some);
    case 3:
      return new Trainer(some[0], { ...Object(some[1]), epochs: 1, maxSteps: 2 });
    case 4:
      return ondine.writeFile(pick(["/fuzz/a", "/fuzz/a/b", "/", "", some[0]]), some[1]);
    case 5: {
      const object = pick(objects);
      if (below(2) === 0) return object?.[pick(PROPERTIES)];
      object.learningRate = some[0];
      return undefined;
    }
    default: {
      const object = pick(objects);
      return object[pick(METHODS)](...some);
    }
  }
}

/** A generator runs for a few values. */
async function finished(result) {
  const value = await result;
  if (typeof value?.next !== "function") return value;
  for (let i = 0; i < 3 && !value.next().done; ++i);
  value.return();
  return value;
}

const isOwned = (value) => [Model, Dataset, Trainer].some((kind) => value instanceof kind);

function allowed(error) {
  if (error instanceof TypeError) return true;
  return error instanceof OndineError && error.code !== "internal";
}

async function round() {
  const { image, label } = batch(5, 40, 4);
  const rows = new Tensor("float32", image, [40, 4]);
  const model = await prepare(net(), settings);
  const data = await Dataset.fromArrays({ image: rows, label }, { validation: { image: rows, label } });
  const gone = await Model.load(net());
  gone.free();
  const objects = [model, data, new Trainer(model, { epochs: 1, maxSteps: 2, batchSize: 8 }), gone];
  for (let i = 0; i < 60; ++i) {
    try {
      const made = await finished(invoke(objects));
      if (isOwned(made)) objects.push(made);
    } catch (error) {
      assert.ok(allowed(error), `seed ${SEED}: ${error?.stack ?? String(error)}`);
    }
  }
  for (const one of objects) one.free();
}

test(`${SECONDS} seconds of wrong calls`, async () => {
  await ondine.ready();
  const before = liveHandles();
  const end = Date.now() + 1000 * SECONDS;
  let rounds = 0;
  for (; Date.now() < end; ++rounds) {
    await round();
    assert.equal(liveHandles(), before, `objects are left after round ${rounds} of seed ${SEED}`);
  }
  console.log(`${rounds} rounds of 60 calls`);
  const model = await prepare(net(), settings);
  assert.ok(Math.abs(model.trainStep(batch(1, 32, 4)).loss - Math.log(3)) < 1e-6, "it works on");
});
