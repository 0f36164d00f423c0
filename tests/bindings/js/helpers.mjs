// Data that tests share: pictures and labels that follow from a seed.
import { readFileSync } from "node:fs";

/** Numbers from 0 to 1 that follow from the seed. */
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Rows of `size` numbers of three classes, which a small network tells apart. */
export function batch(seed, rows, size, classes = 3) {
  const next = numbers(seed);
  const image = new Float32Array(rows * size);
  const label = new BigInt64Array(rows);
  for (let row = 0; row < rows; ++row) {
    const one = Math.floor(next() * classes);
    label[row] = BigInt(one);
    for (let i = 0; i < size; ++i)
      image[row * size + i] = next() * 0.5 + (i % classes === one ? 0.5 : 0);
  }
  return { image, label };
}

export const net = () => readFileSync("models/net.onnx");
