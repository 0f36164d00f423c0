// In a page: the training step of a network by several libraries, from the same weights, with the same
// data, in turns. Each has step(rows): the loss before the update, once that is done.

const CLASSES = 10;
const RATE = 0.02;
const MOMENTUM = 0.9;
const json = async (path) => (await fetch(path)).json();
const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** Rows of Fashion-MNIST as each library takes them. */
function rowsOf({ image, label }) {
  const targets = new Float32Array(label.length * CLASSES);
  label.forEach((one, row) => {
    targets[row * CLASSES + Number(one)] = 1;
  });
  return { image, label, targets };
}

async function ondine(name) {
  const { prepare } = await import("/node_modules/ondine/index.mjs");
  const model = await prepare(await bytes(`/networks/${name}.onnx`), {
    loss: "softmax-cross-entropy",
    optimizer: "momentum",
    momentum: MOMENTUM,
    learningRate: RATE,
    init: "keep",
  });
  return {
    turn: async () => {},
    step: ({ image, label }) => model.trainStep({ image, label }, { fetches: ["loss"] }).loss,
    end: () => model.free(),
  };
}

// The axes of tf.js: images [N, H, W, C], kernels [H, W, I, O], rows of (y, x, channel).
function weightsOf(tf, name, saved) {
  const tensor = (key) => tf.tensor(saved[key].data, saved[key].dims);
  return Object.fromEntries(
    Object.keys(saved).map((key) => {
      let value = tensor(key);
      if (value.rank === 4) value = value.transpose([2, 3, 1, 0]);
      if (name === "cnn" && key === "w") {
        value = value.reshape([32, 7, 7, CLASSES]).transpose([1, 2, 0, 3]).reshape([-1, CLASSES]);
      }
      return [key, tf.variable(value)];
    }),
  );
}

const NETWORKS = {
  mlp: (x, w) =>
    x.reshape([-1, 784]).matMul(w.w1).add(w.b1).relu().matMul(w.w2).add(w.b2),
  cnn: (x, w) => {
    let last = x;
    for (const i of [1, 2])
      last = last.conv2d(w[`k${i}`], 1, "same").add(w[`c${i}`]).relu().maxPool(2, 2, "valid");
    return last.reshape([last.shape[0], -1]).matMul(w.w).add(w.b);
  },
};

async function tensorflow(name, backend) {
  const { tf } = globalThis;
  await tf.setBackend(backend);
  await tf.ready();
  const weights = weightsOf(tf, name, await json(`/networks/${name}.json`));
  const optimizer = tf.train.momentum(RATE, MOMENTUM);
  const variables = Object.values(weights);
  return {
    turn: () => tf.setBackend(backend),
    step: ({ image, targets }) =>
      tf.tidy(() => {
        const x = tf.tensor(image, [targets.length / CLASSES, 28, 28, 1]);
        const y = tf.tensor(targets, [targets.length / CLASSES, CLASSES]);
        const cost = () => tf.losses.softmaxCrossEntropy(y, NETWORKS[name](x, weights));
        return optimizer.minimize(cost, true, variables).dataSync()[0];
      }),
    end: () => variables.forEach((one) => one.dispose()),
  };
}

async function onnxsim(name) {
  const ort = await import("/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
  const session = await ort.InferenceSession.create(await bytes(`/networks/${name}-step.onnx`));
  const { state, loss, initial } = await json(`/networks/${name}-step.json`);
  let feeds = Object.fromEntries(
    Object.keys(state).map((key) => [
      key,
      new ort.Tensor("float32", Float32Array.from(initial[key].data), initial[key].dims),
    ]),
  );
  const rate = new ort.Tensor("float32", Float32Array.of(RATE), []);
  return {
    turn: async () => {},
    step: async ({ image, targets }) => {
      const count = targets.length / CLASSES;
      const results = await session.run({
        ...feeds,
        image: new ort.Tensor("float32", image, [count, 1, 28, 28]),
        targets: new ort.Tensor("float32", targets, [count, CLASSES]),
        lr: rate,
      });
      feeds = Object.fromEntries(Object.entries(state).map(([from, to]) => [from, results[to]]));
      return results[loss].data[0];
    },
    end: () => session.release(),
  };
}

const MAKERS = {
  ondine,
  "tf.js cpu": (name) => tensorflow(name, "cpu"),
  "tf.js wasm": (name) => tensorflow(name, "wasm"),
  "onnxsim on onnxruntime-web": onnxsim,
};

/** The numbers of the turns are medians of the milliseconds of a step. */
async function timed(library, rows, steps) {
  await library.turn();
  await library.step(rows[0]); // the state may lie elsewhere
  const times = [];
  for (let i = 0; i < steps; ++i) {
    const begin = performance.now();
    await library.step(rows[i % rows.length]);
    times.push(performance.now() - begin);
  }
  return median(times);
}

function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Losses of the first steps and milliseconds of a step, by library; an error is what it says. */
export async function compare(network, names, batches, { turns, steps }) {
  const rows = batches.map(rowsOf);
  const libraries = {};
  const results = {};
  for (const name of names) {
    try {
      const library = await MAKERS[name](network);
      const losses = [];
      for (const one of rows) losses.push(await library.step(one));
      libraries[name] = library;
      results[name] = { losses, turns: [] };
    } catch (error) {
      results[name] = { error: String(error.message ?? error) };
    }
  }
  for (let turn = 0; turn < turns; ++turn) {
    for (const [name, library] of Object.entries(libraries))
      results[name].turns.push(await timed(library, rows, steps));
  }
  for (const [name, library] of Object.entries(libraries)) {
    results[name].milliseconds = median(results[name].turns);
    library.end();
  }
  return results;
}
