// Learns digits from the user's hand, by the npm package alone.
import { Dataset, Model, newNetwork, prepare, Tensor } from "ondine";
import { centred, copyMoved, pictured, PIXELS, SIZE } from "./pictures.mjs";

const CLASSES = 10;
const BATCH = 20;
const STEPS = 60; // of one lesson
const element = (id) => document.getElementById(id);
const pad = element("pad");
const pen = pad.getContext("2d", { willReadFrequently: true });

let model = null;
let examples = []; // { label, pixels }
let waiting = []; // pictures that were chosen and have no label yet
let past = []; // what undo goes back to
let losses = [];
let lesson = 0; // the number of the lesson that runs, or of the last one
let learning = false;

const counted = (list) => `${list.length} picture${list.length === 1 ? "" : "s"}`;
const say = (text) => {
  element("status").textContent = text;
};

// A network for the format of the pictures; it knows nothing yet.
async function newModel() {
  const image = new Tensor("float32", new Float32Array(CLASSES * PIXELS), [CLASSES, 1, SIZE, SIZE]);
  for (let i = 0; i < image.data.length; ++i) image.data[i] = Math.random();
  const label = BigInt64Array.from({ length: CLASSES }, (_, i) => BigInt(i));
  const data = await Dataset.fromArrays({ image, label });
  const { bytes } = newNetwork("cnn", data, { targets: "classes", seed: 1 });
  data.free();
  return prepare(bytes, { loss: "softmax-cross-entropy", optimizer: "adam", learningRate: 0.003 });
}

// ---- the pad ----

let down = false;
let at = { x: 140, y: 140 };

function wipe() {
  pen.clearRect(0, 0, pad.width, pad.height);
  guess();
}

function lineTo(x, y) {
  pen.strokeStyle = getComputedStyle(pad).getPropertyValue("--ink");
  pen.lineWidth = 22;
  pen.lineCap = "round";
  pen.beginPath();
  pen.moveTo(at.x, at.y);
  pen.lineTo(x, y);
  pen.stroke();
  at = { x, y };
}

function place(event) {
  const box = pad.getBoundingClientRect();
  return {
    x: ((event.clientX - box.left) / box.width) * pad.width,
    y: ((event.clientY - box.top) / box.height) * pad.height,
  };
}

pad.addEventListener("pointerdown", (event) => {
  pad.setPointerCapture(event.pointerId);
  down = true;
  at = place(event);
  lineTo(at.x, at.y);
});
pad.addEventListener("pointermove", (event) => {
  if (!down) return;
  const to = place(event);
  lineTo(to.x, to.y);
});
for (const end of ["pointerup", "pointercancel"]) {
  pad.addEventListener(end, () => {
    down = false;
    guess();
  });
}
const MOVES = { ArrowLeft: [-14, 0], ArrowRight: [14, 0], ArrowUp: [0, -14], ArrowDown: [0, 14] };
let lowered = false;
pad.addEventListener("keydown", (event) => {
  const move = MOVES[event.key];
  if (move !== undefined) {
    const x = Math.min(pad.width, Math.max(0, at.x + move[0]));
    const y = Math.min(pad.height, Math.max(0, at.y + move[1]));
    if (lowered) lineTo(x, y);
    else at = { x, y };
    guess();
  } else if (event.key === " ") {
    lowered = !lowered;
    if (lowered) lineTo(at.x, at.y);
    say(`The pen is ${lowered ? "down" : "up"}.`);
  } else if (event.key === "Backspace") {
    wipe();
  } else if (/^[0-9]$/.test(event.key)) {
    guarded(() => teach(Number(event.key)))();
  } else {
    return;
  }
  event.preventDefault();
});

function drawn() {
  const { data, width, height } = pen.getImageData(0, 0, pad.width, pad.height);
  return centred(width, height, (x, y) => data[4 * (y * width + x) + 3] / 255);
}

// ---- learning ----

function remember() {
  past.push({ checkpoint: model.saveCheckpoint(), examples: [...examples], losses: [...losses] });
  if (past.length > 20) past.shift();
}

function step() {
  const image = new Float32Array(BATCH * PIXELS);
  const label = new BigInt64Array(BATCH);
  for (let row = 0; row < BATCH; ++row) {
    const one = examples[Math.floor(Math.random() * examples.length)];
    copyMoved(one.pixels, image, row * PIXELS);
    label[row] = BigInt(one.label);
  }
  losses.push(model.trainStep({ image, label }, { fetches: ["loss"] }).loss);
}

/** Whether a lesson has nothing left to teach: more steps would only make it sure of too much. */
function isKnown() {
  const last = losses.slice(-5);
  return last.length === 5 && last.every((loss) => loss < 0.02);
}

/** A lesson: steps for as long as the page has time in each picture that the screen shows. */
async function learn() {
  const mine = ++lesson;
  learning = true;
  show();
  for (let done = 0; done < STEPS && mine === lesson;) {
    const until = performance.now() + 12;
    do {
      step();
      ++done;
    } while (done < STEPS && performance.now() < until);
    if (isKnown()) break;
    drawCurve();
    await new Promise((resume) => setTimeout(resume, 0));
  }
  if (mine !== lesson) return;
  learning = false;
  guess();
  show();
  say(`Learned ${counted(examples)}; the loss is ${losses.at(-1).toFixed(3)}.`);
}

