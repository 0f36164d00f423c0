#!/usr/bin/env python3
"""scores.py ids OUT.npy: writes a row of 64 token ids
scores.py distance A.npy B.npy: prints the largest difference of the scores, relative to the largest
score"""
import struct
import sys


def write_ids(path):
    ids = [(7 * i * i + 3 * i + 1) % 2048 for i in range(64)]
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 64), }".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<64q", *ids))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    if b"'<f4'" not in data[:begin]:
        sys.exit(f"{path} has no float32")
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def distance(one, other):
    if len(one) != len(other):
        sys.exit(f"{len(one)} and {len(other)} scores")
    return max(abs(x - y) for x, y in zip(one, other)) / max(abs(x) for x in one)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "ids":
        write_ids(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "distance":
        print(f"{distance(read(sys.argv[2]), read(sys.argv[3])):.2e}")
    else:
        sys.exit(__doc__)
