// Losses are those of the build for this machine, and memory stays what it is.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { Dataset, liveHandles, memoryBytes, Model, newNetwork, prepare, Tensor } from "ondine";
import { batch, net } from "./helpers.mjs";

function native(name, training, batches, dims) {
  writeFileSync(`${name}.onnx`, training);
  writeFileSync(
    `${name}.bin`,
    Buffer.concat(
      batches.flatMap(({ image, label }) =>
        [label, image].map((one) => new Uint8Array(one.buffer)),
      ),
    ),
  );
  const lines = execFileSync(process.env.ONDINE_REFERENCE, [
    `${name}.onnx`,
    `${name}.bin`,
    ...dims.map(String),
  ]);
  return lines.toString().trim().split("\n").map(Number);
}

async function compare(name, training, size, dims, classes) {
  const batches = Array.from({ length: 40 }, (_, i) => batch(i + 1, dims[0], size, classes));
  const expected = native(name, training, batches, dims);
  assert.equal(expected.length, 40);
  const model = await Model.load(training);
  const losses = batches.map(
    ({ image, label }) =>
      model.trainStep({ image: new Tensor("float32", image, dims), label }).loss,
  );
  const worst = Math.max(...losses.map((loss, i) => Math.abs(loss - expected[i])));
  const same = losses.filter((loss, i) => Math.fround(loss) === Math.fround(expected[i])).length;
  console.log(
    `${name}: ${losses[0]} to ${losses[39]}, at most ${worst} apart, ${same} of 40 the same`,
  );
  assert.ok(losses[39] < losses[0] / 2, "it learns");
  assert.ok(worst <= 1e-5, `losses are up to ${worst} apart`);
}

test("a perceptron has the losses of the native build", async () => {
  const model = await prepare(net(), {
    loss: "softmax-cross-entropy",
    optimizer: "adam",
    learningRate: 0.05,
  });
  await compare("mlp", model.exportTraining(), 4, [32, 4], 3);
});

test("a convolutional network has the losses of the native build", async () => {
  const { image, label } = batch(5, 60, 144, 6);
  const data = await Dataset.fromArrays({
    image: new Tensor("float32", image, [60, 1, 12, 12]),
    label,
  });
  const { bytes } = newNetwork("cnn", data, { seed: 7 });
  const model = await prepare(bytes, {
    loss: "softmax-cross-entropy",
    optimizer: "adamw",
    learningRate: 0.004,
  });
  await compare("cnn", model.exportTraining(), 144, [16, 1, 12, 12], 6);
});

test("a thousand steps take no more memory and no more handles than ten", async () => {
  const model = await prepare(net(), { loss: "softmax-cross-entropy", optimizer: "adam" });
  const run = (count) => {
    for (let i = 0; i < count; ++i) model.trainStep(batch(i, 32, 4));
  };
  run(10);
  const checkpoint = model.saveCheckpoint();
  const handles = liveHandles();
  const before = memoryBytes();
  run(1000);
  assert.equal(liveHandles(), handles);
  assert.equal(model.saveCheckpoint().length, checkpoint.length);
  assert.equal(memoryBytes(), before);
});
