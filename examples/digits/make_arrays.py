#!/usr/bin/env python3
"""Writes the digits that scikit-learn ships as arrays: make_arrays.py SKLEARN_DATA OUT

OUT/train.npz and OUT/test.npz (every fifth row): `features`, float32 [N, 64], the grey values of
8x8 pixels from 0 to 16, and `label`, int64 [N]. numpy.savez writes such files."""
import gzip
import os
import struct
import sys
import zipfile


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data


def write(path, rows):
    features = [value for row in rows for value in row[:-1]]
    labels = [int(row[-1]) for row in rows]
    columns = len(rows[0]) - 1
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("features.npy", npy("<f4", (len(rows), columns),
                                          struct.pack(f"<{len(features)}f", *features)))
        file.writestr("label.npy", npy("<i8", (len(rows),),
                                       struct.pack(f"<{len(labels)}q", *labels)))


def main(source, target):
    os.makedirs(target, exist_ok=True)
    with gzip.open(f"{source}/digits.csv.gz", "rt") as file:
        rows = [[float(value) for value in line.split(",")] for line in file if line.strip()]
    write(f"{target}/train.npz", [row for i, row in enumerate(rows) if i % 5 != 0])
    write(f"{target}/test.npz", [row for i, row in enumerate(rows) if i % 5 == 0])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
