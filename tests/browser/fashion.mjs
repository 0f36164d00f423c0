// Fashion-MNIST, and training with it, the same in Node and in a page.

export const PIXELS = 784;
export const BATCH = 64;
const IMAGES = 16; // bytes before the first pixel
const LABELS = 8;

/** Rows of the files images and labels in the format of MNIST, unpacked. */
export function rowsOf(images, labels) {
  const count = new DataView(images.buffer, images.byteOffset).getUint32(4);
  if (images.length !== IMAGES + count * PIXELS || labels.length !== LABELS + count)
    throw new Error(`${images.length} and ${labels.length} bytes are no ${count} rows`);
  return { count, images: images.subarray(IMAGES), labels: labels.subarray(LABELS) };
}

function take(rows, order) {
  const image = new Float32Array(order.length * PIXELS);
  const label = new BigInt64Array(order.length);
  order.forEach((row, i) => {
    label[i] = BigInt(rows.labels[row]);
    for (let pixel = 0; pixel < PIXELS; ++pixel)
      image[i * PIXELS + pixel] = rows.images[row * PIXELS + pixel] / 255;
  });
  return { image, label };
}

/** Batches of an epoch, in an order that follows from its number. */
export function* batches(rows, epoch, size = BATCH) {
  const order = Uint32Array.from({ length: rows.count }, (_, i) => i);
  let state = epoch + 1;
  for (let i = rows.count - 1; i > 0; --i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  for (let first = 0; first + size <= rows.count; first += size)
    yield take(rows, order.subarray(first, first + size));
}

/** The share of rows that the model tells right. */
export function accuracy(model, rows, size = 500) {
  let right = 0;
  for (let first = 0; first < rows.count; first += size) {
    const order = Uint32Array.from({ length: Math.min(size, rows.count - first) }, (_, i) => first + i);
    right += model.evalStep(take(rows, order)).accuracy * order.length;
  }
  return right / rows.count;
}

/** Trains for epochs and says losses, seconds in steps and the share of right rows afterwards. */
export function learn(model, training, validation, epochs) {
  const losses = [];
  let milliseconds = 0;
  for (let epoch = 0; epoch < epochs; ++epoch) {
    for (const feeds of batches(training, epoch)) {
      const begin = performance.now();
      losses.push(model.trainStep(feeds).loss);
      milliseconds += performance.now() - begin;
    }
  }
  return { losses, seconds: milliseconds / 1000, accuracy: accuracy(model, validation) };
}
