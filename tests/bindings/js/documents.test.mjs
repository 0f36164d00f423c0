// The first program of docs/javascript.md runs as it is written there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";

test("the first program of the page trains to the end", () => {
  const page = readFileSync("javascript.md", "utf8");
  const [, program] = page.match(/```js\n([\s\S]*?)```/);
  writeFileSync("page.mjs", program);
  const lines = execFileSync(process.execPath, ["page.mjs"]).toString().trim().split("\n");
  assert.equal(lines.length, 19, "18 losses and the accuracy");
  assert.ok(Number(lines[17]) < Number(lines[0]));
  assert.equal(lines[18], "accuracy 1");
});
