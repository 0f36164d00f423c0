// Options as objects: names, defaults and ranges are those of the library's table.
import { refuse } from "./errors.js";
import { json } from "./runtime.js";

let table = null;

function all() {
  table ??= json("ondine_options_json");
  return table;
}

/** The options of a group: load, data, prepare, train, finetune, network, evaluate, export, ... */
export function options(group) {
  if (!Object.hasOwn(all(), group)) {
    throw refuse(
      "mismatch",
      `there is no group of options '${group}': ${Object.keys(all()).join(", ")}`,
    );
  }
  return structuredClone(all()[group]);
}

// learningRate and learning-rate are the same.
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function textOf(name, value) {
  if (["string", "number", "bigint", "boolean"].includes(typeof value)) return String(value);
  throw refuse(
    "invalid_option",
    `option '${name}' is a ${typeof value}: give a text, number, boolean ` + "or a list of them",
  );
}

/** Pairs of texts; null and undefined leave an option out, a list repeats it. */
export function toPairs(given) {
  if (given === undefined || given === null) return [];
  if (typeof given !== "object")
    throw refuse("invalid_option", `options are a ${typeof given}, not an object`);
  const pairs = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value])
      pairs.push([dashed(name), textOf(name, one)]);
  }
  return pairs;
}

function names(group) {
  return new Set(all()[group].flatMap((one) => [one.name, ...(one.former ?? [])]));
}

/** Options of groups apart; what none has goes to the first, which refuses it. */
export function divide(given, ...groups) {
  const known = groups.map(names);
  const parts = groups.map(() => []);
  for (const pair of toPairs(given)) {
    parts[
      Math.max(
        0,
        known.findIndex((one) => one.has(pair[0])),
      )
    ].push(pair);
  }
  return parts;
}
