// Models: steps, results, state, files.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Dataset, Model, newNetwork, prepare, Tensor, Trainer, evaluate, version } from "ondine";
import { batch, net } from "./helpers.mjs";

const settings = {
  loss: "softmax-cross-entropy",
  init: "keep",
  optimizer: "adam",
  learningRate: 0.05,
};

test("a network learns, and its results are numbers and tensors by name", async () => {
  const model = await prepare(net(), settings);
  const first = model.trainStep(batch(1, 32, 4));
  assert.ok(Math.abs(first.loss - Math.log(3)) < 1e-6, "zeros give every class the same score");
  for (let step = 2; step <= 60; ++step) model.trainStep(batch(step, 32, 4));
  assert.equal(model.steps, 60);
  const last = model.evalStep(batch(99, 32, 4));
  assert.ok(last.loss < 0.4 && last.accuracy > 0.9, JSON.stringify(last));
  const { logits } = model.infer({ image: batch(99, 8, 4).image });
  assert.deepEqual(
    [logits.dtype, logits.dims, logits.data.constructor],
    ["float32", [8, 3], Float32Array],
  );
  assert.match(version(), /^\d+\.\d+\.\d+$/);
  model.free();
});

test("a checkpoint takes a model back to what it was", async () => {
  const model = await prepare(net(), settings);
  model.trainStep(batch(1, 32, 4));
  const checkpoint = model.saveCheckpoint();
  const second = model.trainStep(batch(2, 32, 4)).loss;
  model.trainStep(batch(3, 32, 4));
  const other = await Model.load(model.exportTraining());
  assert.equal(model.restoreCheckpoint(checkpoint).note, "");
  assert.equal(model.steps, 1);
  assert.equal(model.trainStep(batch(2, 32, 4)).loss, second, "the step has the same bits");
  other.restoreCheckpoint(checkpoint);
  assert.equal(other.trainStep(batch(2, 32, 4)).loss, second, "and so in a model that was loaded");
});

test("an exported network computes what the model does", async () => {
  const model = await prepare(net(), settings);
  for (let step = 1; step <= 5; ++step) model.trainStep(batch(step, 32, 4));
  const { image } = batch(7, 5, 4);
  const exported = await Model.load(model.exportInference());
  assert.deepEqual(exported.infer({ image }).logits.data, model.infer({ image }).logits.data);
  const weights = model.saveWeights();
  const fresh = await prepare(net(), settings);
  assert.equal(fresh.loadWeights(weights).assigned, 2);
  assert.deepEqual(fresh.getState("w").data, model.getState("w").data);
});

test("state, learning rate, gradients and clones are those of the library", async () => {
  const model = await prepare(net(), settings);
  assert.ok(Math.abs(model.learningRate - 0.05) < 1e-8);
  model.learningRate = 0.5;
  assert.equal(model.learningRate, 0.5);
  const other = model.clone();
  const gradients = model.gradients(batch(1, 32, 4));
  assert.deepEqual(gradients.b.dims, [3]);
  model.setState({ b: new Float32Array([1, 2, 3]) });
  assert.deepEqual([...model.getState("b").data], [1, 2, 3]);
  assert.deepEqual([...other.getState("b").data], [0, 0, 0]);
  assert.equal(model.fingerprint(), other.fingerprint());
  assert.match(model.inspect("gradient"), /Gemm|MatMul/);
  assert.ok(model.plan({ image: new Float32Array(8) }).arena_bytes >= 0);
  assert.equal(model.prepareReport.loss, "loss", "the name of the output");
});

test("a new network trains on a data set of arrays, with validation and reports", async () => {
  const { image, label } = batch(5, 240, 64);
  const rows = new Tensor("float32", image, [240, 1, 8, 8]);
  const data = await Dataset.fromArrays({ image: rows, label });
  assert.equal(data.rows, 240);
  const { bytes, description } = newNetwork("cnn", data, { seed: 3 });
  assert.match(description, /\d/);
  const model = await prepare(bytes, { ...settings, learningRate: 0.01 });
  const trainer = new Trainer(model, { epochs: 8, batchSize: 32, validationSplit: 0.25 });
  const losses = [];
  let steps = 0;
  trainer.onEpoch((report) => void losses.push(report.validation.loss));
  trainer.onStep(() => void ++steps);
  const report = trainer.fit(data);
  assert.equal(report.reason, "completed");
  assert.equal(steps, model.steps);
  assert.ok(losses.at(-1) < losses[0] / 2, String(losses));
  assert.ok(evaluate(model, data).metrics.accuracy > 0.9);
});

test("callbacks end a run, and what they throw comes out of it", async () => {
  const data = await Dataset.fromArrays({
    image: new Tensor("float32", batch(5, 64, 4).image, [64, 4]),
    label: batch(5, 64, 4).label,
  });
  const model = await prepare(net(), settings);
  const trainer = new Trainer(model, { epochs: 5, batchSize: 8 });
  trainer.onStep((report) => report.step < 3);
  assert.equal(trainer.fit(data).reason, "requested");
  assert.equal(model.steps, 3);
  const failing = new Trainer(await prepare(net(), settings), { epochs: 1, batchSize: 8 });
  failing.onStep(() => {
    throw new RangeError("mine");
  });
  assert.throws(() => failing.fit(data), { name: "RangeError", message: "mine" });
});

test("batches of a data set feed steps, and one that is left is freed", async () => {
  const { image, label } = batch(5, 50, 4);
  const data = await Dataset.fromArrays({ image: new Tensor("float32", image, [50, 4]), label });
  const model = await prepare(net(), settings);
  const sizes = [...data.batches(16, { model, shuffle: false })].map((one) => one.image.dims[0]);
  assert.deepEqual(sizes, [16, 16, 16, 2]);
  for (const feeds of data.batches(16, { model, seed: 1 })) {
    model.trainStep(feeds);
    break;
  }
  assert.equal(model.steps, 1);
});
