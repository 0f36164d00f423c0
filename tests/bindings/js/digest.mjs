// node digest.mjs LOADED OPTIONS: trains two networks in a module that was loaded for LOADED threads,
// with models of OPTIONS (JSON), and prints a digest of losses and weights.
import { createHash } from "node:crypto";
import { Dataset, newNetwork, prepare, ready, Tensor } from "ondine";
import { batch, net } from "./helpers.mjs";

const [, , loaded, options] = process.argv;
await ready({ threads: Number(loaded) });
const hash = createHash("sha256");

function train(model, dims) {
  const [rows, ...row] = dims;
  const size = row.reduce((product, dim) => product * dim, 1);
  let last;
  for (let step = 0; step < 12; ++step) {
    const { image, label } = batch(step, rows, size);
    last = model.trainStep({ image: new Tensor("float32", image, dims), label }).loss;
    hash.update(Float64Array.of(last));
  }
  for (const { name } of model.state) {
    const value = model.getState(name);
    const { data } = value instanceof Tensor ? value : { data: Float64Array.of(Number(value)) };
    hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return last;
}

const settings = { loss: "softmax-cross-entropy", init: "keep", ...JSON.parse(options) };
const perceptron = await prepare(net(), { optimizer: "adam", ...settings });
train(perceptron, [4096, 4]);

const { image, label } = batch(5, 60, 784);
const data = await Dataset.fromArrays({ image: new Tensor("float32", image, [60, 1, 28, 28]), label });
const { bytes } = newNetwork("cnn", data, { seed: 7 });
const convolutional = await prepare(bytes, { optimizer: "adamw", ...settings });
train(convolutional, [64, 1, 28, 28]);
console.log(hash.digest("hex"));
