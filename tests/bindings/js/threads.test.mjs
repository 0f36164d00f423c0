// The module with threads: its results have the same bits, and it says what cannot be.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import {
  Dataset,
  Model,
  newNetwork,
  OndineError,
  prepare,
  ready,
  Tensor,
  Trainer,
} from "ondine";
import { batch, net } from "./helpers.mjs";

const settings = { loss: "softmax-cross-entropy", optimizer: "adam", learningRate: 0.05 };
const isError = (code, message) => (error) => {
  assert.ok(error instanceof OndineError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

test("a page that shares no memory has one thread, and says so where more are asked for", async () => {
  globalThis.crossOriginIsolated = false;
  try {
    await assert.rejects(ready({ threads: 2 }), isError("limit", /Cross-Origin-Embedder-Policy/));
    const program = `globalThis.crossOriginIsolated = false;
      const { ready } = await import("ondine");
      console.log((await ready({ threads: "auto" })).threads);`;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", program]);
    assert.equal(said.toString().trim(), "1");
  } finally {
    delete globalThis.crossOriginIsolated;
  }
});

test("a wrong number of threads is refused, and after a refusal the module can be loaded", async () => {
  for (const wrong of [0, -1, 1.5, "2", Number.NaN, 1025, {}])
    await assert.rejects(ready({ threads: wrong }), isError("mismatch", /threads is "auto"/));
  assert.deepEqual(await ready({ threads: 3 }), { threads: 3 });
  assert.deepEqual(await ready(), { threads: 3 });
  await assert.rejects(ready({ threads: 2 }), isError("mismatch", /loaded already/));
});

test("models share the threads that were loaded, and no more", async () => {
  const models = [];
  for (const threads of [3, 2, 1, undefined]) {
    models.push(await prepare(net(), { ...settings, init: "keep", threads }));
  }
  models.push(models[0].clone());
  const losses = models.map((model) => model.trainStep(batch(1, 4096, 4)).loss);
  assert.deepEqual(losses, Array(5).fill(losses[0]));
  for (const model of models.slice(1)) model.free();
  for (const threads of [1, 3, 2, 3]) models[0].setThreads(threads);
  assert.throws(() => models[0].setThreads(4), isError("limit", /cannot start thread 4 of 4/));
  assert.ok(models[0].trainStep(batch(1, 4096, 4)).loss < losses[0], "it works on");
  await assert.rejects(
    Model.load(net(), { threads: 4 }),
    isError("limit", /cannot start thread 4 of 4/),
  );
  const all = await Model.load(net(), { threads: "auto" });
  assert.equal(all.infer({ image: batch(1, 4096, 4).image }).logits.dims[0], 4096);
});

test("a run with augmentation ends where all threads are taken", async () => {
  const { image, label } = batch(5, 120, 64);
  const data = await Dataset.fromArrays({
    image: new Tensor("float32", image, [120, 1, 8, 8]),
    label,
  });
  const { bytes } = newNetwork("cnn", data, { seed: 3 });
  const model = await prepare(bytes, settings);
  const trainer = new Trainer(model, { epochs: 2, batchSize: 32, augment: "flip" });
  assert.equal(trainer.fit(data).reason, "completed");
});

test("losses and weights have the same bits for any number of threads", () => {
  const digest = (loaded, options) =>
    execFileSync(process.execPath, ["digest.mjs", String(loaded), JSON.stringify(options)])
      .toString()
      .trim();
  const expected = digest(1, {});
  assert.match(expected, /^[0-9a-f]{64}$/);
  assert.equal(digest(2, {}), expected);
  assert.equal(digest(4, {}), expected);
  assert.equal(digest(4, { threads: 3 }), expected);
  assert.notEqual(digest(1, { learningRate: 0.0123 }), expected, "the digest tells runs apart");
});
