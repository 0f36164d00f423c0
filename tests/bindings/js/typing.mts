// What the types take and refuse; run.sh compiles it where TypeScript can be had.
import { Dataset, Model, OndineError, prepare, Tensor, Trainer, type Results } from "ondine";

const bytes = new Uint8Array(3);
const model: Model = await prepare(bytes, { loss: "mse", learningRate: 1e-3, init: "keep" });
const results: Results = model.trainStep({ x: new Float32Array(3) }, { algorithm: 0 });
const loss: number = results.loss;
const data = await Dataset.fromArrays({ x: new Tensor("float32", new Float32Array(3), [3]) });
const trainer = new Trainer(model, { epochs: 3, batchSize: 8 });
trainer.onStep((report) => report.step < 3);
for (const feeds of data.batches(3, { model })) model.trainStep(feeds);
try {
  trainer.fit(data);
} catch (error) {
  if (error instanceof OndineError && error.code === "not_finite") console.log(error.reason, loss);
}
// @ts-expect-error There is no such option.
await prepare(bytes, { learningRat: 1 });
// @ts-expect-error There is no such loss.
await prepare(bytes, { loss: "softmax" });
// @ts-expect-error There is no such code.
if (new OndineError().code === "wrong") model.free();
// @ts-expect-error Models are made by Model.load() and prepare().
new Model();
