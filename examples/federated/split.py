#!/usr/bin/env python3
"""split.py DATA WORK NODES ALPHA [ROWS [TEST_ROWS]]: the first ROWS images of Fashion-MNIST go to
WORK/part0, part1, ...: of each class, shares drawn from a Dirichlet distribution, so that a small
ALPHA gives nodes few classes each. WORK/test has the first TEST_ROWS images of the test set."""
import gzip
import pathlib
import shutil
import struct
import sys

import numpy as np

LEAST = 10  # rows of a node


def read(file):
    with gzip.open(file) as stream:
        data = stream.read()
    shape = struct.unpack(f">{data[3]}I", data[4:4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def write(folder, images, labels):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, values in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
        header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
        (folder / name).write_bytes(header + values.tobytes())


def shares(labels, nodes, alpha, random):
    """The rows of each node."""
    while True:
        parts = [[] for _ in range(nodes)]
        for label in np.unique(labels):
            rows = random.permutation(np.flatnonzero(labels == label))
            cuts = (np.cumsum(random.dirichlet([alpha] * nodes))[:-1] * len(rows)).astype(int)
            for part, some in zip(parts, np.split(rows, cuts)):
                part.append(some)
        parts = [random.permutation(np.concatenate(part)) for part in parts]
        if min(map(len, parts)) >= LEAST:
            return parts


def main(data, work, nodes, alpha, rows=60000, test_rows=10000):
    data, work = pathlib.Path(data), pathlib.Path(work)
    images = read(data / "train-images-idx3-ubyte.gz")[:int(rows)]
    labels = read(data / "train-labels-idx1-ubyte.gz")[:int(rows)]
    parts = shares(labels, int(nodes), float(alpha), np.random.default_rng(7))
    for number, part in enumerate(parts):
        write(work / f"part{number}", images[part], labels[part])
    write(work / "test", read(data / "t10k-images-idx3-ubyte.gz")[:int(test_rows)],
          read(data / "t10k-labels-idx1-ubyte.gz")[:int(test_rows)])
    counts = np.array([len(part) for part in parts])
    print(f"{len(parts)} nodes have {counts.min()} to {counts.max()} rows of {counts.sum()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
