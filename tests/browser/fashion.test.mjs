// Fashion-MNIST, in Node and in Chromium: losses of the native build, and nine of ten rows right. A
// page with threads has the same losses; one that shares no memory has one thread and says so.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Dataset, Model, newNetwork, prepare, Tensor } from "ondine";
import puppeteer from "puppeteer-core";
import { BATCH, batches, learn, rowsOf } from "./fashion.mjs";
import { serve } from "./server.mjs";

const { FASHION, ONDINE_REFERENCE, CHROMIUM } = process.env;
const EPOCHS = Number(process.env.EPOCHS ?? 3);
const read = (name) => gunzipSync(readFileSync(join(FASHION, name)));
const training = rowsOf(read("train-images-idx3-ubyte.gz"), read("train-labels-idx1-ubyte.gz"));
const validation = rowsOf(read("t10k-images-idx3-ubyte.gz"), read("t10k-labels-idx1-ubyte.gz"));

let browser;
let bytes; // of the training model
let expected; // what Node learned

before(async () => {
  browser = await puppeteer.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox"],
    protocolTimeout: 3600000,
  });
  const [{ image, label }] = batches({ ...training, count: 640 }, 0, 640);
  const data = await Dataset.fromArrays({
    image: new Tensor("float32", image, [640, 1, 28, 28]),
    label,
  });
  const network = newNetwork("cnn", data, { targets: "classes", seed: 1 });
  const model = await prepare(network.bytes, {
    loss: "softmax-cross-entropy",
    optimizer: "adam",
    learningRate: 0.002,
  });
  bytes = model.exportTraining();
  model.free();
  data.free();
});
after(() => browser?.close());

function say(where, { losses, seconds, accuracy }) {
  const each = ((1000 * seconds) / losses.length).toFixed(1);
  console.log(
    `${where}: ${losses.length} steps of ${BATCH} rows in ${seconds.toFixed(1)} s (${each} ms each), ` +
      `loss ${losses[0].toFixed(5)} to ${losses.at(-1).toFixed(5)}, accuracy ${accuracy}`,
  );
}

test("in Node it learns to tell nine of ten rows right", async () => {
  const model = await Model.load(bytes);
  expected = learn(model, training, validation, EPOCHS);
  say("Node", expected);
  assert.ok(expected.accuracy >= 0.9, String(expected.accuracy));
});

/** Losses of the native build, whose instructions round as those of WebAssembly do. */
async function nativeLosses() {
  writeFileSync("fashion.onnx", bytes);
  const child = spawn(
    ONDINE_REFERENCE,
    ["fashion.onnx", "-", String(BATCH), "1", "28", "28"],
    { env: { ...process.env, ONDINE_ISA: "baseline" }, stdio: ["pipe", "pipe", "inherit"] },
  );
  let text = "";
  child.stdout.on("data", (part) => {
    text += part;
  });
  const ended = once(child, "close");
  for (let epoch = 0; epoch < EPOCHS; ++epoch) {
    for (const { image, label } of batches(training, epoch)) {
      for (const one of [label, image]) {
        if (!child.stdin.write(new Uint8Array(one.buffer))) await once(child.stdin, "drain");
      }
    }
  }
  child.stdin.end();
  assert.deepEqual((await ended)[0], 0);
  return text.trim().split("\n").map(Number);
}

test("its losses are those of the native build", { skip: !ONDINE_REFERENCE }, async () => {
  const losses = await nativeLosses();
  assert.equal(losses.length, expected.losses.length);
  const worst = Math.max(...losses.map((loss, i) => Math.abs(loss - expected.losses[i])));
  const isSame = (loss, i) => Math.fround(loss) === Math.fround(expected.losses[i]);
  const same = losses.filter(isSame).length;
  console.log(`native: ${same} of ${losses.length} losses the same, at most ${worst} apart`);
  assert.ok(worst <= 1e-5, `losses are up to ${worst} apart`);
});

/** What a page learns that was loaded for `threads`. */
async function learnInPage(threads, epochs) {
  const server = await serve([".", FASHION], { isolated: threads > 1 });
  const page = await browser.newPage();
  try {
    await page.goto(server.url);
    return await page.evaluate(
      async (packed, wanted, rounds) => {
        const { ready, Model: Loaded } = await import("/node_modules/ondine/index.mjs");
        const { learn: train, rowsOf: rows } = await import("/fashion.mjs");
        const unpacked = async (name) => {
          const { body } = await fetch(`/${name}.gz`);
          const stream = body.pipeThrough(new DecompressionStream("gzip"));
          return new Uint8Array(await new Response(stream).arrayBuffer());
        };
        const files = async (name) =>
          rows(
            await unpacked(`${name}-images-idx3-ubyte`),
            await unpacked(`${name}-labels-idx1-ubyte`),
          );
        const { threads: loaded } = await ready({ threads: wanted });
        const model = await Loaded.load(Uint8Array.from(atob(packed), (one) => one.charCodeAt(0)));
        const result = train(model, await files("train"), await files("t10k"), rounds);
        return { ...result, loaded, isolated: globalThis.crossOriginIsolated };
      },
      Buffer.from(bytes).toString("base64"),
      threads,
      epochs,
    );
  } finally {
    await page.close();
    server.close();
  }
}

test("in a page it learns the same", async () => {
  const result = await learnInPage(1, EPOCHS);
  say("Chromium", result);
  assert.deepEqual([result.loaded, result.isolated], [1, false]);
  assert.deepEqual(result.losses, expected.losses);
  assert.equal(result.accuracy, expected.accuracy);
});

test("a page with two threads waits for them and has the same losses", async () => {
  const result = await learnInPage(2, 1);
  say("Chromium, two threads", result);
  assert.deepEqual([result.loaded, result.isolated], [2, true]);
  assert.deepEqual(result.losses, expected.losses.slice(0, result.losses.length));
});

test("a page that shares no memory says so", async () => {
  const server = await serve(["."], { isolated: false });
  const page = await browser.newPage();
  try {
    await page.goto(server.url);
    const said = await page.evaluate(async () => {
      const { ready } = await import("/node_modules/ondine/index.mjs");
      const refused = await ready({ threads: 2 }).then(
        () => "loaded",
        ({ code, message }) => `${code}: ${message}`,
      );
      return { refused, ...(await ready({ threads: "auto" })) };
    });
    assert.match(said.refused, /^limit: 2 threads need shared memory/);
    assert.equal(said.threads, 1);
  } finally {
    await page.close();
    server.close();
  }
});
