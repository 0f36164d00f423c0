// The page of examples/browser in Chromium: it learns, goes back, keeps and gives what it learned, and
// can be used by keyboard, on a phone and in the dark.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Model } from "ondine";
import puppeteer from "puppeteer-core";

const axe = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
const url = pathToFileURL("digits.html").href;
let browser;
let page;

before(async () => {
  rmSync("downloads", { recursive: true, force: true });
  mkdirSync("downloads");
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox"],
  });
  page = await browser.newPage();
  page.on("pageerror", (error) => assert.fail(`the page threw ${error.message}`));
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", {
    behavior: "allow",
    downloadPath: `${process.cwd()}/downloads`,
  });
  await page.setViewport({ width: 1100, height: 900 });
  await page.goto(url);
  await said(/Ready/);
});
after(() => browser.close());

const text = (selector) => page.$eval(selector, (one) => one.textContent);
async function said(pattern) {
  try {
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById("status").textContent),
      { timeout: 120000 },
      pattern.source,
    );
  } catch {
    assert.fail(`the page says "${await text("#status")}", not ${pattern}`);
  }
}

/** A stroke through points of the pad, from 0 to 1. */
async function stroke(...points) {
  const box = await (await page.$("#pad")).boundingBox();
  const places = points.map(([x, y]) => [box.x + x * box.width, box.y + y * box.height]);
  await page.mouse.move(...places[0]);
  await page.mouse.down();
  for (const place of places.slice(1)) await page.mouse.move(...place, { steps: 8 });
  await page.mouse.up();
}
const one = (shift = 0) => stroke([0.5 + shift, 0.15], [0.5 + shift, 0.85]);
const zero = (shift = 0) =>
  stroke(
    ...Array.from({ length: 17 }, (_, i) => [
      0.5 + shift + 0.25 * Math.sin((i * Math.PI) / 8),
      0.5 - 0.35 * Math.cos((i * Math.PI) / 8),
    ]),
  );
const press = (label) =>
  page.evaluate((digit) => document.querySelectorAll("#classes button")[digit].click(), label);
const best = () => page.$eval("#guesses li.best span", (row) => Number(row.textContent));

async function teach(draw, label, pictures) {
  await draw();
  await press(label);
  await said(new RegExp(`Learned ${pictures} picture`));
}

test("a few drawings teach it two digits, and the curve of the loss falls", async () => {
  const began = Date.now();
  for (let i = 0; i < 3; ++i) {
    await teach(() => one(0.05 * (i - 1)), 1, 2 * i + 1);
    await teach(() => zero(0.05 * (i - 1)), 0, 2 * i + 2);
  }
  console.log(`six lessons took ${(Date.now() - began) / 1000} s`);
  await one(0.02);
  assert.equal(await best(), 1);
  await page.click("#wipe");
  await zero(-0.02);
  assert.equal(await best(), 0);
  const [, first, last] = (await text("#curve-title")).match(/from ([\d.]+) to ([\d.]+)/);
  assert.ok(Number(first) > 1.5 && Number(last) < 0.3, `${first} to ${last}`);
  assert.ok((await page.$eval("#line", (line) => line.getAttribute("d"))).length > 100);
});

test("undo goes back a lesson, and what was saved comes back in a new page", async () => {
  await page.click("#wipe");
  await page.click("#save");
  await said(/Saved/);
  await zero();
  await press(7);
  await said(/Learned 7 pictures/);
  await page.click("#undo");
  await said(/Back to before/);
  assert.match(await text("#facts"), /^6 pictures/);
  await page.reload();
  await said(/Ready/);
  assert.equal(await text("#facts"), "No pictures yet.");
  await page.click("#load");
  await said(/Loaded/);
  assert.match(await text("#facts"), /^6 pictures/);
  await one();
  assert.equal(await best(), 1);
});

test("the download is the network that the page shows", async () => {
  await page.click("#download");
  let files = [];
  for (let i = 0; i < 100 && !files.includes("digits.onnx"); ++i) {
    await new Promise((resume) => setTimeout(resume, 100));
    files = readdirSync("downloads");
  }
  const model = await Model.load(readFileSync("downloads/digits.onnx"));
  assert.deepEqual(model.inputs[0].dims.slice(1), [1, 28, 28]);
});

test("the keyboard draws, teaches and wipes", async () => {
  await page.click("#wipe");
  await page.focus("#pad");
  await page.keyboard.press("Space");
  for (let i = 0; i < 8; ++i) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  const inked = () =>
    page.$eval("#pad", (pad) =>
      pad
        .getContext("2d")
        .getImageData(0, 0, 280, 280)
        .data.some((byte) => byte !== 0),
    );
  assert.ok(await inked());
  await page.keyboard.press("1");
  await said(/Learned 7 pictures/);
  assert.ok(!(await inked()));
  await page.keyboard.press("0");
  await said(/pad is empty/);
});

for (const [name, width, height] of [
  ["phone", 360, 740],
  ["desktop", 1100, 900],
]) {
  for (const scheme of ["light", "dark"]) {
    test(`axe finds nothing on a ${name} in ${scheme} colors, and nothing sticks out`, async () => {
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      assert.deepEqual(
        violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html)}`),
        [],
      );
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.screenshot({ path: `${name}-${scheme}.png`, fullPage: true });
    });
  }
}
