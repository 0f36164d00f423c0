#!/usr/bin/env python3
"""Draws discs and squares with noise and what each pixel belongs to: draw.py OUT

OUT/image_train.npy, uint8 [1600, 3, 32, 32], and OUT/mask_train.npy, uint8 [1600, 32, 32]: 0
background, 1 disc, 2 square; 400 more for testing."""
import os
import random
import struct
import sys

SIZE = 32


def npy(path, shape, data):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data)


def draw(numbers):
    background = [numbers.randrange(40, 216) for _ in range(3)]
    image = [[value] * (SIZE * SIZE) for value in background]
    mask = [0] * (SIZE * SIZE)
    for _ in range(numbers.randrange(1, 4)):
        kind = numbers.randrange(1, 3)
        radius = numbers.randrange(4, 8)
        left, top = numbers.randrange(0, SIZE), numbers.randrange(0, SIZE)
        color = [(value + numbers.randrange(60, 196)) % 256 for value in background]
        for y in range(max(0, top - radius), min(SIZE, top + radius + 1)):
            for x in range(max(0, left - radius), min(SIZE, left + radius + 1)):
                if kind == 1 and (x - left) ** 2 + (y - top) ** 2 > radius ** 2:
                    continue
                mask[y * SIZE + x] = kind
                for channel in range(3):
                    image[channel][y * SIZE + x] = color[channel]
    values = (numbers.gauss(value, 10) for plane in image for value in plane)
    noisy = [min(255, max(0, round(value))) for value in values]
    return bytes(noisy), bytes(mask)


def main(target):
    os.makedirs(target, exist_ok=True)
    numbers = random.Random(1)
    for part, count in (("train", 1600), ("test", 400)):
        images, masks = zip(*(draw(numbers) for _ in range(count)))
        npy(f"{target}/image_{part}.npy", (count, 3, SIZE, SIZE), b"".join(images))
        npy(f"{target}/mask_{part}.npy", (count, SIZE, SIZE), b"".join(masks))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
