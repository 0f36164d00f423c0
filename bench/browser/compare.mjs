// node compare.mjs FASHION: the training step of two networks in headless Chromium, by Ondine, tf.js
// and the step graph of onnxsim on onnxruntime-web. Losses have to agree before anything is timed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import puppeteer from "puppeteer-core";
import { batches, rowsOf } from "./fashion.mjs";
import { serve } from "./server.mjs";

const COMPARED = {
  mlp: ["ondine", "tf.js wasm", "tf.js cpu", "onnxsim on onnxruntime-web"],
  // The wasm backend of tf.js lacks the derivatives of convolutions.
  cnn: ["ondine", "tf.js cpu", "onnxsim on onnxruntime-web"],
};
const AGREED = 1e-3; // of the loss after 20 steps
const read = (name) => gunzipSync(readFileSync(join(process.argv[2], name)));

const training = rowsOf(read("train-images-idx3-ubyte.gz"), read("train-labels-idx1-ubyte.gz"));
const sent = [];
for (const { image, label } of batches(training, 0)) {
  sent.push({ image: Buffer.from(image.buffer).toString("base64"), label: [...label].map(Number) });
  if (sent.length === 20) break;
}

// Without shared memory every library has one thread.
const server = await serve(["."], { isolated: false });
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox"],
  protocolTimeout: 1800000,
});
let failed = false;
try {
  const page = await browser.newPage();
  await page.goto(server.url);
  for (const [folder, file] of [
    ["tfjs", "tf.min.js"],
    ["tfjs-backend-wasm", "tf-backend-wasm.min.js"],
  ])
    await page.addScriptTag({ url: `/node_modules/@tensorflow/${folder}/dist/${file}` });
  console.log(await browser.version());
  for (const [network, names] of Object.entries(COMPARED)) {
    const results = await page.evaluate(
      async (name, libraries, packed, turns) => {
        globalThis.tf.wasm?.setWasmPaths("/node_modules/@tensorflow/tfjs-backend-wasm/dist/");
        const { compare } = await import("/page.mjs");
        const rows = packed.map(({ image, label }) => ({
          image: new Float32Array(Uint8Array.from(atob(image), (c) => c.charCodeAt(0)).buffer),
          label: BigInt64Array.from(label, BigInt),
        }));
        return compare(name, libraries, rows, turns);
      },
      network,
      names,
      sent,
      { turns: Number(process.env.TURNS ?? 5), steps: Number(process.env.STEPS ?? 20) },
    );
    failed = report(network, results) || failed;
  }
} finally {
  await browser.close();
  server.close();
}
process.exit(failed ? 1 : 0);

/** Whether anything failed or losses differ. */
function report(network, results) {
  const { losses: expected, milliseconds: own } = results.ondine;
  let bad = false;
  for (const [name, { losses, milliseconds, turns, error }] of Object.entries(results)) {
    if (error !== undefined) {
      console.log(`${network}  ${name}: ${error}`);
      bad = true;
      continue;
    }
    const apart = Math.max(...losses.map((loss, i) => Math.abs(loss - expected[i])));
    const range = `${Math.min(...turns).toFixed(2)} to ${Math.max(...turns).toFixed(2)}`;
    console.log(
      `${network}  ${name.padEnd(28)} ${milliseconds.toFixed(2).padStart(8)} ms (${range}), ` +
        `${(milliseconds / own).toFixed(2)} times; loss ${losses.at(-1).toFixed(5)}, ` +
        `at most ${apart.toExponential(1)} apart`,
    );
    if (!(apart <= AGREED)) bad = true;
  }
  return bad;
}
