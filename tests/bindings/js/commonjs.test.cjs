// The package by require().
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { test } = require("node:test");
const { Model, OndineError, prepare } = require("ondine");

test("require() gives what import does", async () => {
  const model = await prepare(readFileSync("models/net.onnx"), {
    loss: "softmax-cross-entropy",
    init: "keep",
  });
  const { loss } = model.trainStep({ image: new Float32Array(8), label: new BigInt64Array(2) });
  assert.ok(Math.abs(loss - Math.log(3)) < 1e-6);
  await assert.rejects(Model.load(new Uint8Array(3)), OndineError);
});