function teach(label) {
  if (model === null) return;
  const drawing = drawn();
  const taken = waiting.length > 0 || drawing === null ? waiting : [drawing];
  if (taken.length === 0) {
    say("The pad is empty: draw a digit first.");
    return;
  }
  remember();
  for (const pixels of taken) examples.push({ label, pixels });
  waiting = [];
  pen.clearRect(0, 0, pad.width, pad.height);
  return learn();
}

element("pictures").addEventListener("change", async ({ target }) => {
  const files = [...target.files];
  target.value = "";
  const read = await Promise.all(files.map((file) => pictured(file).catch(() => null)));
  waiting = read.filter((pixels) => pixels !== null);
  const lost = files.length - waiting.length;
  const refused = lost === 0 ? "" : `${lost} of the files show no picture. `;
  say(waiting.length === 0 ? refused : `${refused}${counted(waiting)}: now say which digit.`);
});

function undo() {
  const before = past.pop();
  if (before === undefined) return;
  ++lesson; // ends the one that runs
  learning = false;
  model.restoreCheckpoint(before.checkpoint);
  ({ examples, losses } = before);
  guess();
  drawCurve();
  show();
  say("Back to before the last lesson.");
}

// ---- what is seen ----

function guess() {
  if (model === null) return;
  const pixels = drawn();
  let shares = null;
  if (pixels !== null) {
    const [scores] = Object.values(model.infer({ image: pixels }));
    const most = Math.max(...scores.data);
    const powers = [...scores.data].map((score) => Math.exp(score - most));
    const sum = powers.reduce((total, one) => total + one, 0);
    shares = powers.map((one) => one / sum);
  }
  [...element("guesses").children].forEach((row, i) => {
    row.classList.toggle("best", shares !== null && shares[i] === Math.max(...shares));
    row.querySelector(".bar span").style.width = `${100 * (shares?.[i] ?? 0)}%`;
    row.querySelector(".share").textContent =
      shares === null ? "–" : `${Math.round(100 * shares[i])} %`;
  });
}

function drawCurve() {
  const most = Math.max(...losses, 0.1);
  const points = losses.map(
    (loss, i) =>
      `${((320 * i) / Math.max(1, losses.length - 1)).toFixed(1)},${(116 - (112 * loss) / most).toFixed(1)}`,
  );
  element("line").setAttribute("d", points.length === 0 ? "" : `M${points.join("L")}`);
  element("curve-title").textContent =
    losses.length === 0
      ? "Loss of every step: no steps yet"
      : `Loss of every step: ${losses.length} steps, from ${losses[0].toFixed(2)} to ${losses.at(-1).toFixed(2)}`;
  element("facts").textContent =
    losses.length === 0
      ? "No pictures yet."
      : `${counted(examples)}, ${losses.length} steps, loss ${losses.at(-1).toFixed(3)}.`;
}

function show() {
  const none = examples.length === 0;
  element("learn").disabled = none || learning;
  element("undo").disabled = past.length === 0;
  element("save").disabled = none || learning;
  element("download").disabled = none || learning;
  element("load").disabled = model === null || learning;
}

// ---- keeping ----

function store(mode, work) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("ondine-digits", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("runs");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const transaction = opening.result.transaction("runs", mode);
      const request = work(transaction.objectStore("runs"));
      transaction.oncomplete = () => {
        opening.result.close();
        resolve(request.result);
      };
      transaction.onerror = () => reject(transaction.error);
    };
  });
}

async function save() {
  const run = {
    training: model.exportTraining(),
    checkpoint: model.saveCheckpoint(),
    examples,
    losses,
  };
  await store("readwrite", (runs) => runs.put(run, "last"));
  say("Saved in this browser.");
}

async function load() {
  const run = await store("readonly", (runs) => runs.get("last"));
  if (run === undefined) {
    say("Nothing was saved in this browser.");
    return;
  }
  const loaded = await Model.load(run.training);
  loaded.restoreCheckpoint(run.checkpoint);
  model.free();
  model = loaded;
  ({ examples, losses } = run);
  past = [];
  guess();
  drawCurve();
  show();
  say("Loaded what was saved.");
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([model.exportInference()], { type: "application/octet-stream" }),
  );
  link.download = "digits.onnx";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say("digits.onnx is on its way to your downloads.");
}

function guarded(work) {
  return () =>
    Promise.resolve()
      .then(work)
      .catch((error) => say(error.message));
}

for (let digit = 0; digit < CLASSES; ++digit) {
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    textContent: digit,
  });
  button.addEventListener(
    "click",
    guarded(() => teach(digit)),
  );
  element("classes").append(button);
  const row = document.createElement("li");
  row.innerHTML = `<span>${digit}</span><span class="bar"><span></span></span><span class="share">–</span>`;
  element("guesses").append(row);
}
const actions = {
  wipe,
  undo,
  save,
  load,
  download,
  learn: () => {
    remember();
    return learn();
  },
};
for (const [id, work] of Object.entries(actions))
  element(id).addEventListener("click", guarded(work));

guarded(async () => {
  model = await newModel();
  show();
  say("Ready: draw a digit.");
})();
