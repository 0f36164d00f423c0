// Bad input is a JS error with a message that names the object.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Dataset,
  liveHandles,
  Model,
  OndineError,
  options,
  prepare,
  Tensor,
  Trainer,
} from "ondine";
import { batch, net } from "./helpers.mjs";

const settings = { loss: "softmax-cross-entropy" };

async function refused(work, code, message) {
  let error = null;
  try {
    await work();
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof OndineError, `an OndineError, not ${error}`);
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  assert.equal(typeof error.number, "number");
}

test("what was freed is refused by the library", async () => {
  const model = await prepare(net(), settings);
  model.free();
  model.free();
  await refused(() => model.trainStep(batch(1, 4, 4)), "mismatch", /model was freed/);
  await refused(() => new Trainer(model), "mismatch", /model was freed/);
  await refused(() => model.exportInference(), "mismatch", /model was freed/);
  const data = await Dataset.fromArrays({ label: batch(1, 4, 4).label });
  data.free();
  await refused(() => data.rows, "mismatch", /data set was freed/);
});

test("a detached buffer is refused, in feeds, tensors and files", async () => {
  const model = await prepare(net(), settings);
  const { image, label } = batch(1, 4, 4);
  const tensor = new Tensor("float32", image, [4, 4]);
  structuredClone(image, { transfer: [image.buffer] });
  await refused(() => model.trainStep({ image, label }), "mismatch", /'image' is detached/);
  await refused(() => model.trainStep({ image: tensor, label }), "mismatch", /'image' is detached/);
  const bytes = new Uint8Array(net());
  structuredClone(bytes, { transfer: [bytes.buffer] });
  await refused(() => Model.load(bytes), "mismatch", /the model is detached/);
  await refused(() => model.restoreCheckpoint(bytes), "mismatch", /the checkpoint is detached/);
});

test("a wrong element type, name, size or value names the input", async () => {
  const model = await prepare(net(), settings);
  const { image, label } = batch(1, 4, 4);
  await refused(
    () => model.trainStep({ image: new Float64Array(16), label }),
    "mismatch",
    /image[\s\S]*float/,
  );
  await refused(
    () => model.trainStep({ image, label: new Int32Array(4) }),
    "mismatch",
    /label[\s\S]*int64/,
  );
  await refused(() => model.trainStep({ picture: image, label }), "not_found", /picture/);
  await refused(() => model.trainStep({ image }), "mismatch", /label/);
  await refused(
    () => model.trainStep({ image: new Float32Array(15), label }),
    "mismatch",
    /'image' has 15/,
  );
  await refused(
    () => model.trainStep({ image: [1, 2], label }),
    "mismatch",
    /'image' is given as object/,
  );
  await refused(
    () => model.trainStep({ image: undefined, label }),
    "mismatch",
    /'image' is given as undefined/,
  );
  await refused(() => model.trainStep([image, label]), "mismatch", /by name/);
  await refused(() => model.infer({ image }, { fetches: ["none"] }), "not_found", /none/);
  await refused(() => model.trainStep({ image, label }, { algorithm: 1 }), "not_found", /algorithm/);
  await refused(() => model.getState("nobody"), "not_found", /nobody/);
  await refused(() => new Tensor("float31", image), "mismatch", /float31/);
  await refused(() => new Tensor("int8", image), "mismatch", /Int8Array/);
  await refused(
    () => new Tensor("float32", image, [3, 5]),
    "mismatch",
    /15 elements; the array has 16/,
  );
  assert.equal(model.steps, 0, "none of them trained");
});

test("options are checked by the table of the library", async () => {
  await refused(() => prepare(net(), { loss: "softmax" }), "invalid_option", /loss/);
  await refused(
    () => prepare(net(), { ...settings, learningRat: 1 }),
    "invalid_option",
    /learning-rat/,
  );
  await refused(() => prepare(net(), { ...settings, beta1: 0.9 }), "invalid_option", /beta1/);
  await refused(() => prepare(net(), { loss: {} }), "invalid_option", /loss/);
  await refused(() => options("none"), "mismatch", /none/);
  assert.ok(options("prepare").some((one) => one.name === "learning-rate"));
});

test("bytes that are no model or checkpoint are refused", async () => {
  await refused(() => Model.load(new Uint8Array([1, 2, 3])), "invalid_model", /./);
  await refused(() => Model.load("net.onnx"), "mismatch", /no ArrayBuffer/);
  const model = await prepare(net(), settings);
  const checkpoint = model.saveCheckpoint();
  checkpoint[checkpoint.length >> 1] ^= 0x40;
  await refused(() => model.restoreCheckpoint(checkpoint), "corrupt", /./);
});

test("a module without threads says so", async () => {
  await refused(() => Model.load(net(), { threads: 4 }), "limit", /cannot start thread 2 of 4/);
});

test("errors and failed calls leave no handles", async () => {
  const model = await prepare(net(), settings);
  const before = liveHandles();
  for (let i = 0; i < 50; ++i) {
    assert.throws(() => model.trainStep({ image: new Float64Array(16) }), OndineError);
    assert.throws(() => model.trainStep({ image: new Float32Array(16) }), OndineError);
  }
  assert.equal(liveHandles(), before);
});
