// Pictures as the network takes them: 28 x 28 numbers from 0 (paper) to 1 (ink).

export const SIZE = 28;
export const PIXELS = SIZE * SIZE;

/** The ink of a picture, centred by its box and 20 of 28 wide or high; null where there is none. */
export function centred(width, height, ink) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (ink(x, y) < 0.2) continue;
      [left, top] = [Math.min(left, x), Math.min(top, y)];
      [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
    }
  }
  if (right < left) return null;
  const scale = Math.max(right - left + 1, bottom - top + 1) / 20;
  const pixels = new Float32Array(PIXELS);
  for (let y = 0; y < SIZE; ++y) {
    for (let x = 0; x < SIZE; ++x) pixels[y * SIZE + x] = mean(x, y);
  }
  return pixels;

  // Of the part of the picture that a pixel covers.
  function mean(x, y) {
    const parts = 3;
    let sum = 0;
    for (let i = 0; i < parts * parts; ++i) {
      const px = (left + right + 1) / 2 + (x + ((i % parts) + 0.5) / parts - SIZE / 2) * scale;
      const py =
        (top + bottom + 1) / 2 + (y + (Math.floor(i / parts) + 0.5) / parts - SIZE / 2) * scale;
      if (px >= 0 && py >= 0 && px < width && py < height)
        sum += ink(Math.floor(px), Math.floor(py));
    }
    return sum / (parts * parts);
  }
}

// Moved by up to two pixels, so that few pictures teach much.
export function copyMoved(pixels, to, first) {
  const [dx, dy] = [Math.floor(Math.random() * 5) - 2, Math.floor(Math.random() * 5) - 2];
  for (let y = 0; y < SIZE; ++y) {
    for (let x = 0; x < SIZE; ++x) {
      const [sx, sy] = [x - dx, y - dy];
      const inside = sx >= 0 && sy >= 0 && sx < SIZE && sy < SIZE;
      to[first + y * SIZE + x] = inside ? pixels[sy * SIZE + sx] : 0;
    }
  }
}

/** The ink of a file; null where it has none. */
export async function pictured(file) {
  const bitmap = await createImageBitmap(file, { resizeWidth: 112, resizeHeight: 112 });
  const canvas = new OffscreenCanvas(112, 112);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, 112, 112);
  const light = (i) => (data[4 * i] + data[4 * i + 1] + data[4 * i + 2]) / 765;
  // Whatever the corner is, is paper.
  const paper = light(0);
  return centred(112, 112, (x, y) => Math.min(1, Math.abs(light(y * 112 + x) - paper) * 1.5));
}
