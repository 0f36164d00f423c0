#!/usr/bin/env python3
"""Writes a data set of the MNIST family as folders of PNGs: make_folder.py IDX_FOLDER OUT

OUT/train/CLASS/NUMBER.png and OUT/val/CLASS/NUMBER.png, grey, as people keep their images."""
import gzip
import os
import struct
import sys
import zlib

CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
           "boot")


def png(pixels, width, height):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    # Each row follows the number of its filter, none.
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b""))


def main(source, target):
    for part, prefix in (("train", "train"), ("val", "t10k")):
        with gzip.open(f"{source}/{prefix}-images-idx3-ubyte.gz") as file:
            _, count, height, width = struct.unpack(">IIII", file.read(16))
            images = file.read()
        with gzip.open(f"{source}/{prefix}-labels-idx1-ubyte.gz") as file:
            labels = file.read()[8:]
        for name in CLASSES:
            os.makedirs(f"{target}/{part}/{name}", exist_ok=True)
        size = width * height
        for i in range(count):
            with open(f"{target}/{part}/{CLASSES[labels[i]]}/{i:05}.png", "wb") as file:
                file.write(png(images[i * size:(i + 1) * size], width, height))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
